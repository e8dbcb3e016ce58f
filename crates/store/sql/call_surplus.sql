WITH ranked AS (
    SELECT id, holder, outcome, began, row_number() OVER (PARTITION BY caller ORDER BY began DESC, id) AS place
    FROM calls
), ordered AS (
    SELECT id, holder, outcome, place,
           row_number() OVER (ORDER BY CASE WHEN place > $1 THEN 1 ELSE 0 END, began DESC, id) AS overall
    FROM ranked
)
SELECT o.id AS id FROM ordered o
WHERE (o.place > $1 OR o.overall > $2)
  AND (o.outcome IS NOT NULL OR NOT EXISTS (SELECT 1 FROM holders h WHERE h.id = o.holder))
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.call = o.id)
ORDER BY o.overall DESC
LIMIT $3
