CREATE TABLE documents (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	filename {{.Text}} NOT NULL,
	mime_type {{.Text}} NOT NULL,
	title {{.Text}} NOT NULL,
	document_type {{.Text}} NOT NULL,
	sha256 {{.Text}} NOT NULL,
	size_bytes BIGINT NOT NULL,
	uploaded_by {{.Text}} NOT NULL,
	uploaded_at BIGINT NOT NULL,
	pages BIGINT NOT NULL,
	characters BIGINT NOT NULL,
	chunks BIGINT NOT NULL,
	embedding_model {{.Text}} NOT NULL,
	{{if not .Vector}}number INTEGER UNIQUE, -- of the document in document_terms{{end}}
	PRIMARY KEY (project_id, id),
	UNIQUE (project_id, sha256)
);

CREATE INDEX documents_by_time ON documents (project_id, uploaded_at, id);

CREATE INDEX documents_by_model ON documents (project_id, embedding_model);

CREATE TABLE document_contents (
	project_id {{.Text}} NOT NULL,
	document_id {{.Text}} NOT NULL,
	content {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, document_id),
	FOREIGN KEY (project_id, document_id) REFERENCES documents (project_id, id)
);

CREATE TABLE document_chunks (
	project_id {{.Text}} NOT NULL,
	document_id {{.Text}} NOT NULL,
	n BIGINT NOT NULL, -- 0 are the names of the document
	section TEXT NOT NULL,
	page BIGINT NOT NULL,
	line BIGINT NOT NULL,
	text TEXT NOT NULL,
	{{if .Vector}}terms TSVECTOR NOT NULL,{{end}}
	PRIMARY KEY (project_id, document_id, n),
	FOREIGN KEY (project_id, document_id) REFERENCES documents (project_id, id)
);

{{if .Vector}}
CREATE INDEX document_terms ON document_chunks USING GIN (terms);
{{else}}
-- The full text of document_chunks; the rowid is made of the document's number and n. The words come as they are to be compared,
-- see package document.
CREATE VIRTUAL TABLE document_terms USING fts5 (project, words, wholes, content = '', contentless_delete = 1, tokenize = 'ascii');
{{end}}

-- The vectors of the chunks n, n+1 and so on, after one another.
CREATE TABLE document_vectors (
	project_id {{.Text}} NOT NULL,
	model {{.Text}} NOT NULL,
	document_id {{.Text}} NOT NULL,
	n BIGINT NOT NULL,
	vectors {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, model, document_id, n),
	FOREIGN KEY (project_id, document_id) REFERENCES documents (project_id, id)
);

CREATE INDEX document_vectors_by_document ON document_vectors (project_id, document_id);
