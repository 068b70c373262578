-- Names of what packed counts count, by numbers: rules that were denied or asked of models, and federation nodes.
CREATE TABLE count_names (
	project_id {{.Text}} NOT NULL,
	noun {{.Text}} NOT NULL,
	number BIGINT NOT NULL,
	name {{.Text}} NOT NULL,
	PRIMARY KEY (project_id, noun, number)
);

CREATE UNIQUE INDEX count_names_by_name ON count_names (project_id, noun, name);

-- The counts of a day for 16,384 numbers, packed: sums over many days are made of a few rows instead of millions.
CREATE TABLE packed_counts (
	project_id {{.Text}} NOT NULL,
	kind {{.Text}} NOT NULL,
	day BIGINT NOT NULL,
	block BIGINT NOT NULL,
	counts {{.Blob}} NOT NULL,
	PRIMARY KEY (project_id, kind, day, block)
);

-- These were for the sums that packed counts have now.
DROP INDEX rule_counts_denied;

DROP INDEX rule_counts_called;

-- With all columns, the index of one name is taken before the key, which would walk the rows of all names.
DROP INDEX group_counts_by_name;

CREATE INDEX group_counts_by_name ON group_counts (project_id, dimension, name, day, allowed, denied, unsure);

DROP INDEX part_counts_by_name;

CREATE INDEX part_counts_by_name ON part_counts (project_id, dimension, name, day, part, n);
