SELECT count(*) AS links FROM receipts WHERE server = $1 AND seq = $2 AND id = $3
