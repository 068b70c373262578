package rule

import "encoding/json"

// ImportResult holds the changes that an import made, or would make.
type ImportResult struct {
	Created   int            `json:"created" doc:"Rules created."`
	Updated   int            `json:"updated" doc:"Rules that got a new version."`
	Proposed  int            `json:"proposed" doc:"Rules in force for which a new version was proposed: it waits for the approval of a second person."`
	Unchanged int            `json:"unchanged" doc:"Rules that were as the file says already."`
	Retired   int            `json:"retired" doc:"Rules retired because the file does not name them."`
	DryRun    bool           `json:"dry_run" doc:"True if nothing was changed."`
	Changes   []ImportChange `json:"changes" nullable:"false" doc:"What changes, in the order of the file; what is proposed after it."`
	Waiting   []ImportChange `json:"waiting,omitempty" nullable:"false" doc:"Changes of the file that the caller has proposed before, and that still wait; absent without any."`
	// Federation lists the changes of federation nodes.
	Federation []NodeChange `json:"federation" nullable:"false" doc:"What changes of the federation, parents before their children."`
	// Silenced is nil if no rule ends.
	Silenced *Silenced   `json:"silenced,omitempty" doc:"Rules in force that end somewhere by the changes of federation nodes; absent without any."`
	Cases    CaseChanges `json:"cases" doc:"What changes of the test cases that came with imports."`
	Notices  []string    `json:"notices,omitempty" nullable:"false" doc:"Scopes, fact names and repositories of the written rules that no other rule uses, each in a sentence with the nearest names; absent without any."`
}

// ImportChange is the change that an import makes to one rule.
type ImportChange struct {
	Action    string        `json:"action" enum:"create,update,retire,propose" doc:"create, update, retire, or propose: the change waits for the approval of a second person."`
	RuleID    string        `json:"rule_id" doc:"The rule; for a dry run of a creation, an id that will differ."`
	Version   int           `json:"version" doc:"The version that the change makes."`
	Slug      string        `json:"slug,omitempty" doc:"Its slug."`
	Statement string        `json:"statement" doc:"Its statement."`
	Fields    []FieldChange `json:"fields,omitempty" doc:"Fields that change in an update."`
	Revision  int           `json:"revision,omitempty" doc:"Number of the revision that was proposed."`
	Weakens   []string      `json:"weakens,omitempty" nullable:"false" doc:"In which ways the proposed rule would demand less, or hold in fewer places."`
}

// FieldChange is a field in which two versions of a rule differ.
type FieldChange struct {
	Field  string          `json:"field" doc:"Name of the field."`
	Before json.RawMessage `json:"before,omitempty" doc:"Value before."`
	After  json.RawMessage `json:"after,omitempty" doc:"Value after."`
}

// NodesImport is the result of importing federation nodes: the changes, and for the record the attachments made and removed.
type NodesImport struct {
	Changes            []NodeChange
	Silenced           *Silenced
	Attached, Detached []Attachment
}

// NodeChange is the change that an import makes to one federation node.
type NodeChange struct {
	Action     string           `json:"action" enum:"create,update,move,delete" doc:"create, update, move or delete."`
	NodeID     string           `json:"node_id" doc:"The node; for a dry run of a creation, an id that will differ."`
	Path       string           `json:"path" doc:"Names of the nodes on the way to it and its own, joined by /."`
	Level      Level            `json:"level" doc:"Its level."`
	Fields     []FieldChange    `json:"fields,omitempty" doc:"Fields that change in an update or move."`
	Attached   []string         `json:"attached,omitempty" doc:"Rules that are attached to it."`
	Detached   []string         `json:"detached,omitempty" doc:"Rules that are removed from it."`
	Gains      []string         `json:"gains,omitempty" doc:"Rules that come to hold at the node; what it inherits from nodes that change as well is listed there."`
	Loses      []string         `json:"loses,omitempty" doc:"Rules that no longer hold at the node."`
	Overridden []NodeOverridden `json:"overridden,omitempty" doc:"Rules that no longer hold because others replace them."`
}

// NodeOverridden names a rule and the one that comes to replace it at a node.
type NodeOverridden struct {
	Rule string `json:"rule" doc:"The overridden rule."`
	By   string `json:"by" doc:"The rule in its place."`
}
