SELECT id, body FROM receipts WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3
