-- The server to be told of the next change of a record, because somebody waits for it there; `*` when there are several.
ALTER TABLE calls ADD COLUMN waiter TEXT;
ALTER TABLE calls DROP COLUMN awaited;
ALTER TABLE tasks ADD COLUMN waiter TEXT;
-- Whether a server has room for tasks and found none: it is to be told of the next one that waits.
ALTER TABLE holders ADD COLUMN idle BIGINT NOT NULL DEFAULT 0;
