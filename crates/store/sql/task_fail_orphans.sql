UPDATE tasks SET status = 'failed', seq = seq + 1, updated = $1, expires = $1 + keep, outcome = $2, request = '',
    call = CASE WHEN status = 'pending' THEN NULL ELSE call END
WHERE status = $3 AND (repeatable = 0 OR portable = 0) AND (portable = 0 OR status = 'running')
  AND NOT EXISTS (SELECT 1 FROM holders h WHERE h.id = tasks.holder AND h.until >= $4)
RETURNING id
