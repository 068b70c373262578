-- Approvals are found by the person for whom an agent acts, and by its session.
ALTER TABLE approvals ADD COLUMN person {{.Text}} NOT NULL DEFAULT '';

ALTER TABLE approvals ADD COLUMN session {{.Text}} NOT NULL DEFAULT '';

UPDATE approvals SET person = COALESCE({{if .Vector}}CAST(body AS JSON)->>'person'{{else}}json_extract(body, '$.person'){{end}}, ''),
	session = COALESCE({{if .Vector}}CAST(body AS JSON)->>'session'{{else}}json_extract(body, '$.session'){{end}}, '');
