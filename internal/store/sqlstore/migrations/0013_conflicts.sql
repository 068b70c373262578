CREATE TABLE conflicts (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	low_id {{.Text}} NOT NULL,
	high_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	other_id {{.Text}} NOT NULL,
	state {{.Text}} NOT NULL,
	found_by {{.Text}} NOT NULL,
	reason TEXT NOT NULL,
	confidence DOUBLE PRECISION NOT NULL,
	rule_hash {{.Text}} NOT NULL,
	other_hash {{.Text}} NOT NULL,
	detected_at BIGINT NOT NULL,
	decided_at BIGINT,
	decided_by {{.Text}} NOT NULL,
	note TEXT NOT NULL,
	relationship_id {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, low_id) REFERENCES rules (project_id, id),
	FOREIGN KEY (project_id, high_id) REFERENCES rules (project_id, id)
);

-- Of two rules there is one conflict at most: low_id and high_id are the rules in the order of their ids.
CREATE UNIQUE INDEX conflicts_by_rules ON conflicts (project_id, low_id, high_id);

CREATE INDEX conflicts_by_other ON conflicts (project_id, high_id);

CREATE INDEX conflicts_by_time ON conflicts (project_id, detected_at, id);

CREATE TABLE conflict_walks (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	name {{.Text}} NOT NULL,
	reached BIGINT NOT NULL,
	toward BIGINT NOT NULL,
	last_id {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, name)
);
