package rule

import (
	"slices"
	"strings"
	"time"
)

// Level is the level of a federation node.
type Level string

// Levels. A parent's level is above its children's, so that no node can be above itself.
const (
	LevelOrganization Level = "organization"
	LevelTeam         Level = "team"
	LevelProject      Level = "project"
)

// Levels lists all levels from the highest to the lowest.
var Levels = []Level{LevelOrganization, LevelTeam, LevelProject}

// Above reports whether a node of level l may be a parent of nodes of the other level.
func (l Level) Above(other Level) bool { return slices.Index(Levels, l) < slices.Index(Levels, other) }

// Node is a place in the hierarchy of organization, team and project that rules are attached to. What is attached to a
// node holds at all nodes below it too, unless it is overridden there.
type Node struct {
	ID           string   `json:"id" kind:"record" format:"uuid" doc:"Node identifier."`
	ProjectID    string   `json:"project_id" kind:"record" doc:"Project the node belongs to."`
	Name         string   `json:"name" doc:"Node name."`
	Level        Level    `json:"level" enum:"organization,team,project" doc:"organization, team or project."`
	ParentID     *string  `json:"parent_id" nullable:"true" doc:"Parent node; null for an organization."`
	Description  string   `json:"description" doc:"What the node is."`
	DefaultScope string   `json:"default_scope" doc:"Scope of the rules attached here that have none of their own."`
	Repositories []string `json:"repositories" nullable:"false" doc:"Globs of the repositories of the node."`
	// OwnRulesOnly ends the rules that hold at all nodes because no node has them, at this node and all below it.
	OwnRulesOnly       bool       `json:"own_rules_only,omitempty" doc:"Whether only attached rules hold at the node and below it. Otherwise the enforced CRITICAL and HIGH rules that are attached to no node hold there too."`
	OwnRulesReason     string     `json:"own_rules_reason,omitempty" doc:"Why only attached rules hold."`
	OwnRulesSince      *time.Time `json:"own_rules_since,omitempty" kind:"record" doc:"Since when only attached rules hold."`
	OwnRulesBy         string     `json:"own_rules_by,omitempty" kind:"record" doc:"Actor that decided so."`
	OwnRulesApprovedBy string     `json:"own_rules_approved_by,omitempty" kind:"record" doc:"Who has approved it, where the project demands two people."`
	CreatedAt          time.Time  `json:"created_at" kind:"record" doc:"When the node was made."`
	CreatedBy          string     `json:"created_by" kind:"record" doc:"Actor that made it."`
	UpdatedAt          time.Time  `json:"updated_at" kind:"record" doc:"When the node was last changed."`
	UpdatedBy          string     `json:"updated_by" kind:"record" doc:"Actor that last changed it."`
}

// Parent is the id of the parent, empty for a root.
func (n *Node) Parent() string {
	if n.ParentID == nil {
		return ""
	}
	return *n.ParentID
}

// Normalize brings a node to its canonical form: lower-case ids and level, trimmed text, a clean default scope (* is none),
// repositories that are never nil.
func (n *Node) Normalize() {
	n.ID = strings.ToLower(n.ID)
	n.Name, n.Description = strings.TrimSpace(n.Name), strings.TrimSpace(n.Description)
	n.Level = normalEnum(n.Level, Levels, n.Level)
	if n.ParentID != nil {
		id := strings.ToLower(strings.TrimSpace(*n.ParentID))
		n.ParentID = &id
	}
	if n.Parent() == "" {
		n.ParentID = nil
	}
	if n.DefaultScope = CleanScope(n.DefaultScope); n.DefaultScope == "*" {
		n.DefaultScope = ""
	}
	n.Repositories = normalList(n.Repositories, CleanRepositoryGlob)
	if n.OwnRulesReason = strings.TrimSpace(n.OwnRulesReason); !n.OwnRulesOnly {
		n.OwnRulesReason, n.OwnRulesSince, n.OwnRulesBy, n.OwnRulesApprovedBy = "", nil, "", ""
	}
}

// Validate returns an invalid error that names every wrong field of a normalized node, or nil. Package federation checks its
// place in the tree.
func (n *Node) Validate() error {
	var p Problems
	text(&p, "name", n.Name, 1, MaxLabel)
	text(&p, "description", n.Description, 0, MaxRationale)
	enum(&p, "level", n.Level, Levels)
	text(&p, "default_scope", n.DefaultScope, 0, MaxLabel)
	labels(&p, "repositories", n.Repositories)
	text(&p, "own_rules_reason", n.OwnRulesReason, 0, MaxRationale)
	if n.OwnRulesOnly && n.OwnRulesReason == "" {
		p.Add("own_rules_reason", "is missing; say why the rules that hold at all other nodes do not hold here")
	}
	switch {
	case n.Level == LevelOrganization && n.ParentID != nil:
		p.Add("parent_id", "must be absent: an organization is a root")
	case (n.Level == LevelTeam || n.Level == LevelProject) && n.ParentID == nil:
		p.Add("parent_id", "is missing; a %s has a parent", n.Level)
	case n.ParentID != nil && !IsID(*n.ParentID):
		p.Add("parent_id", "must be a UUID")
	case n.ParentID != nil && *n.ParentID == n.ID:
		p.Add("parent_id", "is the node itself")
	}
	return p.Err("the node is invalid")
}

// Attachment is a rule's being attached to a node, perhaps in place of a rule that is attached above.
type Attachment struct {
	NodeID     string  `json:"node_id" format:"uuid" doc:"The node."`
	RuleID     string  `json:"rule_id" format:"uuid" doc:"The rule."`
	OverrideID *string `json:"override_parent_rule_id" format:"uuid" nullable:"true" doc:"Rule of an ancestor that this rule replaces."`
	// AllowWeakening lets the rule replace a CRITICAL one although it demands less; Reason says why that is right.
	AllowWeakening bool      `json:"allow_weakening" doc:"Whether the override may loosen a CRITICAL rule."`
	Reason         string    `json:"reason" doc:"Why the rule is attached or may loosen another."`
	CreatedAt      time.Time `json:"created_at" doc:"When it was attached."`
	CreatedBy      string    `json:"created_by" doc:"Actor that attached it."`
	ApprovedBy     string    `json:"approved_by,omitempty" doc:"Who has approved that something is weakened by it, where the project demands two people."`
}

// Override returns the id of the rule that the attached one replaces, or empty.
func (a *Attachment) Override() string {
	if a.OverrideID == nil {
		return ""
	}
	return *a.OverrideID
}

// NodeCounts says how many rules hold at a node, and what it changes in those of its parent.
type NodeCounts struct {
	Inherited  int `json:"inherited" doc:"Rules that hold at the node because they hold at its parent."`
	Added      int `json:"added" doc:"Rules that the node brings in."`
	Overridden int `json:"overridden" doc:"Rules that the node puts in the place of rules above it."`
	Silenced   int `json:"silenced" doc:"Rules that hold at the parent and not at the node, except those that a rule of the node names as overridden."`
	Weakened   int `json:"weakened" doc:"Those of overridden that demand less than the rule that they replace."`
	Everywhere int `json:"everywhere" doc:"Enforced CRITICAL and HIGH rules that hold at the node because no node has them."`
}
