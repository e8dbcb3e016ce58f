SELECT caller, count(*) AS records, CAST(coalesce(sum(octet_length(outcome)), 0) AS BIGINT) AS bytes
FROM calls
GROUP BY caller
