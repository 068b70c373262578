-- Requests that people confirm an action, and their answers. ends_at is the end of the present state; due_at the time at which a job has to
-- look at the approval.
CREATE TABLE approvals (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	revision BIGINT NOT NULL,
	link_key {{.Text}} NOT NULL,
	state {{.Text}} NOT NULL,
	requester {{.Text}} NOT NULL,
	subject_hash {{.Text}} NOT NULL,
	evaluation_id {{.Text}} NOT NULL,
	repository {{.Text}} NOT NULL,
	agent {{.Text}} NOT NULL,
	scope {{.Text}} NOT NULL,
	severity {{.Text}} NOT NULL,
	created_at BIGINT NOT NULL,
	ends_at BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, id)
);

CREATE INDEX approvals_open ON approvals (project_id, subject_hash) WHERE state IN ('pending', 'approved');

CREATE INDEX approvals_due ON approvals (due_at) WHERE state IN ('pending', 'approved');

CREATE INDEX approvals_by_state ON approvals (project_id, state, id);

CREATE INDEX approvals_by_evaluation ON approvals (project_id, evaluation_id);

CREATE INDEX approvals_by_requester ON approvals (project_id, requester, id);

CREATE TABLE approval_rules (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	approval_id {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, rule_id, approval_id),
	FOREIGN KEY (project_id, approval_id) REFERENCES approvals (project_id, id)
);
