-- Verdicts of rules by day. What is counted already follows from the counts by rule.
ALTER TABLE day_counts ADD COLUMN rules_allowed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_counts ADD COLUMN rules_denied BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_counts ADD COLUMN rules_unsure BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_counts ADD COLUMN by_check BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_counts ADD COLUMN by_model BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_counts ADD COLUMN by_cache BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_counts ADD COLUMN by_triage BIGINT NOT NULL DEFAULT 0;

UPDATE day_counts SET
	rules_allowed = COALESCE((SELECT SUM(r.allowed) FROM rule_counts AS r WHERE r.project_id = day_counts.project_id AND r.day = day_counts.day), 0),
	rules_denied = COALESCE((SELECT SUM(r.denied) FROM rule_counts AS r WHERE r.project_id = day_counts.project_id AND r.day = day_counts.day), 0),
	rules_unsure = COALESCE((SELECT SUM(r.unsure) FROM rule_counts AS r WHERE r.project_id = day_counts.project_id AND r.day = day_counts.day), 0),
	by_check = COALESCE((SELECT SUM(r.by_check) FROM rule_counts AS r WHERE r.project_id = day_counts.project_id AND r.day = day_counts.day), 0),
	by_model = COALESCE((SELECT SUM(r.by_model) FROM rule_counts AS r WHERE r.project_id = day_counts.project_id AND r.day = day_counts.day), 0),
	by_cache = COALESCE((SELECT SUM(r.by_cache) FROM rule_counts AS r WHERE r.project_id = day_counts.project_id AND r.day = day_counts.day), 0),
	by_triage = COALESCE((SELECT SUM(r.by_triage) FROM rule_counts AS r WHERE r.project_id = day_counts.project_id AND r.day = day_counts.day), 0);

-- Rules that deny, and rules that models are asked about, are few among those with verdicts.
CREATE INDEX rule_counts_denied ON rule_counts (project_id, day, rule_id, denied) WHERE denied > 0;

CREATE INDEX rule_counts_called ON rule_counts (project_id, day, rule_id, calls, call_ms, tokens) WHERE calls > 0;

-- Verdicts by federation node (of evaluations) and by team (of rules).
CREATE TABLE group_counts (
	project_id {{.Text}} NOT NULL,
	dimension {{.Text}} NOT NULL,
	day BIGINT NOT NULL,
	name {{.Text}} NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	PRIMARY KEY (project_id, dimension, day, name)
){{.Clustered}};

CREATE INDEX group_counts_by_name ON group_counts (project_id, dimension, name, day);

-- Parts of what a group has: why verdicts are undecided, which rules deny, which changes were recorded.
CREATE TABLE part_counts (
	project_id {{.Text}} NOT NULL,
	dimension {{.Text}} NOT NULL,
	day BIGINT NOT NULL,
	name {{.Text}} NOT NULL,
	part {{.Text}} NOT NULL,
	n BIGINT NOT NULL,
	PRIMARY KEY (project_id, dimension, day, name, part)
){{.Clustered}};

CREATE INDEX part_counts_by_name ON part_counts (project_id, dimension, name, day);

-- Each repository that was judged. The columns from last_at on are those of its latest evaluation.
CREATE TABLE repository_counts (
	project_id {{.Text}} NOT NULL,
	repository {{.Text}} NOT NULL,
	allowed BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	unsure BIGINT NOT NULL,
	first_at BIGINT NOT NULL,
	last_at BIGINT NOT NULL,
	last_id {{.Text}} NOT NULL,
	last_verdict {{.Text}} NOT NULL,
	node_id {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, repository)
);

CREATE INDEX repository_counts_by_time ON repository_counts (project_id, last_at, repository);

CREATE INDEX repository_counts_by_node ON repository_counts (project_id, node_id, last_at, repository);

-- Entries up to fill_until were counted before there were these groups; those up to filled have been counted by them since.
ALTER TABLE count_marks ADD COLUMN filled BIGINT NOT NULL DEFAULT 0;
ALTER TABLE count_marks ADD COLUMN fill_until BIGINT NOT NULL DEFAULT 0;
UPDATE count_marks SET fill_until = seq;

-- What else is measured of a rule: its owner, whether it is asked (-1 of rules that have ended), and for those that are not, since when.
ALTER TABLE rule_health ADD COLUMN owner {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE rule_health ADD COLUMN standing BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rule_health ADD COLUMN idle_since BIGINT NOT NULL DEFAULT 0;

CREATE INDEX rule_health_by_score ON rule_health (project_id, score, rule_id);

CREATE INDEX rule_health_by_standing ON rule_health (project_id, standing, idle_since, rule_id);

CREATE INDEX rule_health_by_owner ON rule_health (project_id, owner, score, rule_id);

-- Sums over the rules of a project (whole = 1) and of each of its teams, as last measured. asked is 0 where it is unknown which rules are asked.
CREATE TABLE health_summaries (
	project_id {{.Text}} NOT NULL,
	whole BIGINT NOT NULL,
	team {{.Text}} NOT NULL,
	measured_at BIGINT NOT NULL,
	corpus_version BIGINT NOT NULL,
	rules BIGINT NOT NULL,
	in_force BIGINT NOT NULL,
	asked BIGINT NOT NULL,
	never_asked BIGINT NOT NULL,
	dormant BIGINT NOT NULL,
	score_sum BIGINT NOT NULL,
	band0 BIGINT NOT NULL,
	band1 BIGINT NOT NULL,
	band2 BIGINT NOT NULL,
	band3 BIGINT NOT NULL,
	band4 BIGINT NOT NULL,
	PRIMARY KEY (project_id, whole, team)
);

CREATE INDEX waivers_by_end ON waivers (project_id, expires_at, id);

-- Recorded evaluations are now found by why they are undecided, too: they are indexed again.
DELETE FROM evaluation_terms;
DELETE FROM term_blocks;
UPDATE term_marks SET seq = 0;
