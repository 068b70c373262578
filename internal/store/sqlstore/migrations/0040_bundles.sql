-- What was deployed to environments, as files for edges. Only the newest few of each environment are there.
CREATE TABLE bundles (
	project_id {{.Text}} NOT NULL,
	environment {{.Text}} NOT NULL,
	seq BIGINT NOT NULL,
	action {{.Text}} NOT NULL,
	snapshot_id {{.Text}} NOT NULL,
	root {{.Text}} NOT NULL,
	rules BIGINT NOT NULL,
	at BIGINT NOT NULL,
	raw_hash {{.Text}} NOT NULL,
	raw_size BIGINT NOT NULL,
	hash {{.Text}} NOT NULL,
	body {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, environment, seq)
);
