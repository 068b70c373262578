CREATE TABLE scans (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	job_id BIGINT NOT NULL,
	repository {{.Text}} NOT NULL,
	document_id {{.Text}} NOT NULL,
	request TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	state {{.Text}} NOT NULL,
	result TEXT NOT NULL,
	error TEXT NOT NULL,
	ended_at BIGINT,
	PRIMARY KEY (project_id, id)
);

CREATE INDEX scans_by_time ON scans (project_id, created_at, id);

CREATE INDEX scans_open ON scans (created_at) WHERE state = 'open';

-- What a scan reads, until it has ended.
CREATE TABLE scan_files (
	project_id {{.Text}} NOT NULL,
	scan_id {{.Text}} NOT NULL,
	n BIGINT NOT NULL,
	content {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, scan_id, n),
	FOREIGN KEY (project_id, scan_id) REFERENCES scans (project_id, id)
);

CREATE TABLE candidates (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	scan_id {{.Text}} NOT NULL,
	n BIGINT NOT NULL, -- place in the scan
	repository {{.Text}} NOT NULL,
	fingerprint {{.Text}} NOT NULL,
	confidence DOUBLE PRECISION NOT NULL,
	body TEXT NOT NULL,
	status {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	reason TEXT NOT NULL,
	decided_at BIGINT,
	decided_by {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, scan_id) REFERENCES scans (project_id, id)
);

CREATE UNIQUE INDEX candidates_by_scan ON candidates (project_id, scan_id, n);

CREATE INDEX candidates_pending ON candidates (project_id, repository, fingerprint) WHERE status = 'pending';

-- What has been decided of the statements of a repository's files, so that later scans leave them out.
CREATE TABLE candidate_decisions (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	repository {{.Text}} NOT NULL,
	fingerprint {{.Text}} NOT NULL,
	candidate_id {{.Text}} NOT NULL,
	status {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, repository, fingerprint)
);
