WITH told AS (
    SELECT task, sum(octet_length(body)) AS bytes FROM task_updates GROUP BY task
)
SELECT t.caller AS caller, count(*) AS records,
       CAST(coalesce(sum(coalesce(octet_length(t.outcome), 0) + coalesce(told.bytes, 0)), 0) AS BIGINT) AS bytes
FROM tasks t LEFT JOIN told ON told.task = t.id
WHERE t.expires IS NOT NULL
GROUP BY t.caller
