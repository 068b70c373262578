-- What conflicts are selected by of their two rules and of their reason: slugs, statements and reasons in lower case, and the ranks of the
-- severities. The program fills it for the conflicts that are there.
ALTER TABLE conflicts ADD COLUMN low_said TEXT NOT NULL DEFAULT '';

ALTER TABLE conflicts ADD COLUMN low_severity BIGINT NOT NULL DEFAULT 0;

ALTER TABLE conflicts ADD COLUMN high_said TEXT NOT NULL DEFAULT '';

ALTER TABLE conflicts ADD COLUMN high_severity BIGINT NOT NULL DEFAULT 0;

ALTER TABLE conflicts ADD COLUMN reason_said TEXT NOT NULL DEFAULT '';
