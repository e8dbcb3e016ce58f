CREATE TABLE holders (
    id TEXT PRIMARY KEY,
    until BIGINT NOT NULL
);

CREATE TABLE calls (
    id BYTEA PRIMARY KEY,
    caller TEXT NOT NULL,
    digest BYTEA NOT NULL,
    holder TEXT NOT NULL,
    turn BIGINT NOT NULL,
    began BIGINT NOT NULL,
    ended BIGINT,
    outcome TEXT
);
CREATE INDEX calls_by_age ON calls (began);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    request TEXT NOT NULL,
    repeatable BIGINT NOT NULL,
    portable BIGINT NOT NULL,
    call BYTEA UNIQUE,
    digest BYTEA,
    holder TEXT NOT NULL,
    turn BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    running_seq BIGINT,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    due BIGINT NOT NULL,
    keep BIGINT NOT NULL,
    expires BIGINT,
    outcome TEXT
);
CREATE INDEX tasks_pending ON tasks (caller, created) WHERE status = 'pending';
CREATE INDEX tasks_running ON tasks (holder, turn) WHERE status = 'running';
CREATE INDEX tasks_by_caller ON tasks (caller, created);
CREATE INDEX tasks_ended ON tasks (expires) WHERE expires IS NOT NULL;

CREATE TABLE task_updates (
    task TEXT NOT NULL,
    seq BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, seq)
);

CREATE TABLE sealed (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes BYTEA NOT NULL,
    expires BIGINT,
    PRIMARY KEY (kind, name)
);
