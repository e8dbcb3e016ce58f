DELETE FROM calls WHERE id = $1 AND holder = $2 AND outcome IS NULL
