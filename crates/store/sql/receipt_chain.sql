SELECT server, seq, id, body, hash FROM receipts WHERE server = $1 AND seq > $2 ORDER BY seq LIMIT $3
