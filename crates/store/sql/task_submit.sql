INSERT INTO tasks (id, caller, tool, status, request, repeatable, portable, call, digest, holder, turn,
                   seq, created, updated, due, keep)
VALUES ($1, $2, $3, 'pending', $4, $5, $6, $7, $8, $9, 0, 1, $10, $10, $10, $11)
ON CONFLICT DO NOTHING
RETURNING id
