INSERT INTO receipt_heads (server, body, public_key, signature) VALUES ($1, $2, $3, $4)
ON CONFLICT (server) DO UPDATE SET body = excluded.body, public_key = excluded.public_key, signature = excluded.signature,
    told_killed = 0
