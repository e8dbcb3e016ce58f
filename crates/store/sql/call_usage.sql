SELECT caller, count(*), CAST(coalesce(sum(octet_length(outcome)), 0) AS BIGINT) FROM calls GROUP BY caller
