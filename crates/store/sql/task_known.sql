SELECT id, digest FROM tasks WHERE id = $1 OR call = $2
