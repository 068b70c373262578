-- Sessions of people who are signed in to the console. They belong to no project: project_id is *.
CREATE TABLE console_sessions (
	project_id {{.Text}} NOT NULL,
	hash {{.Text}} NOT NULL,
	data {{.Blob}} NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, hash)
);

CREATE INDEX console_sessions_by_end ON console_sessions (project_id, expires_at);
