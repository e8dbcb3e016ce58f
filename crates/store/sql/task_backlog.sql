SELECT count(*) FROM tasks WHERE status = 'pending' AND caller = $1
