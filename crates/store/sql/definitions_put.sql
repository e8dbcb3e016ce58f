INSERT INTO definitions (source, digest, body, written) VALUES ($1, $2, $3, $4)
ON CONFLICT (source, digest) DO UPDATE SET body = excluded.body, written = excluded.written
