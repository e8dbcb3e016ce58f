DELETE FROM calls WHERE id = $1 AND turn = 0 AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.call = calls.id)
