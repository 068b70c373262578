-- How far the audit chain of a project has been counted. Of what lies before blind_until, records had been removed already.
CREATE TABLE count_marks (
	project_id {{.Text}} PRIMARY KEY REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	at BIGINT NOT NULL,
	blind_until BIGINT
);

-- Days count from 1970-01-01, UTC. These tables refer to no rule: a rule's verdicts are counted whatever becomes of it.
CREATE TABLE rule_counts (
	project_id {{.Text}} NOT NULL,
	day BIGINT NOT NULL,
	rule_id {{.Text}} NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	by_check BIGINT NOT NULL,
	by_model BIGINT NOT NULL,
	by_cache BIGINT NOT NULL,
	calls BIGINT NOT NULL,
	call_ms BIGINT NOT NULL,
	tokens BIGINT NOT NULL,
	PRIMARY KEY (project_id, day, rule_id)
);

CREATE INDEX rule_counts_by_rule ON rule_counts (project_id, rule_id, day);

CREATE TABLE rule_activity (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	last_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, rule_id)
);

CREATE TABLE day_counts (
	project_id {{.Text}} NOT NULL,
	day BIGINT NOT NULL,
	evaluations BIGINT NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	incidents BIGINT NOT NULL,
	latency_ms BIGINT NOT NULL,
	max_latency_ms BIGINT NOT NULL,
	PRIMARY KEY (project_id, day)
);

CREATE TABLE model_counts (
	project_id {{.Text}} NOT NULL,
	day BIGINT NOT NULL,
	model {{.Text}} NOT NULL,
	calls BIGINT NOT NULL,
	failed BIGINT NOT NULL,
	input_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL,
	cached_tokens BIGINT NOT NULL,
	duration_ms BIGINT NOT NULL,
	PRIMARY KEY (project_id, day, model)
);

-- The latest score of each rule, the day on which it last changed, and what it was before that day.
CREATE TABLE rule_health (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	score BIGINT NOT NULL,
	score_before BIGINT,
	day BIGINT NOT NULL,
	PRIMARY KEY (project_id, rule_id)
);

-- One row for each day on which the score has changed.
CREATE TABLE health_history (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	day BIGINT NOT NULL,
	score BIGINT NOT NULL,
	PRIMARY KEY (project_id, rule_id, day)
);

CREATE TABLE alerts (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	type {{.Text}} NOT NULL,
	status {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
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

CREATE UNIQUE INDEX alerts_open ON alerts (project_id, type, rule_id) WHERE status <> 'resolved';

CREATE INDEX alerts_by_time ON alerts (project_id, created_at, id);

CREATE INDEX alerts_by_state ON alerts (project_id, status, type, created_at, id);

CREATE INDEX alerts_resolved ON alerts (project_id, type, resolved_at) WHERE status = 'resolved';
