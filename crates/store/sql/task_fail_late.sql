UPDATE tasks SET status = 'failed', seq = seq + 1, updated = $1, expires = $1 + keep, outcome = $2, request = '', call = NULL
WHERE status = 'pending' AND created < $3
RETURNING id
