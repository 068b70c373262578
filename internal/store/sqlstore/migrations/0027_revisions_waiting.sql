-- Revisions that wait are a small part of their table, and the queue asks for those of all projects.
CREATE INDEX rule_revisions_waiting ON rule_revisions (created_at, project_id, rule_id, number) WHERE state = 'pending';
