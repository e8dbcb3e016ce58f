UPDATE tasks SET seq = seq + 1, updated = $1 WHERE id = $2 AND status = 'running' AND holder = $3
RETURNING seq, waiter
