DELETE FROM calls WHERE id IN (
    SELECT c.id FROM calls c
    WHERE c.began < $1
      AND (c.outcome IS NOT NULL OR NOT EXISTS (SELECT 1 FROM holders h WHERE h.id = c.holder))
    ORDER BY c.began
    LIMIT $2
)
