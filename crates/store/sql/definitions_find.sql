SELECT body FROM definitions WHERE source = $1 AND digest = $2
