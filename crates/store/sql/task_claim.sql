WITH busy AS (
    SELECT caller, count(*) AS running FROM tasks WHERE status = 'running' GROUP BY caller
), waiting AS (
    SELECT id, caller, created, row_number() OVER (PARTITION BY caller ORDER BY created, id) AS place
    FROM tasks
    WHERE status = 'pending' AND due <= $3 AND (portable = 1 OR holder = $1)
), chosen AS (
    SELECT w.id FROM waiting w LEFT JOIN busy b ON b.caller = w.caller
    ORDER BY w.place + coalesce(b.running, 0), w.created, w.id
    LIMIT $4
)
UPDATE tasks SET status = 'running', holder = $1, turn = $2, seq = seq + 1, running_seq = seq + 1, updated = $3
WHERE id IN (
    SELECT t.id FROM tasks t
    WHERE t.status = 'pending' AND t.id IN (SELECT chosen.id FROM chosen) /* skip locked */
)
RETURNING id, request, created
