package store

import (
	"context"
	"time"

	"tenet/internal/rule"
)

// MaxAgents bounds the agents of a project that are stored; those that were not seen for longest go first.
const MaxAgents = 10_000

// SeenAgent is an agent that has asked for evaluations for a person.
type SeenAgent struct {
	ProjectID   string
	Agent       string
	Person      string // empty if nobody is named
	Actor       string // that asked last
	Session     string // the last one
	Verified    bool   // a key or a token has named the agent at least once
	FirstSeen   time.Time
	LastSeen    time.Time
	Evaluations int64
	Denied      int64
}

// AgentFilter selects agents of a project. Empty fields select everything.
type AgentFilter struct {
	ProjectID     string
	Words         string // part of the agent's or the person's name, in any letter case
	Offset, Limit int
}

// SuspensionFilter selects suspensions. ProjectID is a project, whose list has those for all projects too, or [AllProjects].
type SuspensionFilter struct {
	ProjectID     string
	InForce       bool // only those that are not lifted
	Offset, Limit int
}

// AgentReader reads the agents that act, and their suspensions.
type AgentReader interface {
	// Find returns a page of agents, the last seen first, and the total.
	Find(ctx context.Context, f AgentFilter) ([]SeenAgent, int, error)
	// Suspended lists the suspensions in force of all projects, newest first.
	Suspended(ctx context.Context) ([]rule.Suspension, error)
	// Suspensions returns a page of suspensions, newest first, and the total.
	Suspensions(ctx context.Context, f SuspensionFilter) ([]rule.Suspension, int, error)
}

// AgentTx writes them.
type AgentTx interface {
	AgentReader

	// See adds what was seen of agents: the counts are added, and the rest replaces what was seen earlier. It removes agents beyond
	// [MaxAgents].
	See(ctx context.Context, list []SeenAgent) error
	// Suspend stores a suspension; conflict if one in force is about the same agent and person in the project.
	Suspend(ctx context.Context, s rule.Suspension) error
	// Lift lifts a suspension and returns it; not_found without it, conflict if it is lifted already.
	Lift(ctx context.Context, projectID, id string, at time.Time, by, reason string) (rule.Suspension, error)
}
