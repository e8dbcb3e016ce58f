DELETE FROM sealed WHERE kind = $1 AND name = $2 AND bytes = $3 AND (expires IS NULL OR expires > $4)
