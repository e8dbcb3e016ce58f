UPDATE tasks SET status = 'pending', seq = seq + 1, pending_seq = seq + 1, updated = $1, due = $2
WHERE id = $3 AND status = 'running' AND holder = $4
RETURNING waiter
