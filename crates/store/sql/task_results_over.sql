WITH told AS (
    SELECT task, sum(octet_length(body)) AS bytes FROM task_updates GROUP BY task
), held AS (
    SELECT t.id, t.caller, t.updated, coalesce(octet_length(t.outcome), 0) + coalesce(told.bytes, 0) AS own
    FROM tasks t LEFT JOIN told ON told.task = t.id
    WHERE t.expires IS NOT NULL
), ranked AS (
    SELECT id, own, sum(own) OVER (PARTITION BY caller ORDER BY updated DESC, id) AS newer FROM held
)
SELECT id FROM ranked WHERE newer > $1 AND own > 0 ORDER BY newer DESC LIMIT $2
