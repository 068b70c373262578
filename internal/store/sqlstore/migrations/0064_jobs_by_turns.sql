-- The jobs that wait, by project: where one has many, a node finds the first of each other in one step.
CREATE INDEX jobs_by_turns ON jobs (priority, project_id, run_at, id) WHERE state = 'queued';
