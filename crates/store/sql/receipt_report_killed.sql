UPDATE receipt_heads SET told_killed = 1 WHERE server = $1 AND told_killed = 0
