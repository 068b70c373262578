-- Why a snapshot was deployed, or a deployment taken back.
ALTER TABLE deployments ADD COLUMN reason TEXT NOT NULL DEFAULT '';

CREATE INDEX deployments_by_time ON deployments (project_id, at);

-- The newest runs of a kind.
CREATE INDEX runs_by_kind ON runs (project_id, kind, created_at);
