SELECT turn FROM calls WHERE id = $1 AND holder = $2 AND turn = $3
