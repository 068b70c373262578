-- Conflicts are selected by the slugs, the statements and the severities of their rules, and by their reason: text in lower case, severities
-- as ranks. The program fills these columns for the conflicts that are there.
ALTER TABLE conflicts ADD COLUMN low_said TEXT NOT NULL DEFAULT '';

ALTER TABLE conflicts ADD COLUMN low_severity BIGINT NOT NULL DEFAULT 0;

ALTER TABLE conflicts ADD COLUMN high_said TEXT NOT NULL DEFAULT '';

ALTER TABLE conflicts ADD COLUMN high_severity BIGINT NOT NULL DEFAULT 0;

ALTER TABLE conflicts ADD COLUMN reason_said TEXT NOT NULL DEFAULT '';
