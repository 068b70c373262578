CREATE TABLE test_cases (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	sample_input TEXT NOT NULL,
	input_type {{.Text}} NOT NULL,
	expected {{.Text}} NOT NULL,
	origin {{.Text}} NOT NULL,
	confirmed BOOLEAN NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	last_result {{.Text}} NOT NULL,
	last_reasoning TEXT NOT NULL,
	last_decided_by {{.Text}} NOT NULL,
	last_model {{.Text}} NOT NULL,
	last_version BIGINT NOT NULL,
	last_hash {{.Text}} NOT NULL,
	last_run_at BIGINT,
	PRIMARY KEY (project_id, rule_id, id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);

CREATE TABLE test_runs (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	job_id BIGINT NOT NULL,
	filter TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	result TEXT NOT NULL,
	finished_at BIGINT,
	PRIMARY KEY (project_id, id)
);

ALTER TABLE projects ADD COLUMN tests_required BOOLEAN NOT NULL DEFAULT FALSE;
