SELECT body FROM receipts WHERE id = $1
