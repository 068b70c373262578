CREATE TABLE projects (
	project_id {{.Text}} PRIMARY KEY,
	name {{.Text}} NOT NULL,
	description TEXT NOT NULL,
	two_person BOOLEAN NOT NULL,
	corpus_version BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

CREATE TABLE rules (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	slug {{.Text}} NOT NULL,
	version BIGINT NOT NULL,
	status {{.Text}} NOT NULL,
	corpus_version BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX rules_by_slug ON rules (project_id, slug) WHERE slug <> '' AND status <> 'RETIRED';

CREATE INDEX rules_by_change ON rules (project_id, corpus_version);

CREATE TABLE rule_versions (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	version BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, rule_id, version),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);

CREATE TABLE relationships (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	from_id {{.Text}} NOT NULL,
	to_id {{.Text}} NOT NULL,
	kind {{.Text}} NOT NULL,
	reason {{.Text}} NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, id),
	UNIQUE (project_id, from_id, kind, to_id),
	FOREIGN KEY (project_id, from_id) REFERENCES rules (project_id, id),
	FOREIGN KEY (project_id, to_id) REFERENCES rules (project_id, id)
);

CREATE INDEX relationships_by_target ON relationships (project_id, to_id);

CREATE TABLE audit_heads (
	project_id {{.Text}} PRIMARY KEY REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	hash {{.Text}} NOT NULL
);

-- Entries refer to no project, since that would be checked for each of them: AppendAudit moves the head, which does.
CREATE TABLE audit_entries (
	project_id {{.Text}} NOT NULL,
	seq BIGINT NOT NULL,
	id {{.Text}} NOT NULL,
	kind {{.Text}} NOT NULL,
	at BIGINT NOT NULL,
	actor {{.Text}} NOT NULL,
	verdict {{.Text}} NOT NULL,
	mode {{.Text}} NOT NULL,
	body {{.Blob}} NOT NULL,
	body_hash {{.Text}} NOT NULL,
	prev_hash {{.Text}} NOT NULL,
	hash {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, seq)
);

CREATE UNIQUE INDEX audit_entries_by_id ON audit_entries (project_id, id);

-- All that FindAudit filters by, so that it counts without reading the entries, whose bodies are large.
CREATE INDEX audit_entries_by_kind ON audit_entries (project_id, kind, seq, verdict, mode, actor, at);

CREATE TABLE api_keys (
	project_id {{.Text}} NOT NULL,
	id {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	role {{.Text}} NOT NULL,
	hash {{.Text}} NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	expires_at BIGINT,
	revoked_at BIGINT,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (hash);
