-- Evaluations are counted by agent and person, too. Those that are counted already are counted by these once more; where a database is still
-- being filled with the older groups, only the entries that it has yet to fill are.
ALTER TABLE count_marks ADD COLUMN fill_actors BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE count_marks SET filled = 0, fill_until = seq, fill_actors = TRUE WHERE filled >= fill_until;
