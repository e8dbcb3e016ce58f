DELETE FROM tasks WHERE expires <= $1 OR (expires IS NOT NULL AND updated < $2)
