-- What people have noted on things that wait for a decision: who takes care of it, until when it is put aside, and that an evaluation
-- needs no answer any more.
CREATE TABLE queue_marks (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	kind {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	assignee {{.Text}} NOT NULL,
	snoozed_until BIGINT,
	settled_at BIGINT,
	settled_by {{.Text}} NOT NULL,
	note TEXT NOT NULL,
	PRIMARY KEY (project_id, kind, id)
);

CREATE INDEX queue_marks_open ON queue_marks (project_id, kind, id) WHERE settled_at IS NULL;

-- What waits is a small part of each table, and must be found without reading the rest.
CREATE INDEX rules_in_review ON rules (project_id, corpus_version, id) WHERE status = 'REVIEW';

CREATE INDEX candidates_waiting ON candidates (project_id, scan_id, n) WHERE status = 'pending';

CREATE INDEX conflicts_waiting ON conflicts (project_id, detected_at, id) WHERE state = 'suggested';

CREATE INDEX waivers_waiting ON waivers (project_id, created_at, id) WHERE approved_at IS NULL AND revoked_at IS NULL;

CREATE INDEX audit_entries_waiting ON audit_entries (project_id, at, seq) WHERE verdict = 'NEEDS_CONFIRMATION';
