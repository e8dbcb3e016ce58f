UPDATE tasks SET call = NULL WHERE call = $1 AND expires <= $2
