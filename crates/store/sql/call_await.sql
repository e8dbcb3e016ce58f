UPDATE calls SET waiter = CASE WHEN waiter IS NULL THEN $2 ELSE '*' END
WHERE id = $1 AND outcome IS NULL AND (waiter IS NULL OR (waiter <> $2 AND waiter <> '*'))
