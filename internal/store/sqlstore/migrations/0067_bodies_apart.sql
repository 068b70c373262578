-- The bodies of evaluations, apart from their entries, in partitions by time, which a background job makes ahead and drops. Bodies that were recorded before, or at
-- a time for which there is no partition, stay in audit_entries. SQLite keeps all of them there.
{{if .Vector}}
CREATE TABLE audit_bodies (
	project_id {{.Text}} NOT NULL,
	seq BIGINT NOT NULL,
	at BIGINT NOT NULL,
	body {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, seq, at)
) PARTITION BY RANGE (at);

-- They are compressed already.
ALTER TABLE audit_bodies ALTER COLUMN body SET STORAGE EXTERNAL;
{{end}}
