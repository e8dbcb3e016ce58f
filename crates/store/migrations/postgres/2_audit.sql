ALTER TABLE tasks ADD COLUMN pending_seq BIGINT;

CREATE TABLE audit (
    at BIGINT NOT NULL,
    id TEXT NOT NULL,
    caller TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (at, id)
);
