INSERT INTO api_keys (name, sha256, toolset, operator, created) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (name) DO UPDATE SET sha256 = excluded.sha256, toolset = excluded.toolset, operator = excluded.operator,
    created = excluded.created, used = NULL, revoked = NULL
WHERE api_keys.revoked IS NOT NULL
