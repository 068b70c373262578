-- Work that was asked for by a person and whose result they come back for, of any kind; test runs were the first.
CREATE TABLE runs (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	kind {{.Text}} NOT NULL,
	job_id BIGINT NOT NULL,
	request TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	result TEXT NOT NULL,
	finished_at BIGINT,
	PRIMARY KEY (project_id, id)
);

CREATE INDEX runs_by_time ON runs (created_at);

INSERT INTO runs (project_id, id, kind, job_id, request, created_at, created_by, result, finished_at)
	SELECT project_id, id, 'tests.run', job_id, filter, created_at, created_by, result, finished_at FROM test_runs;

DROP TABLE test_runs;
