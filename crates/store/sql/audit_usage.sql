SELECT caller, count(*) AS records FROM audit
WHERE CASE WHEN action = 'call.refused' THEN 1 ELSE 0 END = $1
GROUP BY caller
