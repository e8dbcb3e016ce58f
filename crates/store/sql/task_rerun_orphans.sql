UPDATE tasks SET status = 'pending', seq = seq + 1, pending_seq = seq + 1, updated = $1, due = 0
WHERE status = 'running' AND repeatable = 1 AND portable = 1
  AND NOT EXISTS (SELECT 1 FROM holders h WHERE h.id = tasks.holder AND h.until >= $2)
RETURNING id
