DELETE FROM tasks WHERE expires <= $1
