SELECT id, request, created, waiter FROM tasks WHERE status = 'running' AND holder = $1 AND turn IN (VALUES ($2) /* and so on */)
