INSERT INTO tasks (id, caller, tool, status, request, repeatable, portable, call, holder, turn,
                   seq, running_seq, created, updated, due, keep, place)
VALUES ($1, $2, $3, $11, $4, $5, $6, $7, $8, $12, $13, $14, $9, $9, 0, $10, (
    SELECT coalesce(max(places.place), 0) FROM (
        SELECT coalesce(
            (SELECT max(place) FROM tasks WHERE status = 'running'),
            (SELECT min(place) FROM tasks WHERE status = 'pending' AND portable = 1 AND due = 0)
        ) AS place
        UNION ALL
        SELECT max(place) + 1 FROM tasks WHERE status = 'running' AND caller = $2
        UNION ALL
        SELECT max(place) + 1 FROM tasks WHERE status = 'pending' AND caller = $2
    ) places
))
ON CONFLICT DO NOTHING
