ALTER TABLE tasks ADD COLUMN pending_seq BIGINT;

-- The key of a task is kept among those of calls, so that no id is given twice.
INSERT INTO calls (id, caller, digest, holder, turn, began)
SELECT call, caller, digest, 'task ' || id, 0, created FROM tasks WHERE call IS NOT NULL
ON CONFLICT (id) DO NOTHING;
ALTER TABLE tasks DROP COLUMN digest;

CREATE TABLE audit (
    at BIGINT NOT NULL,
    id TEXT NOT NULL,
    caller TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (at, id)
);
