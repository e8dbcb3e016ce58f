SELECT c.digest AS digest, c.holder AS holder, c.turn AS turn, c.began AS began, c.outcome AS outcome, h.until AS until
FROM calls c LEFT JOIN holders h ON h.id = c.holder
WHERE c.id = $1
