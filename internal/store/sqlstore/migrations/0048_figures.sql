-- How often the figures of a project's rules have changed, by noun: their health scores, and their test cases. Nodes that have figures in
-- memory read it to learn whether these are still right.
CREATE TABLE figure_changes (
	project_id {{.Text}} NOT NULL,
	noun {{.Text}} NOT NULL,
	n BIGINT NOT NULL,
	PRIMARY KEY (project_id, noun)
);

-- Lists by score leave out rules that have ended: with their standing in the index, a count reads the index alone.
DROP INDEX rule_health_by_score;

CREATE INDEX rule_health_by_score ON rule_health (project_id, score, rule_id, standing);

DROP INDEX rule_health_by_owner;

CREATE INDEX rule_health_by_owner ON rule_health (project_id, owner, score, rule_id, standing);
