SELECT server, body, public_key, signature FROM receipt_heads ORDER BY server
