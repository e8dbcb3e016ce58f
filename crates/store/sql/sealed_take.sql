DELETE FROM sealed WHERE kind = $1 AND name = $2 RETURNING bytes, expires
