DELETE FROM tasks WHERE id IN (VALUES ($1) /* and so on */) AND expires IS NOT NULL
