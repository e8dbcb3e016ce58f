INSERT INTO tasks (id, caller, tool, status, request, repeatable, portable, call, holder, turn,
                   seq, created, updated, due, keep)
VALUES ($1, $2, $3, 'pending', $4, $5, $6, $7, $8, 0, 1, $9, $9, $9, $10)
ON CONFLICT DO NOTHING
RETURNING id
