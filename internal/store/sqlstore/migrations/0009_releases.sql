CREATE TABLE snapshots (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	description TEXT NOT NULL,
	rule_count BIGINT NOT NULL,
	content_hash {{.Text}} NOT NULL,
	corpus_version BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	manifest {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, id)
);

-- All that a list shows, so that it is read without the manifests, which are large.
CREATE INDEX snapshots_by_time ON snapshots (project_id, created_at, id);

CREATE TABLE deployments (
	project_id {{.Text}} NOT NULL,
	environment {{.Text}} NOT NULL,
	seq BIGINT NOT NULL,
	action {{.Text}} NOT NULL,
	snapshot_id {{.Text}} NOT NULL,
	at BIGINT NOT NULL,
	actor {{.Text}} NOT NULL,
	request_key {{.Text}} NOT NULL,
	request {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, environment, seq),
	FOREIGN KEY (project_id, snapshot_id) REFERENCES snapshots (project_id, id)
);

CREATE UNIQUE INDEX deployments_by_key ON deployments (project_id, request_key) WHERE request_key <> '';

CREATE TABLE release_gates (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	environment {{.Text}} NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, environment)
);

CREATE TABLE snapshot_approvals (
	project_id {{.Text}} NOT NULL,
	snapshot_id {{.Text}} NOT NULL,
	actor {{.Text}} NOT NULL,
	at BIGINT NOT NULL,
	note TEXT NOT NULL,
	PRIMARY KEY (project_id, snapshot_id, actor),
	FOREIGN KEY (project_id, snapshot_id) REFERENCES snapshots (project_id, id)
);

{{call .Frozen "snapshots"}}

{{call .Frozen "deployments"}}

{{call .Frozen "snapshot_approvals"}}
