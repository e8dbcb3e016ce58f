-- A call ends soon after it began: with room left on its page the new version of its row goes to the same page, and no
-- index is written again.
ALTER TABLE calls SET (fillfactor = 75);
