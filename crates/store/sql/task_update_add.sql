INSERT INTO task_updates (task, seq, body) VALUES ($1, $2, $3)
