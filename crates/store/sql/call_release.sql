UPDATE calls SET holder = '' WHERE id = $1 AND holder = $2 AND turn = $3 AND outcome IS NULL
