INSERT INTO calls (id, caller, digest, holder, turn, began)
VALUES ($3, $4, $5, $1, $6, $2) /* and so on */
ON CONFLICT (id) DO NOTHING
