-- How long projects keep their records, and their legal holds.
CREATE TABLE retention (
	project_id {{.Text}} NOT NULL,
	body {{.Text}} NOT NULL,
	PRIMARY KEY (project_id)
);
