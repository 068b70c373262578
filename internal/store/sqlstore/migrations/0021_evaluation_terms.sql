-- How far the audit chain of a project is indexed, and up to which entry retention has removed records.
CREATE TABLE term_marks (
	project_id {{.Text}} PRIMARY KEY REFERENCES projects (project_id),
	seq BIGINT NOT NULL,
	pruned BIGINT NOT NULL
);

-- A block is a run of 7,168 entries of a chain. Terms of records up to forgotten are removed.
CREATE TABLE term_blocks (
	project_id {{.Text}} NOT NULL,
	block BIGINT NOT NULL,
	from_at BIGINT NOT NULL,
	until_at BIGINT NOT NULL,
	forgotten BIGINT NOT NULL,
	PRIMARY KEY (project_id, block)
);

-- The entries of a block that have a term, as a set; see package store. The block comes before the term, so that the newest records
-- are written into one small part of the table.
CREATE TABLE evaluation_terms (
	project_id {{.Text}} NOT NULL,
	block BIGINT NOT NULL,
	term BIGINT NOT NULL,
	entries {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, block, term)
){{.Clustered}};
