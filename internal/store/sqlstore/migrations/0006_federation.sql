-- What is removed stays as a mark, so that views can follow.
CREATE TABLE nodes (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	parent_id {{.Text}},
	removed BOOLEAN NOT NULL,
	corpus_version BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, parent_id) REFERENCES nodes (project_id, id)
);

CREATE INDEX nodes_by_change ON nodes (project_id, corpus_version);

CREATE TABLE node_rules (
	project_id {{.Text}} NOT NULL,
	node_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	override_id {{.Text}},
	allow_weakening BOOLEAN NOT NULL,
	reason TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	removed BOOLEAN NOT NULL,
	corpus_version BIGINT NOT NULL,
	PRIMARY KEY (project_id, node_id, rule_id),
	FOREIGN KEY (project_id, node_id) REFERENCES nodes (project_id, id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);

CREATE INDEX node_rules_by_change ON node_rules (project_id, corpus_version);
