SELECT id, tool, status, created, updated, keep, outcome, caller, seq, pending_seq, running_seq FROM tasks
WHERE (expires IS NULL OR expires > $1) AND ($2 = '' OR status = $2)
ORDER BY created DESC, id DESC
LIMIT $3
