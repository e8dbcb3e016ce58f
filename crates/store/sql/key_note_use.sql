UPDATE api_keys SET used = $2 WHERE name = $1
