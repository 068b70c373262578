package rule

import "encoding/json"

// ImportResult tells what an import did, or would do.
type ImportResult struct {
	Created   int            `json:"created" doc:"Rules created."`
	Updated   int            `json:"updated" doc:"Rules that got a new version."`
	Unchanged int            `json:"unchanged" doc:"Rules that were as the file says already."`
	Retired   int            `json:"retired" doc:"Rules retired because the file does not name them."`
	DryRun    bool           `json:"dry_run" doc:"True if nothing was changed."`
	Changes   []ImportChange `json:"changes" nullable:"false" doc:"What changes, in the order of the file."`
}

// ImportChange is what an import does to one rule.
type ImportChange struct {
	Action    string        `json:"action" enum:"create,update,retire" doc:"create, update or retire."`
	RuleID    string        `json:"rule_id" doc:"The rule; for a dry run of a creation, an id that will differ."`
	Version   int           `json:"version" doc:"The version that the change makes."`
	Slug      string        `json:"slug,omitempty" doc:"Its slug."`
	Statement string        `json:"statement" doc:"Its statement."`
	Fields    []FieldChange `json:"fields,omitempty" doc:"Fields that change in an update."`
}

// FieldChange is a field in which two versions of a rule differ.
type FieldChange struct {
	Field  string          `json:"field" doc:"Name of the field."`
	Before json.RawMessage `json:"before,omitempty" doc:"Value before."`
	After  json.RawMessage `json:"after,omitempty" doc:"Value after."`
}
