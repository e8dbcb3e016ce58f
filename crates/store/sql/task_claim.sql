WITH waiting AS MATERIALIZED (
    SELECT ready.id, ready.place, ready.created FROM (
        SELECT id, place, created FROM tasks
        WHERE status = 'pending' AND portable = 1 AND due = 0
        ORDER BY place, created, id LIMIT $4 /* skip locked */
    ) ready
    UNION ALL
    SELECT ready_here.id, ready_here.place, ready_here.created FROM (
        SELECT id, place, created FROM tasks
        WHERE status = 'pending' AND portable = 0 AND due = 0 AND holder = $1
        ORDER BY place, created, id LIMIT $4 /* skip locked */
    ) ready_here
    UNION ALL
    SELECT paused.id, paused.place, paused.created FROM (
        SELECT id, place, created FROM tasks
        WHERE status = 'pending' AND portable = 1 AND due > 0 AND due <= $3
        ORDER BY due, id LIMIT $4 /* skip locked */
    ) paused
    UNION ALL
    SELECT paused_here.id, paused_here.place, paused_here.created FROM (
        SELECT id, place, created FROM tasks
        WHERE status = 'pending' AND portable = 0 AND due > 0 AND due <= $3 AND holder = $1
        ORDER BY due, id LIMIT $4 /* skip locked */
    ) paused_here
)
UPDATE tasks SET status = 'running', holder = $1, turn = $2, seq = seq + 1, running_seq = seq + 1, updated = $3
WHERE status = 'pending' AND id IN (SELECT w.id FROM waiting w ORDER BY w.place, w.created, w.id LIMIT $4)
RETURNING id, request, created, waiter
