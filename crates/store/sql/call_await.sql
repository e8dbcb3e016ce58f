UPDATE calls SET awaited = 1 WHERE id = $1 AND outcome IS NULL AND awaited = 0
