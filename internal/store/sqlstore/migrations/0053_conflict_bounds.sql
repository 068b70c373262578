-- Contradictions of a rule that were found when it was last compared with others, and that are not stored because of the bounds on suggestions:
-- all, and those of them that the rule brought.
CREATE TABLE conflicts_left_out (
	project_id {{.Text}} NOT NULL,
	rule_id {{.Text}} NOT NULL,
	pairs BIGINT NOT NULL,
	brought BIGINT NOT NULL,
	PRIMARY KEY (project_id, rule_id),
	FOREIGN KEY (project_id, rule_id) REFERENCES rules (project_id, id)
);

CREATE INDEX conflicts_by_strength ON conflicts (project_id, confidence, detected_at DESC, id DESC) WHERE state = 'suggested';
