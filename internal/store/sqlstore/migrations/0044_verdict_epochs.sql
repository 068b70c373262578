-- How often stored verdicts of a project were deleted on request. Nodes follow it, and forget what they have in memory.
CREATE TABLE verdict_epochs (
	project_id {{.Text}} NOT NULL,
	epoch BIGINT NOT NULL,
	PRIMARY KEY (project_id)
);
