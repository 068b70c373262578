package store

import "time"

// Dimension is the property that a group has in common.
type Dimension string

// Dimensions of groups and parts.
const (
	// OfProject has one group, with an empty name: all evaluations. Its parts are the reasons of those that are NEEDS_CONFIRMATION.
	OfProject Dimension = "project"
	// OfNode groups evaluations by the federation node whose rules were applied. Its parts are reasons too.
	OfNode Dimension = "node"
	// OfTeam groups verdicts of rules by the owner that the rule had when they were counted. Its parts are the reasons of verdicts.
	OfTeam Dimension = "team"
	// OfNodeRule has only parts: the DENY verdicts of rules, by node and rule.
	OfNodeRule Dimension = "node_rule"
	// OfAgent groups evaluations by the agent that acted. One that names two, as its key or token says and as the request says, counts for both.
	OfAgent Dimension = "agent"
	// OfPerson groups evaluations by the person for whom an agent acted.
	OfPerson Dimension = "person"
	// OfAgentRule and OfPersonRule have only parts, as OfNodeRule has.
	OfAgentRule  Dimension = "agent_rule"
	OfPersonRule Dimension = "person_rule"
	// OfChange has only parts: entries of the audit chain that are no evaluations, by kind and action.
	OfChange Dimension = "change"
)

// GroupCount counts verdicts of a group.
type GroupCount struct {
	Day                     Day // zero in sums by name
	Dimension               Dimension
	Name                    string // empty in sums by day
	Allowed, Denied, Unsure int64
}

// PartCount counts a part of a group.
type PartCount struct {
	Day        Day // zero in sums
	Dimension  Dimension
	Name, Part string
	Count      int64
}

// RepositoryCount counts the evaluations of a repository, with its latest one.
type RepositoryCount struct {
	Repository              string // in its normal form
	Allowed, Denied, Unsure int64
	FirstAt, LastAt         time.Time
	LastID                  string // of the latest evaluation
	LastVerdict             string
	NodeID                  string // node whose rules were applied; empty without one
}

// Evaluations returns the number of evaluations.
func (r *RepositoryCount) Evaluations() int64 { return r.Allowed + r.Denied + r.Unsure }

// GroupFilter selects groups for a sum. ProjectID and Dimension are required.
type GroupFilter struct {
	ProjectID   string
	Dimension   Dimension
	Name        *string // nil means all
	From, Until Day     // From <= day < Until; an Until of 0 means no bound
	Daily       bool    // sums up by day instead of by name
	Limit       int     // at most so many names; 0 means no bound
}

// PartFilter selects parts for a sum by name and part. ProjectID and Dimension are required.
type PartFilter struct {
	ProjectID   string
	Dimension   Dimension
	Name        *string // nil means all
	From, Until Day     // as in [GroupFilter]
	Limit       int     // at most so many; 0 means no bound
}

// TopFilter selects rules for a list of the highest. ProjectID and Limit are required.
type TopFilter struct {
	ProjectID   string
	From, Until Day // as in [GroupFilter]
	// Called compares the mean time of calls to models instead of the number of denials.
	Called bool
	Team   *string // only rules that the team had when they were last measured
	Limit  int
}

// RepositoryOrder is an order of repositories.
type RepositoryOrder string

// Orders of repositories. Equal ones are in the order of their names.
const (
	RepositoriesByTime   RepositoryOrder = "last"   // the latest judged first
	RepositoriesByAge    RepositoryOrder = "oldest" // the longest not judged first
	RepositoriesByDenied RepositoryOrder = "denied" // the most denials first
	RepositoriesByName   RepositoryOrder = "name"
)

// RepositoryFilter selects repositories. ProjectID and Limit are required.
type RepositoryFilter struct {
	ProjectID     string
	Words         string     // part of the name
	NodeID        *string    // node of the latest evaluation; empty selects those without one
	Before        *time.Time // not judged since
	Order         RepositoryOrder
	Offset, Limit int
}
