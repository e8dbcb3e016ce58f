WITH ranked AS (
    SELECT id, updated, row_number() OVER (PARTITION BY caller ORDER BY updated DESC, id) AS place
    FROM tasks
    WHERE expires IS NOT NULL
), ordered AS (
    SELECT id, place,
           row_number() OVER (ORDER BY CASE WHEN place > $1 THEN 1 ELSE 0 END, updated DESC, id) AS overall
    FROM ranked
)
SELECT id FROM ordered WHERE place > $1 OR overall > $2 ORDER BY overall DESC LIMIT $3
