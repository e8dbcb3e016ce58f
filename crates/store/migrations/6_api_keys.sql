CREATE TABLE api_keys (
    name TEXT PRIMARY KEY,
    sha256 BYTEA NOT NULL,
    toolset TEXT,
    operator BIGINT NOT NULL,
    created BIGINT NOT NULL,
    used BIGINT,
    revoked BIGINT
);
