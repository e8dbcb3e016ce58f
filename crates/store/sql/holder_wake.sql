UPDATE holders SET idle = 0 WHERE id IN (
    SELECT id FROM holders WHERE idle = 1 AND until >= $2 AND id <> $3 ORDER BY until DESC, id LIMIT $1 /* skip locked */
)
RETURNING id
