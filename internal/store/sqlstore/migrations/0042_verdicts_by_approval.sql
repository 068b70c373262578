-- Verdicts that people have confirmed. Those counted before this have none.
ALTER TABLE rule_counts ADD COLUMN by_approval BIGINT NOT NULL DEFAULT 0;

ALTER TABLE day_counts ADD COLUMN by_approval BIGINT NOT NULL DEFAULT 0;
