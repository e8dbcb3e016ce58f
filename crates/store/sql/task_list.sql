SELECT t.id AS id, t.tool AS tool, t.status AS status, t.created AS created, t.updated AS updated, t.keep AS keep,
       t.outcome AS outcome
FROM tasks t
WHERE t.caller = $1 AND (t.expires IS NULL OR t.expires > $2)
  AND ($3 = '' OR (t.created, t.id) < (SELECT b.created, b.id FROM tasks b WHERE b.id = $3 AND b.caller = $1))
ORDER BY t.created DESC, t.id DESC
LIMIT $4
