UPDATE sealed SET bytes = $1, expires = $2
WHERE kind = $3 AND name = $4 AND bytes = $5 AND (expires IS NULL OR expires > $6)
