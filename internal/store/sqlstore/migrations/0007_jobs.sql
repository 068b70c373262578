CREATE TABLE jobs (
	project_id {{.Text}} NOT NULL, -- or *
	id {{.Serial}},
	kind {{.Text}} NOT NULL,
	unique_key {{.Text}} NOT NULL,
	args TEXT NOT NULL,
	state {{.Text}} NOT NULL,
	priority BIGINT NOT NULL,
	attempt BIGINT NOT NULL,
	max_attempts BIGINT NOT NULL,
	done BIGINT NOT NULL,
	total BIGINT NOT NULL,
	error TEXT NOT NULL,
	cancel BOOLEAN NOT NULL,
	owner {{.Text}} NOT NULL,
	lease_until BIGINT NOT NULL,
	run_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	started_at BIGINT,
	finished_at BIGINT
);

CREATE UNIQUE INDEX jobs_by_id ON jobs (project_id, id);

CREATE UNIQUE INDEX jobs_waiting ON jobs (project_id, kind, unique_key) WHERE unique_key <> '' AND state = 'queued';

CREATE UNIQUE INDEX jobs_at_work ON jobs (project_id, kind, unique_key) WHERE unique_key <> '' AND state = 'running';

CREATE INDEX jobs_due ON jobs (priority, run_at, id) WHERE state = 'queued';

CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';

CREATE INDEX jobs_ended ON jobs (finished_at) WHERE state IN ('succeeded', 'failed', 'cancelled');

CREATE INDEX jobs_by_kind ON jobs (project_id, kind, state, id);

-- The last round of each kind of periodic work, over all nodes.
CREATE TABLE job_rounds (
	project_id {{.Text}} NOT NULL, -- *
	kind {{.Text}} NOT NULL,
	begun_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, kind)
);
