-- What a project demands of every evaluation, as JSON; empty demands nothing.
ALTER TABLE projects ADD COLUMN policy TEXT NOT NULL DEFAULT '';
