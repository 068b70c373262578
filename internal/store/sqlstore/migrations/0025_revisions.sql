-- Proposed versions of rules in force, which wait for a second person. A number is never used twice for a rule.
CREATE TABLE rule_revisions (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	number BIGINT NOT NULL,
	state {{.Text}} NOT NULL,
	author {{.Text}} NOT NULL,
	created_at BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, rule_id, number),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);

CREATE INDEX rule_revisions_by_state ON rule_revisions (project_id, state, created_at, rule_id, number);
