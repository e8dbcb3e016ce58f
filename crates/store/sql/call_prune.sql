DELETE FROM calls
WHERE id IN (VALUES ($1) /* and so on */)
  AND (outcome IS NOT NULL OR NOT EXISTS (SELECT 1 FROM holders h WHERE h.id = calls.holder))
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.call = calls.id)
