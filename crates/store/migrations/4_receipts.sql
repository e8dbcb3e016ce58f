CREATE TABLE receipts (
    server TEXT NOT NULL,
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (server, seq)
);
CREATE INDEX receipts_by_id ON receipts (id);

CREATE TABLE receipt_heads (
    server TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    public_key BYTEA NOT NULL,
    signature BYTEA NOT NULL,
    told_killed BIGINT NOT NULL DEFAULT 0
);
