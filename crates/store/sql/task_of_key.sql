SELECT id FROM tasks WHERE call = $1 AND (expires IS NULL OR expires > $2)
