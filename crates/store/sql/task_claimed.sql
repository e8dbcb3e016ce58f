SELECT id, request, created FROM tasks WHERE status = 'running' AND holder = $1 AND turn = $2
