WITH finished (id, holder, ended, outcome) AS (
    VALUES ($1, $2, $3, $4) /* and so on */
)
UPDATE calls SET ended = finished.ended, outcome = finished.outcome
FROM finished
WHERE calls.id = finished.id AND calls.holder = finished.holder
  AND (calls.outcome IS NULL OR calls.outcome = finished.outcome)
RETURNING calls.id
