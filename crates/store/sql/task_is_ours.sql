SELECT count(*) AS tasks FROM tasks WHERE id = $1 AND status = 'running' AND holder = $2
