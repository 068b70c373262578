-- A number for each kind of thing that waits for a person in a project. Each transaction that may change the list of that kind raises it, so that
-- a node that has read a list knows without reading it again whether it still holds.
CREATE TABLE queue_versions (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	kind {{.Text}} NOT NULL,
	version BIGINT NOT NULL,
	PRIMARY KEY (project_id, kind)
);
