-- The names of keys that encrypted keys of people and must not encrypt others, so that a node with an older key file makes none that nobody can open.
-- They belong to no project: project_id is *.
CREATE TABLE retired_privacy_keys (
	project_id {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	retired_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, name)
);
