INSERT INTO calls (id, caller, digest, holder, turn, began)
VALUES ($1, $2, $3, $4, $5, $6) /* and so on */
ON CONFLICT (id) DO NOTHING
RETURNING turn
