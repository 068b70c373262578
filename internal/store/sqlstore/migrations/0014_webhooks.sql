CREATE TABLE webhook_policies (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	url TEXT NOT NULL,
	event_types TEXT NOT NULL, -- JSON
	filter TEXT NOT NULL, -- JSON
	format {{.Text}} NOT NULL,
	enabled BOOLEAN NOT NULL,
	disabled_reason TEXT NOT NULL,
	secret TEXT NOT NULL,
	old_secret TEXT NOT NULL,
	old_until BIGINT,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	updated_at BIGINT NOT NULL,
	failures BIGINT NOT NULL,
	paused_until BIGINT,
	PRIMARY KEY (project_id, id),
	UNIQUE (project_id, name)
);

CREATE TABLE webhook_events (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	type {{.Text}} NOT NULL,
	at BIGINT NOT NULL,
	severity {{.Text}} NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (project_id, id)
);

-- No key refers to the policy: an event that is published while one is being deleted must not fail for it.
CREATE TABLE webhook_deliveries (
	project_id {{.Text}} NOT NULL,
	id {{.Serial}},
	policy_id {{.Text}} NOT NULL,
	event_id {{.Text}} NOT NULL,
	event_type {{.Text}} NOT NULL,
	state {{.Text}} NOT NULL,
	attempts BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	next_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	ended_at BIGINT,
	last_at BIGINT,
	last_status BIGINT NOT NULL,
	reason TEXT NOT NULL,
	answer TEXT NOT NULL
);

CREATE UNIQUE INDEX webhook_deliveries_by_event ON webhook_deliveries (project_id, event_id, policy_id);

CREATE INDEX webhook_deliveries_by_policy ON webhook_deliveries (project_id, policy_id, id);

CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (project_id, policy_id, id, next_at) WHERE state = 'pending';

CREATE INDEX webhook_deliveries_expiring ON webhook_deliveries (expires_at) WHERE state = 'pending';

CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE state <> 'pending';
