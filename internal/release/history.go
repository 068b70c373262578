package release

import (
	"slices"
	"time"

	"tenet/internal/rule"
)

// Environment is where a snapshot is active.
type Environment string

// The environments.
const (
	Production  Environment = "production"
	Staging     Environment = "staging"
	Development Environment = "development"
)

// Environments are all environments, most careful first.
var Environments = []Environment{Production, Staging, Development}

// ParseEnvironment reads the name of an environment.
func ParseEnvironment(s string) (Environment, error) {
	if e := Environment(s); slices.Contains(Environments, e) {
		return e, nil
	}
	var p rule.Problems
	p.Add("environment", "is %q; use one of production, staging, development", s)
	return "", p.Err("there is no such environment")
}

// Action is what made a snapshot active.
type Action string

// The actions.
const (
	Deploy   Action = "deploy"
	Rollback Action = "rollback"
)

// Step is one entry of an environment's history: from At on the snapshot was active. Steps are numbered from 1 without gaps
// and never change.
type Step struct {
	Seq        int64
	Action     Action
	SnapshotID string
	At         time.Time
	By         string
}

// Active is the snapshot that is active after the steps, which are in order of Seq; empty if there are none.
func Active(steps []Step) string {
	if len(steps) == 0 {
		return ""
	}
	return steps[len(steps)-1].SnapshotID
}

// Previous is the snapshot to which a rollback after the steps leads; empty if there is none. A rollback takes back the last
// deployment that has not been taken back, so that after A, B, rollback, C another rollback leads to A, not to B.
func Previous(steps []Step) string {
	stack := standing(steps)
	if len(stack) < 2 {
		return ""
	}
	return stack[len(stack)-2]
}

// standing lists the snapshots whose deployments have not been taken back, the active one last.
func standing(steps []Step) []string {
	var stack []string
	for _, s := range steps {
		switch s.Action {
		case Deploy:
			stack = append(stack, s.SnapshotID)
		case Rollback:
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		}
	}
	return stack
}

// CheckHistory reports the first step that could not have followed those before it: a gap in the numbers, a time that runs
// backwards, or a rollback to another snapshot than [Previous] gives.
func CheckHistory(steps []Step) error {
	var stack []string
	for i, s := range steps {
		switch {
		case s.Seq != int64(i+1):
			return rule.Errorf(rule.CodeInternal, "step %d of the history has the number %d", i+1, s.Seq)
		case i > 0 && s.At.Before(steps[i-1].At):
			return rule.Errorf(rule.CodeInternal, "step %d of the history is older than the one before", s.Seq)
		}
		if s.Action == Deploy {
			stack = append(stack, s.SnapshotID)
			continue
		}
		if s.Action != Rollback || len(stack) < 2 {
			return rule.Errorf(rule.CodeInternal, "step %d of the history, a %s, has nothing to go back to", s.Seq, s.Action)
		}
		stack = stack[:len(stack)-1]
		if s.SnapshotID != stack[len(stack)-1] {
			return rule.Errorf(rule.CodeInternal, "step %d of the history goes back to %s instead of %s", s.Seq, s.SnapshotID, stack[len(stack)-1])
		}
	}
	return nil
}
