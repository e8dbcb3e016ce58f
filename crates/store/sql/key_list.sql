SELECT name, sha256, toolset, operator, created, used, revoked FROM api_keys ORDER BY name
