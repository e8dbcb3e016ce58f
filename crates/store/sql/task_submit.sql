INSERT INTO tasks (id, caller, tool, status, request, repeatable, portable, call, holder, turn,
                   seq, running_seq, created, updated, due, keep)
VALUES ($1, $2, $3, $11, $4, $5, $6, $7, $8, $12, $13, $14, $9, $9, $9, $10)
ON CONFLICT DO NOTHING
