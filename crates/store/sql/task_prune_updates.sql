DELETE FROM task_updates WHERE task IN (SELECT id FROM tasks WHERE expires <= $1)
