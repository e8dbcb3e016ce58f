UPDATE calls SET holder = $1, turn = $2
WHERE id = $3 AND holder = $4 AND turn = $5 AND outcome IS NULL
