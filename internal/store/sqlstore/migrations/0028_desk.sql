-- The file that a candidate was found in first, the lines round that place, the candidate that it was merged into, and the exclusion that has
-- dismissed it.
ALTER TABLE candidates ADD COLUMN source_file {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN excerpt {{.Blob}};
ALTER TABLE candidates ADD COLUMN merged_into {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN exclusion_id {{.Text}} NOT NULL DEFAULT '';

UPDATE candidates SET source_file = COALESCE({{if .Vector}}CAST(body AS JSON)->>'source_file'{{else}}json_extract(body, '$.source_file'){{end}}, '');

CREATE INDEX candidates_by_file ON candidates (project_id, scan_id, source_file, status);

CREATE INDEX candidates_merged ON candidates (project_id, merged_into) WHERE merged_into <> '';

CREATE INDEX candidates_excluded ON candidates (project_id, exclusion_id) WHERE exclusion_id <> '';

-- When retention has removed the undecided and dismissed candidates of a scan.
ALTER TABLE scans ADD COLUMN pruned_at BIGINT;

CREATE INDEX scans_ended ON scans (ended_at) WHERE pruned_at IS NULL;

-- Folders and files that scans leave out; an empty repository means all of the project.
CREATE TABLE scan_exclusions (
	project_id {{.Text}} NOT NULL REFERENCES projects (project_id),
	id {{.Text}} NOT NULL,
	repository {{.Text}} NOT NULL,
	path {{.Text}} NOT NULL,
	reason TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, id)
);

CREATE UNIQUE INDEX scan_exclusions_by_path ON scan_exclusions (project_id, repository, path);
