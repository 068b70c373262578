-- Alerts concern edges too: the subject is the rule or, without a rule, the name of the edge.
CREATE TABLE alerts_of_all (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	type {{.Text}} NOT NULL,
	status {{.Text}} NOT NULL,
	rule_id {{.Text}},
	subject {{.Text}} NOT NULL,
	message TEXT NOT NULL,
	metadata TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	acknowledged_at BIGINT,
	acknowledged_by {{.Text}} NOT NULL,
	resolved_at BIGINT,
	resolved_by {{.Text}} NOT NULL,
	resolution_note TEXT NOT NULL,
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);

INSERT INTO alerts_of_all (project_id, id, type, status, rule_id, subject, message, metadata, created_at, acknowledged_at, acknowledged_by, resolved_at, resolved_by, resolution_note)
SELECT project_id, id, type, status, rule_id, rule_id, message, metadata, created_at, acknowledged_at, acknowledged_by, resolved_at, resolved_by, resolution_note FROM alerts;

DROP TABLE alerts;

ALTER TABLE alerts_of_all RENAME TO alerts;

CREATE UNIQUE INDEX alerts_open ON alerts (project_id, type, subject) WHERE status <> 'resolved';

CREATE INDEX alerts_by_time ON alerts (project_id, created_at, id);

CREATE INDEX alerts_by_state ON alerts (project_id, status, type, created_at, id);

CREATE INDEX alerts_resolved ON alerts (project_id, type, resolved_at) WHERE status = 'resolved';
