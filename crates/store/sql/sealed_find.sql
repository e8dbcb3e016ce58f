SELECT bytes FROM sealed WHERE kind = $1 AND name = $2 AND (expires IS NULL OR expires > $3)
