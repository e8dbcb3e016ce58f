-- The place of a task in the order in which callers take turns, given when it is submitted: whoever claims tasks reads
-- the first ones and no others. `due` is 0 for a task that need not wait for a time.
ALTER TABLE tasks ADD COLUMN place BIGINT NOT NULL DEFAULT 0;

-- Any server runs those of the first index; those of the second came with credentials that only their holder has.
CREATE INDEX tasks_ready ON tasks (place, created, id) WHERE status = 'pending' AND portable = 1 AND due = 0;
CREATE INDEX tasks_ready_here ON tasks (holder, place, created, id)
    WHERE status = 'pending' AND portable = 0 AND due = 0;
CREATE INDEX tasks_paused ON tasks (due, id) WHERE status = 'pending' AND portable = 1 AND due > 0;
CREATE INDEX tasks_paused_here ON tasks (holder, due, id) WHERE status = 'pending' AND portable = 0 AND due > 0;

-- Who has which places, by caller and in all.
DROP INDEX tasks_pending;
CREATE INDEX tasks_pending ON tasks (caller, place) WHERE status = 'pending';
CREATE INDEX tasks_pending_age ON tasks (created) WHERE status = 'pending';
CREATE INDEX tasks_running_of ON tasks (caller, place) WHERE status = 'running';
CREATE INDEX tasks_running_places ON tasks (place) WHERE status = 'running';
