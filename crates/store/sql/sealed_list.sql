SELECT name FROM sealed WHERE kind = $1 AND (expires IS NULL OR expires > $2) ORDER BY name
