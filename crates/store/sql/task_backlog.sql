SELECT (SELECT count(*) FROM tasks WHERE status = 'pending' AND caller = $1) AS pending,
       CAST((SELECT coalesce(sum(octet_length(request)), 0) FROM tasks WHERE status = 'pending' AND caller = $1)
          + (SELECT coalesce(sum(octet_length(request)), 0) FROM tasks WHERE status = 'running' AND caller = $1)
       AS BIGINT) AS bytes
