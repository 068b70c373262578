-- Every unique key and foreign key begins with the project, and no trigger guards a table, so that PostgreSQL can be spread over
-- servers by project. A hash is that of 256 random bits: nothing is lost if two projects could hold the same.
DROP INDEX api_keys_by_hash;

CREATE INDEX api_keys_by_hash ON api_keys (hash);

CREATE UNIQUE INDEX api_keys_by_project ON api_keys (project_id, hash);
{{if .Vector}}
ALTER TABLE jobs DROP CONSTRAINT jobs_pkey;

ALTER TABLE jobs ADD CONSTRAINT jobs_pkey PRIMARY KEY USING INDEX jobs_by_id;

ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_pkey;

ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (project_id, id);

DROP TRIGGER snapshots_frozen ON snapshots;

DROP FUNCTION snapshots_frozen;

DROP TRIGGER deployments_frozen ON deployments;

DROP FUNCTION deployments_frozen;

DROP TRIGGER snapshot_approvals_frozen ON snapshot_approvals;

DROP FUNCTION snapshot_approvals_frozen;
{{end}}
