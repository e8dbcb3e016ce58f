UPDATE tasks SET status = $1, seq = seq + 1, updated = $2, expires = $2 + keep, outcome = $3, request = '',
    call = CASE WHEN $6 = 1 THEN NULL ELSE call END
WHERE id = $4 AND status = 'running' AND holder = $5
