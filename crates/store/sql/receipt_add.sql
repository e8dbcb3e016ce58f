INSERT INTO receipts (server, seq, id, body, hash)
VALUES ($1, $2, $3, $4, $5) /* and so on */
ON CONFLICT (server, seq) DO NOTHING
