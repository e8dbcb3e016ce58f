SELECT c.digest, c.holder, c.turn, c.outcome, h.until
FROM calls c LEFT JOIN holders h ON h.id = c.holder
WHERE c.id = $1
