SELECT seq, body FROM task_updates WHERE task = $1 AND seq > $2 ORDER BY seq
