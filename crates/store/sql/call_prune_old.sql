DELETE FROM calls WHERE id IN (
    SELECT c.id FROM calls c
    WHERE c.began < $1
      AND (c.outcome IS NOT NULL OR NOT EXISTS (SELECT 1 FROM holders h WHERE h.id = c.holder))
      AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.call = c.id)
    ORDER BY c.began
    LIMIT $2
)
