-- Alerts name who acted: in order, as JSON, and by name, so that they are found.
ALTER TABLE alerts ADD COLUMN acted TEXT NOT NULL DEFAULT '[]';

CREATE TABLE alert_names (
	project_id {{.Text}} NOT NULL,
	kind {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	alert_id {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, kind, name, alert_id),
	FOREIGN KEY (project_id, alert_id) REFERENCES alerts (project_id, id)
);
