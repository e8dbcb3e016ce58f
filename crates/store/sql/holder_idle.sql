UPDATE holders SET idle = $2 WHERE id = $1
