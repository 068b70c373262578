CREATE TABLE waivers (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	severity {{.Text}} NOT NULL,
	fingerprint {{.Text}} NOT NULL,
	reason TEXT NOT NULL,
	approver {{.Text}} NOT NULL,
	expires_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	approved_at BIGINT,
	approved_by {{.Text}} NOT NULL,
	revoked_at BIGINT,
	revoked_by {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, id)
);

CREATE INDEX waivers_by_time ON waivers (project_id, created_at, id);
