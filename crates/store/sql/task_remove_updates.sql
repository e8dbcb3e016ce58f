DELETE FROM task_updates
WHERE task IN (VALUES ($1) /* and so on */)
  AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = task_updates.task AND t.expires IS NOT NULL)
