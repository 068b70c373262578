-- Submissions that are named by their caller or carried out in the background. What is answered at once and has no name has
-- no row: its record in the audit chain is all there is of it.
CREATE TABLE submissions (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	idempotency_key {{.Text}} NOT NULL,
	body_hash {{.Text}} NOT NULL,
	kind {{.Text}} NOT NULL,
	evaluation_id {{.Text}} NOT NULL,
	actor {{.Text}} NOT NULL,
	request {{.Blob}} NOT NULL,
	failure TEXT NOT NULL,
	owner {{.Text}} NOT NULL,
	lease_until BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	finished_at BIGINT,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX submissions_by_key ON submissions (project_id, idempotency_key) WHERE idempotency_key <> '';

CREATE INDEX submissions_by_age ON submissions (project_id, created_at);

CREATE TABLE feedback (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	evaluation_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	actor {{.Text}} NOT NULL,
	correct BOOLEAN NOT NULL,
	note TEXT NOT NULL,
	rule_version BIGINT NOT NULL,
	content_hash {{.Text}} NOT NULL,
	verdict {{.Text}} NOT NULL,
	judged BOOLEAN NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (project_id, evaluation_id, rule_id, actor)
);

CREATE INDEX feedback_by_rule ON feedback (project_id, rule_id, content_hash, verdict, judged, correct);
