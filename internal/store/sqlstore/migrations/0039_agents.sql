-- The agents that have asked for evaluations, by the person for whom they act.
CREATE TABLE agents (
	project_id {{.Text}} NOT NULL,
	agent {{.Text}} NOT NULL,
	person {{.Text}} NOT NULL,
	actor {{.Text}} NOT NULL,
	session {{.Text}} NOT NULL,
	verified BIGINT NOT NULL,
	first_seen BIGINT NOT NULL,
	last_seen BIGINT NOT NULL,
	evaluations BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	PRIMARY KEY (project_id, agent, person)
);

CREATE INDEX agents_by_time ON agents (project_id, last_seen);

-- Agents whose requests are denied, or were. project_id is * for all projects; agent_key and person_key are the names as they are compared.
CREATE TABLE suspensions (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	agent {{.Text}} NOT NULL,
	person {{.Text}} NOT NULL,
	agent_key {{.Text}} NOT NULL,
	person_key {{.Text}} NOT NULL,
	reason {{.Text}} NOT NULL,
	suspended_at BIGINT NOT NULL,
	suspended_by {{.Text}} NOT NULL,
	lifted_at BIGINT,
	lifted_by {{.Text}} NOT NULL,
	lift_reason {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX suspensions_in_force ON suspensions (project_id, agent_key, person_key) WHERE lifted_at IS NULL;
