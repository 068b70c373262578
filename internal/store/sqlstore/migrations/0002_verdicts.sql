-- Verdicts refer to no project, since that would be checked for each of them: they are kept for speed and may go any time.
CREATE TABLE verdicts (
	project_id {{.Text}} NOT NULL,
	unit {{.Text}} NOT NULL,
	rule {{.Text}} NOT NULL,
	entry TEXT NOT NULL,
	size BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, unit, rule)
);

CREATE INDEX verdicts_by_age ON verdicts (project_id, created_at, size);
