-- The keys under which personal data of records are encrypted, each encrypted by a key that is not in the database.
CREATE TABLE personal_keys (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	wrapped_by {{.Text}} NOT NULL,
	wrapped {{.Blob}} NOT NULL,
	created_at BIGINT NOT NULL,
	forgotten_at BIGINT,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX personal_keys_by_name ON personal_keys (project_id, name);
