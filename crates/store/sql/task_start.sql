UPDATE tasks SET status = 'running', holder = $1, turn = $2, seq = seq + 1, running_seq = seq + 1, updated = $3
WHERE id = $4 AND (status = 'pending' OR (status = 'running' AND holder = $1 AND turn = $2))
