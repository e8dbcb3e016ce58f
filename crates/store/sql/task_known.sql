SELECT id, digest FROM tasks WHERE id = $1 OR (call = $2 AND (expires IS NULL OR expires > $3))
