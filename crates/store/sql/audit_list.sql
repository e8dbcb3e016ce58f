SELECT at, caller, action, subject FROM audit ORDER BY at DESC, id DESC LIMIT $1
