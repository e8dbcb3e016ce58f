UPDATE tasks SET status = 'cancelled', seq = seq + 1, updated = $1, expires = $1 + keep, request = ''
WHERE id = $2 AND status IN ('pending', 'running')
RETURNING holder, waiter
