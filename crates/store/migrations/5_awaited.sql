-- Whether another server waits for the call: its end is announced to others only then.
ALTER TABLE calls ADD COLUMN awaited BIGINT NOT NULL DEFAULT 0;
