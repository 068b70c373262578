-- How many rules each project has and the exclusive or of the hashes of their rows, kept with each change of rules. Projects of older
-- databases have no row until they are counted.
CREATE TABLE corpus_tallies (
	project_id {{.Text}} PRIMARY KEY REFERENCES projects (project_id),
	corpus_version BIGINT NOT NULL,
	rules BIGINT NOT NULL,
	digest {{.Text}} NOT NULL
);
