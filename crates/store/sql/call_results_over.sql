SELECT ranked.id AS id FROM (
    SELECT c.id, octet_length(c.outcome) AS own,
           sum(octet_length(c.outcome)) OVER (PARTITION BY c.caller ORDER BY c.began DESC, c.id) AS newer
    FROM calls c
    WHERE c.outcome IS NOT NULL
) ranked
WHERE ranked.newer > $1 AND ranked.own > 0
ORDER BY ranked.newer DESC
LIMIT $2
