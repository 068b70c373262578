CREATE TABLE embeddings (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	model {{.Text}} NOT NULL,
	text_hash {{.Text}} NOT NULL,
	corpus_version BIGINT NOT NULL,
	vector {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, model, text_hash)
);

CREATE INDEX embeddings_by_change ON embeddings (project_id, model, corpus_version);
