-- The right edge of the Merkle tree over a chain. It is empty until a job has made it for a chain that is older than this column.
ALTER TABLE audit_heads ADD COLUMN tree {{.Text}} NOT NULL DEFAULT '';

-- Up to 256 hashes of the tree at every eighth level. Jobs write them some time after the entries.
CREATE TABLE audit_tiles (
	project_id {{.Text}} NOT NULL,
	level BIGINT NOT NULL,
	n BIGINT NOT NULL,
	hashes {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, level, n)
);

CREATE TABLE audit_checkpoints (
	project_id {{.Text}} NOT NULL,
	origin {{.Text}} NOT NULL,
	size BIGINT NOT NULL,
	at BIGINT NOT NULL,
	note {{.Text}} NOT NULL,
	witnessed BOOLEAN NOT NULL,
	PRIMARY KEY (project_id, origin, size)
);

CREATE INDEX audit_checkpoints_by_size ON audit_checkpoints (project_id, size);
