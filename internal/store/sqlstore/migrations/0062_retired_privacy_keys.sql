-- The names of keys that encrypted keys of people and must not encrypt others, so that a node with an older key file makes none that nobody can open.
CREATE TABLE retired_privacy_keys (
	name {{.Text}} NOT NULL PRIMARY KEY,
	retired_at BIGINT NOT NULL
);
