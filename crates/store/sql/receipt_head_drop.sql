DELETE FROM receipt_heads WHERE server = $1
