-- Verdicts of a rule that triage gave. Those from before there was triage have none.
ALTER TABLE rule_counts ADD COLUMN by_triage BIGINT NOT NULL DEFAULT 0;
