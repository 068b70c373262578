-- The servers of the cluster. Each writes its row from time to time; they belong to no project: project_id is *.
CREATE TABLE servers (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	started_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	data {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, id)
);

-- When a key was last used, to about half a minute; null for one that was not used since this was kept.
ALTER TABLE api_keys ADD COLUMN last_used_at BIGINT;

-- The newest jobs of all projects, and the failed ones.
CREATE INDEX jobs_newest ON jobs (id);

CREATE INDEX jobs_failed ON jobs (kind, id) WHERE state = 'failed';
