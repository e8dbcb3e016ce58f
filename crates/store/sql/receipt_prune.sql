DELETE FROM receipts WHERE server = $1 AND seq <= $2
