UPDATE api_keys SET revoked = $2 WHERE name = $1 AND revoked IS NULL
