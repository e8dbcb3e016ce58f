WITH finished (id, outcome) AS (
    VALUES ($3, $4) /* and so on */
)
UPDATE calls SET ended = $2, outcome = finished.outcome
FROM finished
WHERE calls.id = finished.id AND calls.holder = $1
  AND (calls.outcome IS NULL OR calls.outcome = finished.outcome)
