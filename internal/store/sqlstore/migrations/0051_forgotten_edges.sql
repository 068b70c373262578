-- When an edge was forgotten, in microseconds; 0 for those in use. Its row stays, so that its name and key are refused.
ALTER TABLE edges ADD COLUMN forgotten_at BIGINT NOT NULL DEFAULT 0;
