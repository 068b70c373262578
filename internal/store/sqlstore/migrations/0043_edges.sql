-- The edges of a project, and the entries of their audit chains.
CREATE TABLE edges (
	project_id {{.Text}} NOT NULL,
	name {{.Text}} NOT NULL,
	verifier {{.Text}} NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	report {{.Blob}} NOT NULL,
	orders {{.Blob}} NOT NULL,
	received_seq BIGINT NOT NULL,
	received_hash {{.Text}} NOT NULL,
	unknown BIGINT NOT NULL,
	PRIMARY KEY (project_id, name)
);

CREATE TABLE edge_entries (
	project_id {{.Text}} NOT NULL,
	edge {{.Text}} NOT NULL,
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
	PRIMARY KEY (project_id, edge, seq)
);

CREATE UNIQUE INDEX edge_entries_by_id ON edge_entries (project_id, id);
