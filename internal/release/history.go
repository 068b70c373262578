package release

import (
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// ParseEnvironment reads the name of an environment.
func ParseEnvironment(s string) (wire.Environment, error) {
	if e := wire.Environment(s); slices.Contains(wire.Environments, e) {
		return e, nil
	}
	var p rule.Problems
	p.Add("environment", "is %q; use one of production, staging, development", s)
	return "", p.Err("there is no such environment")
}

// Active returns the snapshot that is active after the steps, which are in order of Seq; empty without steps.
func Active(steps []store.Deployment) string {
	if len(steps) == 0 {
		return ""
	}
	return steps[len(steps)-1].SnapshotID
}

// Previous returns the snapshot to which a rollback after the steps leads; empty without one. A rollback takes back the last
// deployment that has not been taken back, so that after A, B, rollback, C another rollback leads to A, not to B. A deployment of
// the snapshot that was active, as older histories may have it, counts for nothing.
func Previous(steps []store.Deployment) string {
	stack := deployed(steps)
	if len(stack) < 2 {
		return ""
	}
	return stack[len(stack)-2]
}

// deployed lists the snapshots whose deployments no rollback has taken back, the active one last. Neighbours differ.
func deployed(steps []store.Deployment) []string {
	var stack []string
	for _, s := range steps {
		if len(stack) > 0 && stack[len(stack)-1] == s.SnapshotID {
			continue // it was active already: older histories have such deployments and rollbacks
		}
		switch wire.DeploymentAction(s.Action) {
		case wire.ActionDeploy:
			stack = append(stack, s.SnapshotID)
		case wire.ActionRollback:
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		}
	}
	return stack
}
