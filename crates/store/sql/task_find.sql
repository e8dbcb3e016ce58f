SELECT id, tool, status, created, updated, keep, outcome, caller, seq, pending_seq, running_seq, waiter, expires FROM tasks
WHERE id = $1 AND (expires IS NULL OR expires > $2)
