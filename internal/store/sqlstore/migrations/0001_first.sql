CREATE TABLE projects (
	project_id TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	description TEXT NOT NULL,
	two_person BOOLEAN NOT NULL,
	corpus_version BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

CREATE TABLE rules (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	slug TEXT NOT NULL,
	version BIGINT NOT NULL,
	status TEXT NOT NULL,
	corpus_version BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX rules_by_slug ON rules (project_id, slug) WHERE slug <> '' AND status <> 'RETIRED';

CREATE INDEX rules_by_change ON rules (project_id, corpus_version);

CREATE TABLE rule_versions (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	version BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, rule_id, version),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);

CREATE TABLE relationships (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	from_id TEXT NOT NULL,
	to_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	reason TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	PRIMARY KEY (project_id, id),
	UNIQUE (project_id, from_id, kind, to_id),
	FOREIGN KEY (project_id, from_id) REFERENCES rules (project_id, id),
	FOREIGN KEY (project_id, to_id) REFERENCES rules (project_id, id)
);

CREATE INDEX relationships_by_target ON relationships (project_id, to_id);

CREATE TABLE audit_heads (
	project_id TEXT PRIMARY KEY REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	hash TEXT NOT NULL
);

CREATE TABLE audit_entries (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	id TEXT NOT NULL,
	kind TEXT NOT NULL,
	at BIGINT NOT NULL,
	actor TEXT NOT NULL,
	verdict TEXT NOT NULL,
	mode TEXT NOT NULL,
	body {{.Blob}} NOT NULL,
	body_hash TEXT NOT NULL,
	prev_hash TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (project_id, seq)
);

CREATE UNIQUE INDEX audit_entries_by_id ON audit_entries (project_id, id);

CREATE INDEX audit_entries_by_kind ON audit_entries (project_id, kind, seq);

CREATE TABLE api_keys (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	role TEXT NOT NULL,
	hash TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	expires_at BIGINT,
	revoked_at BIGINT,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (hash);
