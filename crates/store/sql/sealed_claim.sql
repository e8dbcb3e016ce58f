INSERT INTO sealed (kind, name, bytes, expires) VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, name) DO UPDATE SET bytes = excluded.bytes, expires = excluded.expires
WHERE sealed.expires <= $5
