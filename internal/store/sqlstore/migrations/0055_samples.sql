-- Verdicts that the judge has decided again to see whether it agrees.
CREATE TABLE samples (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	evaluation_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	kind {{.Text}} NOT NULL,
	rule_version BIGINT NOT NULL,
	content_hash {{.Text}} NOT NULL,
	said {{.Text}} NOT NULL,
	judged {{.Text}} NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (project_id, evaluation_id, rule_id, kind)
);

CREATE INDEX samples_by_time ON samples (project_id, at);
