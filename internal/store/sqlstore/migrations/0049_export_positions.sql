-- How far the audit chain of a project has been exported to a place.
CREATE TABLE export_positions (
	project_id {{.Text}} NOT NULL,
	place {{.Text}} NOT NULL,
	seq BIGINT NOT NULL,
	PRIMARY KEY (project_id, place)
);
