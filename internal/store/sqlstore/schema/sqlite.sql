-- version 67
-- Written by TestAFreshDatabaseIsAsMigrated from the migrations; do not edit.
CREATE TABLE projects (
	project_id TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	description TEXT NOT NULL,
	two_person BOOLEAN NOT NULL,
	corpus_version BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
, tests_required BOOLEAN NOT NULL DEFAULT FALSE, policy TEXT NOT NULL DEFAULT '');
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
	created_by TEXT NOT NULL, allow_weakening BOOLEAN NOT NULL DEFAULT FALSE,
	PRIMARY KEY (project_id, id),
	UNIQUE (project_id, from_id, kind, to_id),
	FOREIGN KEY (project_id, from_id) REFERENCES rules (project_id, id),
	FOREIGN KEY (project_id, to_id) REFERENCES rules (project_id, id)
);
CREATE TABLE audit_heads (
	project_id TEXT PRIMARY KEY REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	hash TEXT NOT NULL
, tree TEXT NOT NULL DEFAULT '');
CREATE TABLE audit_entries (
	project_id TEXT NOT NULL,
	seq BIGINT NOT NULL,
	id TEXT NOT NULL,
	kind TEXT NOT NULL,
	at BIGINT NOT NULL,
	actor TEXT NOT NULL,
	verdict TEXT NOT NULL,
	mode TEXT NOT NULL,
	body BLOB NOT NULL,
	body_hash TEXT NOT NULL,
	prev_hash TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (project_id, seq)
);
CREATE TABLE api_keys (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	role TEXT NOT NULL,
	hash TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	expires_at BIGINT,
	revoked_at BIGINT, last_used_at BIGINT, prefix TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '', limits TEXT NOT NULL DEFAULT '', rotated_from TEXT NOT NULL DEFAULT '', rotated_to TEXT NOT NULL DEFAULT '', refused BIGINT NOT NULL DEFAULT 0, last_refused_at BIGINT, last_refusal TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (project_id, id)
);
CREATE TABLE verdicts (
	project_id TEXT NOT NULL,
	unit TEXT NOT NULL,
	rule TEXT NOT NULL,
	entry TEXT NOT NULL,
	size BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, unit, rule)
);
CREATE TABLE submissions (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	idempotency_key TEXT NOT NULL,
	body_hash TEXT NOT NULL,
	kind TEXT NOT NULL,
	evaluation_id TEXT NOT NULL,
	actor TEXT NOT NULL,
	request BLOB NOT NULL,
	failure TEXT NOT NULL,
	owner TEXT NOT NULL,
	lease_until BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	finished_at BIGINT,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE feedback (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	evaluation_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	actor TEXT NOT NULL,
	correct BOOLEAN NOT NULL,
	note TEXT NOT NULL,
	rule_version BIGINT NOT NULL,
	content_hash TEXT NOT NULL,
	verdict TEXT NOT NULL,
	judged BOOLEAN NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (project_id, evaluation_id, rule_id, actor)
);
CREATE TABLE embeddings (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	model TEXT NOT NULL,
	text_hash TEXT NOT NULL,
	corpus_version BIGINT NOT NULL,
	vector BLOB NOT NULL,
	PRIMARY KEY (project_id, model, text_hash)
);
CREATE TABLE documents (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	filename TEXT NOT NULL,
	mime_type TEXT NOT NULL,
	title TEXT NOT NULL,
	document_type TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	size_bytes BIGINT NOT NULL,
	uploaded_by TEXT NOT NULL,
	uploaded_at BIGINT NOT NULL,
	pages BIGINT NOT NULL,
	characters BIGINT NOT NULL,
	chunks BIGINT NOT NULL,
	embedding_model TEXT NOT NULL,
	number INTEGER UNIQUE, unread TEXT NOT NULL DEFAULT '', -- of the document in document_terms
	PRIMARY KEY (project_id, id),
	UNIQUE (project_id, sha256)
);
CREATE TABLE document_contents (
	project_id TEXT NOT NULL,
	document_id TEXT NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (project_id, document_id),
	FOREIGN KEY (project_id, document_id) REFERENCES documents (project_id, id)
);
CREATE TABLE document_chunks (
	project_id TEXT NOT NULL,
	document_id TEXT NOT NULL,
	n BIGINT NOT NULL, -- 0 are the names of the document
	section TEXT NOT NULL,
	page BIGINT NOT NULL,
	line BIGINT NOT NULL,
	text TEXT NOT NULL,
	
	PRIMARY KEY (project_id, document_id, n),
	FOREIGN KEY (project_id, document_id) REFERENCES documents (project_id, id)
);
CREATE VIRTUAL TABLE document_terms USING fts5 (project, words, wholes, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE TABLE document_vectors (
	project_id TEXT NOT NULL,
	model TEXT NOT NULL,
	document_id TEXT NOT NULL,
	n BIGINT NOT NULL,
	vectors BLOB NOT NULL,
	PRIMARY KEY (project_id, model, document_id, n),
	FOREIGN KEY (project_id, document_id) REFERENCES documents (project_id, id)
);
CREATE TABLE nodes (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	parent_id TEXT,
	removed BOOLEAN NOT NULL,
	corpus_version BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, parent_id) REFERENCES nodes (project_id, id)
);
CREATE TABLE node_rules (
	project_id TEXT NOT NULL,
	node_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	override_id TEXT,
	allow_weakening BOOLEAN NOT NULL,
	reason TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	removed BOOLEAN NOT NULL,
	corpus_version BIGINT NOT NULL, approved_by TEXT,
	PRIMARY KEY (project_id, node_id, rule_id),
	FOREIGN KEY (project_id, node_id) REFERENCES nodes (project_id, id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);
CREATE TABLE jobs (
	project_id TEXT NOT NULL, -- or *
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	kind TEXT NOT NULL,
	unique_key TEXT NOT NULL,
	args TEXT NOT NULL,
	state TEXT NOT NULL,
	priority BIGINT NOT NULL,
	attempt BIGINT NOT NULL,
	max_attempts BIGINT NOT NULL,
	done BIGINT NOT NULL,
	total BIGINT NOT NULL,
	error TEXT NOT NULL,
	cancel BOOLEAN NOT NULL,
	owner TEXT NOT NULL,
	lease_until BIGINT NOT NULL,
	run_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	started_at BIGINT,
	finished_at BIGINT
);
CREATE TABLE job_rounds (
	project_id TEXT NOT NULL, -- *
	kind TEXT NOT NULL,
	begun_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, kind)
);
CREATE TABLE test_cases (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	sample_input TEXT NOT NULL,
	input_type TEXT NOT NULL,
	expected TEXT NOT NULL,
	origin TEXT NOT NULL,
	confirmed BOOLEAN NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	last_result TEXT NOT NULL,
	last_reasoning TEXT NOT NULL,
	last_decided_by TEXT NOT NULL,
	last_model TEXT NOT NULL,
	last_version BIGINT NOT NULL,
	last_hash TEXT NOT NULL,
	last_run_at BIGINT,
	PRIMARY KEY (project_id, rule_id, id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);
CREATE TABLE snapshots (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	description TEXT NOT NULL,
	rule_count BIGINT NOT NULL,
	content_hash TEXT NOT NULL,
	corpus_version BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	manifest BLOB NOT NULL,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE deployments (
	project_id TEXT NOT NULL,
	environment TEXT NOT NULL,
	seq BIGINT NOT NULL,
	action TEXT NOT NULL,
	snapshot_id TEXT NOT NULL,
	at BIGINT NOT NULL,
	actor TEXT NOT NULL,
	request_key TEXT NOT NULL,
	request TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (project_id, environment, seq),
	FOREIGN KEY (project_id, snapshot_id) REFERENCES snapshots (project_id, id)
);
CREATE TABLE release_gates (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	environment TEXT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, environment)
);
CREATE TABLE snapshot_approvals (
	project_id TEXT NOT NULL,
	snapshot_id TEXT NOT NULL,
	actor TEXT NOT NULL,
	at BIGINT NOT NULL,
	note TEXT NOT NULL,
	PRIMARY KEY (project_id, snapshot_id, actor),
	FOREIGN KEY (project_id, snapshot_id) REFERENCES snapshots (project_id, id)
);
CREATE TABLE runs (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	kind TEXT NOT NULL,
	job_id BIGINT NOT NULL,
	request TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	result TEXT NOT NULL,
	finished_at BIGINT,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE scans (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	job_id BIGINT NOT NULL,
	repository TEXT NOT NULL,
	document_id TEXT NOT NULL,
	request TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	state TEXT NOT NULL,
	result TEXT NOT NULL,
	error TEXT NOT NULL,
	ended_at BIGINT, pruned_at BIGINT,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE scan_files (
	project_id TEXT NOT NULL,
	scan_id TEXT NOT NULL,
	n BIGINT NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (project_id, scan_id, n),
	FOREIGN KEY (project_id, scan_id) REFERENCES scans (project_id, id)
);
CREATE TABLE candidates (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	scan_id TEXT NOT NULL,
	n BIGINT NOT NULL, -- place in the scan
	repository TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	confidence DOUBLE PRECISION NOT NULL,
	body TEXT NOT NULL,
	status TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	reason TEXT NOT NULL,
	decided_at BIGINT,
	decided_by TEXT NOT NULL, source_file TEXT NOT NULL DEFAULT '', excerpt BLOB, merged_into TEXT NOT NULL DEFAULT '', exclusion_id TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, scan_id) REFERENCES scans (project_id, id)
);
CREATE TABLE candidate_decisions (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	repository TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	candidate_id TEXT NOT NULL,
	status TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	PRIMARY KEY (project_id, repository, fingerprint)
);
CREATE TABLE count_marks (
	project_id TEXT PRIMARY KEY REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	at BIGINT NOT NULL,
	blind_until BIGINT
, filled BIGINT NOT NULL DEFAULT 0, fill_until BIGINT NOT NULL DEFAULT 0, fill_actors BOOLEAN NOT NULL DEFAULT FALSE);
CREATE TABLE rule_counts (
	project_id TEXT NOT NULL,
	day BIGINT NOT NULL,
	rule_id TEXT NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	by_check BIGINT NOT NULL,
	by_model BIGINT NOT NULL,
	by_cache BIGINT NOT NULL,
	calls BIGINT NOT NULL,
	call_ms BIGINT NOT NULL,
	tokens BIGINT NOT NULL, by_triage BIGINT NOT NULL DEFAULT 0, by_approval BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (project_id, day, rule_id)
);
CREATE TABLE rule_activity (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	last_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, rule_id)
);
CREATE TABLE day_counts (
	project_id TEXT NOT NULL,
	day BIGINT NOT NULL,
	evaluations BIGINT NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	incidents BIGINT NOT NULL,
	latency_ms BIGINT NOT NULL,
	max_latency_ms BIGINT NOT NULL, rules_allowed BIGINT NOT NULL DEFAULT 0, rules_denied BIGINT NOT NULL DEFAULT 0, rules_unsure BIGINT NOT NULL DEFAULT 0, by_check BIGINT NOT NULL DEFAULT 0, by_model BIGINT NOT NULL DEFAULT 0, by_cache BIGINT NOT NULL DEFAULT 0, by_triage BIGINT NOT NULL DEFAULT 0, by_approval BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (project_id, day)
);
CREATE TABLE model_counts (
	project_id TEXT NOT NULL,
	day BIGINT NOT NULL,
	model TEXT NOT NULL,
	calls BIGINT NOT NULL,
	failed BIGINT NOT NULL,
	input_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL,
	cached_tokens BIGINT NOT NULL,
	duration_ms BIGINT NOT NULL,
	PRIMARY KEY (project_id, day, model)
);
CREATE TABLE rule_health (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	score BIGINT NOT NULL,
	score_before BIGINT,
	day BIGINT NOT NULL, owner TEXT NOT NULL DEFAULT '', standing BIGINT NOT NULL DEFAULT 0, idle_since BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (project_id, rule_id)
);
CREATE TABLE health_history (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	day BIGINT NOT NULL,
	score BIGINT NOT NULL,
	PRIMARY KEY (project_id, rule_id, day)
);
CREATE TABLE conflicts (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	low_id TEXT NOT NULL,
	high_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	other_id TEXT NOT NULL,
	state TEXT NOT NULL,
	found_by TEXT NOT NULL,
	reason TEXT NOT NULL,
	confidence DOUBLE PRECISION NOT NULL,
	rule_hash TEXT NOT NULL,
	other_hash TEXT NOT NULL,
	detected_at BIGINT NOT NULL,
	decided_at BIGINT,
	decided_by TEXT NOT NULL,
	note TEXT NOT NULL,
	relationship_id TEXT NOT NULL, low_said TEXT NOT NULL DEFAULT '', low_severity BIGINT NOT NULL DEFAULT 0, high_said TEXT NOT NULL DEFAULT '', high_severity BIGINT NOT NULL DEFAULT 0, reason_said TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, low_id) REFERENCES rules (project_id, id),
	FOREIGN KEY (project_id, high_id) REFERENCES rules (project_id, id)
);
CREATE TABLE conflict_walks (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	name TEXT NOT NULL,
	reached BIGINT NOT NULL,
	toward BIGINT NOT NULL,
	last_id TEXT NOT NULL,
	PRIMARY KEY (project_id, name)
);
CREATE TABLE webhook_policies (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	url TEXT NOT NULL,
	event_types TEXT NOT NULL, -- JSON
	filter TEXT NOT NULL, -- JSON
	format TEXT NOT NULL,
	enabled BOOLEAN NOT NULL,
	disabled_reason TEXT NOT NULL,
	secret TEXT NOT NULL,
	old_secret TEXT NOT NULL,
	old_until BIGINT,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	updated_at BIGINT NOT NULL,
	failures BIGINT NOT NULL,
	paused_until BIGINT,
	PRIMARY KEY (project_id, id),
	UNIQUE (project_id, name)
);
CREATE TABLE webhook_events (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	type TEXT NOT NULL,
	at BIGINT NOT NULL,
	severity TEXT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE webhook_deliveries (
	project_id TEXT NOT NULL,
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	policy_id TEXT NOT NULL,
	event_id TEXT NOT NULL,
	event_type TEXT NOT NULL,
	state TEXT NOT NULL,
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
CREATE TABLE waivers (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	severity TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	reason TEXT NOT NULL,
	approver TEXT NOT NULL,
	expires_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	approved_at BIGINT,
	approved_by TEXT NOT NULL,
	revoked_at BIGINT,
	revoked_by TEXT NOT NULL, repository TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (project_id, id)
);
CREATE TABLE term_marks (
	project_id TEXT PRIMARY KEY REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	pruned BIGINT NOT NULL
);
CREATE TABLE term_blocks (
	project_id TEXT NOT NULL,
	block BIGINT NOT NULL,
	from_at BIGINT NOT NULL,
	until_at BIGINT NOT NULL,
	forgotten BIGINT NOT NULL,
	PRIMARY KEY (project_id, block)
);
CREATE TABLE evaluation_terms (
	project_id TEXT NOT NULL,
	block BIGINT NOT NULL,
	term BIGINT NOT NULL,
	entries BLOB NOT NULL,
	PRIMARY KEY (project_id, block, term)
) WITHOUT ROWID;
CREATE TABLE console_sessions (
	project_id TEXT NOT NULL,
	hash TEXT NOT NULL,
	data BLOB NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, hash)
);
CREATE TABLE queue_marks (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	kind TEXT NOT NULL,
	id TEXT NOT NULL,
	assignee TEXT NOT NULL,
	snoozed_until BIGINT,
	settled_at BIGINT,
	settled_by TEXT NOT NULL,
	note TEXT NOT NULL,
	PRIMARY KEY (project_id, kind, id)
);
CREATE TABLE rule_revisions (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	number BIGINT NOT NULL,
	state TEXT NOT NULL,
	author TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id, rule_id, number),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);
CREATE TABLE corpus_tallies (
	project_id TEXT PRIMARY KEY REFERENCES projects (project_id),
	corpus_version BIGINT NOT NULL,
	rules BIGINT NOT NULL,
	digest TEXT NOT NULL
);
CREATE TABLE scan_exclusions (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	repository TEXT NOT NULL,
	path TEXT NOT NULL,
	reason TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE group_counts (
	project_id TEXT NOT NULL,
	dimension TEXT NOT NULL,
	day BIGINT NOT NULL,
	name TEXT NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	PRIMARY KEY (project_id, dimension, day, name)
) WITHOUT ROWID;
CREATE TABLE part_counts (
	project_id TEXT NOT NULL,
	dimension TEXT NOT NULL,
	day BIGINT NOT NULL,
	name TEXT NOT NULL,
	part TEXT NOT NULL,
	n BIGINT NOT NULL,
	PRIMARY KEY (project_id, dimension, day, name, part)
) WITHOUT ROWID;
CREATE TABLE repository_counts (
	project_id TEXT NOT NULL,
	repository TEXT NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	first_at BIGINT NOT NULL,
	last_at BIGINT NOT NULL,
	last_id TEXT NOT NULL,
	last_verdict TEXT NOT NULL,
	node_id TEXT NOT NULL,
	PRIMARY KEY (project_id, repository)
);
CREATE TABLE health_summaries (
	project_id TEXT NOT NULL,
	whole BIGINT NOT NULL,
	team TEXT NOT NULL,
	measured_at BIGINT NOT NULL,
	corpus_version BIGINT NOT NULL,
	rules BIGINT NOT NULL,
	in_force BIGINT NOT NULL,
	asked BIGINT NOT NULL,
	never_asked BIGINT NOT NULL,
	dormant BIGINT NOT NULL,
	score_sum BIGINT NOT NULL,
	band0 BIGINT NOT NULL,
	band1 BIGINT NOT NULL,
	band2 BIGINT NOT NULL,
	band3 BIGINT NOT NULL,
	band4 BIGINT NOT NULL,
	PRIMARY KEY (project_id, whole, team)
);
CREATE TABLE console_signouts (
	project_id TEXT NOT NULL,
	issuer TEXT NOT NULL,
	token_id TEXT NOT NULL,
	subject TEXT NOT NULL,
	sid TEXT NOT NULL,
	at BIGINT NOT NULL,
	keep_until BIGINT NOT NULL,
	PRIMARY KEY (project_id, issuer, token_id)
);
CREATE TABLE servers (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	started_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE audit_tiles (
	project_id TEXT NOT NULL,
	level BIGINT NOT NULL,
	n BIGINT NOT NULL,
	hashes BLOB NOT NULL,
	PRIMARY KEY (project_id, level, n)
);
CREATE TABLE audit_checkpoints (
	project_id TEXT NOT NULL,
	origin TEXT NOT NULL,
	size BIGINT NOT NULL,
	at BIGINT NOT NULL,
	note TEXT NOT NULL,
	witnessed BOOLEAN NOT NULL,
	PRIMARY KEY (project_id, origin, size)
);
CREATE TABLE count_names (
	project_id TEXT NOT NULL,
	noun TEXT NOT NULL,
	number BIGINT NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (project_id, noun, number)
);
CREATE TABLE packed_counts (
	project_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	day BIGINT NOT NULL,
	block BIGINT NOT NULL,
	counts BLOB NOT NULL,
	PRIMARY KEY (project_id, kind, day, block)
);
CREATE TABLE approvals (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	id TEXT NOT NULL,
	revision BIGINT NOT NULL,
	link_key TEXT NOT NULL,
	state TEXT NOT NULL,
	requester TEXT NOT NULL,
	subject_hash TEXT NOT NULL,
	evaluation_id TEXT NOT NULL,
	repository TEXT NOT NULL,
	agent TEXT NOT NULL,
	scope TEXT NOT NULL,
	severity TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	ends_at BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	body TEXT NOT NULL, person TEXT NOT NULL DEFAULT '', session TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (project_id, id)
);
CREATE TABLE approval_rules (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	approval_id TEXT NOT NULL,
	PRIMARY KEY (project_id, rule_id, approval_id),
	FOREIGN KEY (project_id, approval_id) REFERENCES approvals (project_id, id)
);
CREATE TABLE agents (
	project_id TEXT NOT NULL,
	agent TEXT NOT NULL,
	person TEXT NOT NULL,
	actor TEXT NOT NULL,
	session TEXT NOT NULL,
	verified BIGINT NOT NULL,
	first_seen BIGINT NOT NULL,
	last_seen BIGINT NOT NULL,
	evaluations BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	PRIMARY KEY (project_id, agent, person)
);
CREATE TABLE suspensions (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	agent TEXT NOT NULL,
	person TEXT NOT NULL,
	agent_key TEXT NOT NULL,
	person_key TEXT NOT NULL,
	reason TEXT NOT NULL,
	suspended_at BIGINT NOT NULL,
	suspended_by TEXT NOT NULL,
	lifted_at BIGINT,
	lifted_by TEXT NOT NULL,
	lift_reason TEXT NOT NULL,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE bundles (
	project_id TEXT NOT NULL,
	environment TEXT NOT NULL,
	seq BIGINT NOT NULL,
	action TEXT NOT NULL,
	snapshot_id TEXT NOT NULL,
	root TEXT NOT NULL,
	rules BIGINT NOT NULL,
	at BIGINT NOT NULL,
	raw_hash TEXT NOT NULL,
	raw_size BIGINT NOT NULL,
	hash TEXT NOT NULL,
	body BLOB NOT NULL,
	PRIMARY KEY (project_id, environment, seq)
);
CREATE TABLE edges (
	project_id TEXT NOT NULL,
	name TEXT NOT NULL,
	verifier TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	report BLOB NOT NULL,
	orders BLOB NOT NULL,
	received_seq BIGINT NOT NULL,
	received_hash TEXT NOT NULL,
	unknown BIGINT NOT NULL, forgotten_at BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (project_id, name)
);
CREATE TABLE edge_entries (
	project_id TEXT NOT NULL,
	edge TEXT NOT NULL,
	seq BIGINT NOT NULL,
	id TEXT NOT NULL,
	kind TEXT NOT NULL,
	at BIGINT NOT NULL,
	actor TEXT NOT NULL,
	verdict TEXT NOT NULL,
	mode TEXT NOT NULL,
	body BLOB NOT NULL,
	body_hash TEXT NOT NULL,
	prev_hash TEXT NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (project_id, edge, seq)
);
CREATE TABLE verdict_epochs (
	project_id TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	PRIMARY KEY (project_id)
);
CREATE TABLE "alerts" (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	type TEXT NOT NULL,
	status TEXT NOT NULL,
	rule_id TEXT,
	subject TEXT NOT NULL,
	message TEXT NOT NULL,
	metadata TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	acknowledged_at BIGINT,
	acknowledged_by TEXT NOT NULL,
	resolved_at BIGINT,
	resolved_by TEXT NOT NULL,
	resolution_note TEXT NOT NULL, acted TEXT NOT NULL DEFAULT '[]',
	PRIMARY KEY (project_id, id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);
CREATE TABLE figure_changes (
	project_id TEXT NOT NULL,
	noun TEXT NOT NULL,
	n BIGINT NOT NULL,
	PRIMARY KEY (project_id, noun)
);
CREATE TABLE export_positions (
	project_id TEXT NOT NULL,
	place TEXT NOT NULL,
	seq BIGINT NOT NULL,
	PRIMARY KEY (project_id, place)
);
CREATE TABLE retention (
	project_id TEXT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (project_id)
);
CREATE TABLE queue_versions (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	kind TEXT NOT NULL,
	version BIGINT NOT NULL,
	PRIMARY KEY (project_id, kind)
);
CREATE TABLE conflicts_left_out (
	project_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	pairs BIGINT NOT NULL,
	brought BIGINT NOT NULL,
	PRIMARY KEY (project_id, rule_id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);
CREATE TABLE alert_names (
	project_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	alert_id TEXT NOT NULL,
	PRIMARY KEY (project_id, kind, name, alert_id),
	FOREIGN KEY (project_id, alert_id) REFERENCES alerts (project_id, id)
);
CREATE TABLE samples (
	project_id TEXT NOT NULL REFERENCES projects (project_id),
	evaluation_id TEXT NOT NULL,
	rule_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	rule_version BIGINT NOT NULL,
	content_hash TEXT NOT NULL,
	said TEXT NOT NULL,
	judged TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (project_id, evaluation_id, rule_id, kind)
);
CREATE TABLE personal_keys (
	project_id TEXT NOT NULL,
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	wrapped_by TEXT NOT NULL,
	wrapped BLOB NOT NULL,
	created_at BIGINT NOT NULL,
	forgotten_at BIGINT,
	PRIMARY KEY (project_id, id)
);
CREATE TABLE retired_privacy_keys (
	project_id TEXT NOT NULL,
	name TEXT NOT NULL,
	retired_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, name)
);
CREATE UNIQUE INDEX rules_by_slug ON rules (project_id, slug) WHERE slug <> '' AND status <> 'RETIRED';
CREATE INDEX rules_by_change ON rules (project_id, corpus_version);
CREATE INDEX relationships_by_target ON relationships (project_id, to_id);
CREATE UNIQUE INDEX audit_entries_by_id ON audit_entries (project_id, id);
CREATE INDEX audit_entries_by_kind ON audit_entries (project_id, kind, seq, verdict, mode, actor, at);
CREATE INDEX verdicts_by_age ON verdicts (project_id, created_at, size);
CREATE UNIQUE INDEX submissions_by_key ON submissions (project_id, idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX submissions_by_age ON submissions (project_id, created_at);
CREATE INDEX feedback_by_rule ON feedback (project_id, rule_id, content_hash, verdict, judged, correct);
CREATE INDEX embeddings_by_change ON embeddings (project_id, model, corpus_version);
CREATE INDEX documents_by_time ON documents (project_id, uploaded_at, id);
CREATE INDEX documents_by_model ON documents (project_id, embedding_model);
CREATE INDEX document_vectors_by_document ON document_vectors (project_id, document_id);
CREATE INDEX nodes_by_change ON nodes (project_id, corpus_version);
CREATE INDEX node_rules_by_change ON node_rules (project_id, corpus_version);
CREATE UNIQUE INDEX jobs_by_id ON jobs (project_id, id);
CREATE UNIQUE INDEX jobs_waiting ON jobs (project_id, kind, unique_key) WHERE unique_key <> '' AND state = 'queued';
CREATE UNIQUE INDEX jobs_at_work ON jobs (project_id, kind, unique_key) WHERE unique_key <> '' AND state = 'running';
CREATE INDEX jobs_due ON jobs (priority, run_at, id) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';
CREATE INDEX jobs_ended ON jobs (finished_at) WHERE state IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX jobs_by_kind ON jobs (project_id, kind, state, id);
CREATE INDEX snapshots_by_time ON snapshots (project_id, created_at, id);
CREATE UNIQUE INDEX deployments_by_key ON deployments (project_id, request_key) WHERE request_key <> '';
CREATE INDEX runs_by_time ON runs (created_at);
CREATE INDEX scans_by_time ON scans (project_id, created_at, id);
CREATE INDEX scans_open ON scans (created_at) WHERE state = 'open';
CREATE UNIQUE INDEX candidates_by_scan ON candidates (project_id, scan_id, n);
CREATE INDEX candidates_pending ON candidates (project_id, repository, fingerprint) WHERE status = 'pending';
CREATE INDEX rule_counts_by_rule ON rule_counts (project_id, rule_id, day);
CREATE UNIQUE INDEX conflicts_by_rules ON conflicts (project_id, low_id, high_id);
CREATE INDEX conflicts_by_other ON conflicts (project_id, high_id);
CREATE INDEX conflicts_by_time ON conflicts (project_id, detected_at, id);
CREATE UNIQUE INDEX webhook_deliveries_by_event ON webhook_deliveries (project_id, event_id, policy_id);
CREATE INDEX webhook_deliveries_by_policy ON webhook_deliveries (project_id, policy_id, id);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (project_id, policy_id, id, next_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_expiring ON webhook_deliveries (expires_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE state <> 'pending';
CREATE INDEX waivers_by_time ON waivers (project_id, created_at, id);
CREATE INDEX console_sessions_by_end ON console_sessions (project_id, expires_at);
CREATE INDEX queue_marks_open ON queue_marks (project_id, kind, id) WHERE settled_at IS NULL;
CREATE INDEX rules_in_review ON rules (project_id, corpus_version, id) WHERE status = 'REVIEW';
CREATE INDEX candidates_waiting ON candidates (project_id, scan_id, n) WHERE status = 'pending';
CREATE INDEX conflicts_waiting ON conflicts (project_id, detected_at, id) WHERE state = 'suggested';
CREATE INDEX waivers_waiting ON waivers (project_id, created_at, id) WHERE approved_at IS NULL AND revoked_at IS NULL;
CREATE INDEX audit_entries_waiting ON audit_entries (project_id, at, seq) WHERE verdict = 'NEEDS_CONFIRMATION';
CREATE INDEX rule_revisions_by_state ON rule_revisions (project_id, state, created_at, rule_id, number);
CREATE INDEX rule_revisions_waiting ON rule_revisions (created_at, project_id, rule_id, number) WHERE state = 'pending';
CREATE INDEX candidates_by_file ON candidates (project_id, scan_id, source_file, status);
CREATE INDEX candidates_merged ON candidates (project_id, merged_into) WHERE merged_into <> '';
CREATE INDEX candidates_excluded ON candidates (project_id, exclusion_id) WHERE exclusion_id <> '';
CREATE INDEX scans_ended ON scans (ended_at) WHERE pruned_at IS NULL;
CREATE UNIQUE INDEX scan_exclusions_by_path ON scan_exclusions (project_id, repository, path);
CREATE INDEX repository_counts_by_time ON repository_counts (project_id, last_at, repository);
CREATE INDEX repository_counts_by_node ON repository_counts (project_id, node_id, last_at, repository);
CREATE INDEX rule_health_by_standing ON rule_health (project_id, standing, idle_since, rule_id);
CREATE INDEX waivers_by_end ON waivers (project_id, expires_at, id);
CREATE INDEX console_signouts_by_subject ON console_signouts (project_id, issuer, subject, at);
CREATE INDEX console_signouts_by_sid ON console_signouts (project_id, issuer, sid, at);
CREATE INDEX console_signouts_by_end ON console_signouts (project_id, keep_until);
CREATE INDEX jobs_newest ON jobs (id);
CREATE INDEX jobs_failed ON jobs (kind, id) WHERE state = 'failed';
CREATE INDEX deployments_by_time ON deployments (project_id, at);
CREATE INDEX runs_by_kind ON runs (project_id, kind, created_at);
CREATE INDEX audit_checkpoints_by_size ON audit_checkpoints (project_id, size);
CREATE UNIQUE INDEX count_names_by_name ON count_names (project_id, noun, name);
CREATE INDEX group_counts_by_name ON group_counts (project_id, dimension, name, day, allowed, denied, unsure);
CREATE INDEX part_counts_by_name ON part_counts (project_id, dimension, name, day, part, n);
CREATE INDEX rules_in_review_of_all ON rules (corpus_version, id) WHERE status = 'REVIEW';
CREATE INDEX candidates_waiting_of_all ON candidates (scan_id, n) WHERE status = 'pending';
CREATE INDEX conflicts_waiting_of_all ON conflicts (detected_at, id) WHERE state = 'suggested';
CREATE INDEX audit_entries_waiting_of_all ON audit_entries (at, seq) WHERE verdict = 'NEEDS_CONFIRMATION';
CREATE INDEX approvals_open ON approvals (project_id, subject_hash) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_due ON approvals (due_at) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_by_state ON approvals (project_id, state, id);
CREATE INDEX approvals_by_evaluation ON approvals (project_id, evaluation_id);
CREATE INDEX approvals_by_requester ON approvals (project_id, requester, id);
CREATE INDEX agents_by_time ON agents (project_id, last_seen);
CREATE UNIQUE INDEX suspensions_in_force ON suspensions (project_id, agent_key, person_key) WHERE lifted_at IS NULL;
CREATE INDEX api_keys_by_hash ON api_keys (hash);
CREATE UNIQUE INDEX api_keys_by_project ON api_keys (project_id, hash);
CREATE UNIQUE INDEX edge_entries_by_id ON edge_entries (project_id, id);
CREATE UNIQUE INDEX alerts_open ON alerts (project_id, type, subject) WHERE status <> 'resolved';
CREATE INDEX alerts_by_time ON alerts (project_id, created_at, id);
CREATE INDEX alerts_by_state ON alerts (project_id, status, type, created_at, id);
CREATE INDEX alerts_resolved ON alerts (project_id, type, resolved_at) WHERE status = 'resolved';
CREATE INDEX rule_health_by_score ON rule_health (project_id, score, rule_id, standing);
CREATE INDEX rule_health_by_owner ON rule_health (project_id, owner, score, rule_id, standing);
CREATE INDEX conflicts_by_strength ON conflicts (project_id, confidence, detected_at DESC, id DESC) WHERE state = 'suggested';
CREATE INDEX samples_by_time ON samples (project_id, at);
CREATE UNIQUE INDEX personal_keys_by_name ON personal_keys (project_id, name);
CREATE INDEX jobs_by_turns ON jobs (priority, project_id, run_at, id) WHERE state = 'queued';
CREATE TRIGGER snapshots_frozen_update BEFORE UPDATE ON snapshots BEGIN SELECT RAISE(ABORT, 'rows of snapshots never change'); END;
CREATE TRIGGER snapshots_frozen_delete BEFORE DELETE ON snapshots BEGIN SELECT RAISE(ABORT, 'rows of snapshots never change'); END;
CREATE TRIGGER deployments_frozen_update BEFORE UPDATE ON deployments BEGIN SELECT RAISE(ABORT, 'rows of deployments never change'); END;
CREATE TRIGGER deployments_frozen_delete BEFORE DELETE ON deployments BEGIN SELECT RAISE(ABORT, 'rows of deployments never change'); END;
CREATE TRIGGER snapshot_approvals_frozen_update BEFORE UPDATE ON snapshot_approvals BEGIN SELECT RAISE(ABORT, 'rows of snapshot_approvals never change'); END;
CREATE TRIGGER snapshot_approvals_frozen_delete BEFORE DELETE ON snapshot_approvals BEGIN SELECT RAISE(ABORT, 'rows of snapshot_approvals never change'); END;
