-- Who has approved that a rule, attached to a node, weakens something, where the project demands two people.
ALTER TABLE node_rules ADD COLUMN approved_by {{.Text}};
