UPDATE tasks SET waiter = CASE WHEN waiter IS NULL THEN $2 ELSE '*' END
WHERE id = $1 AND expires IS NULL AND (waiter IS NULL OR (waiter <> $2 AND waiter <> '*'))
