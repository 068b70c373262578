package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// policyChange is a change of a project's policy, for the audit chain.
type policyChange struct {
	Before   rule.ProjectPolicy `json:"before"`
	Loosened []string           `json:"loosened,omitempty"`
	Reason   string             `json:"reason,omitempty"`
}

// changePolicy changes the policy of a project and returns what it was; nil without a change. A change that loosens it needs a
// reason.
func changePolicy(p *rule.Project, in *wire.ProjectPolicyInput) (*policyChange, error) {
	if in == nil {
		return nil, nil
	}
	ch := &policyChange{Before: p.Policy, Reason: strings.TrimSpace(in.Reason)}
	next := rule.ProjectPolicy{Floor: p.Policy.Floor, Uncovered: maps.Clone(p.Policy.Uncovered), Approvals: p.Policy.Approvals}
	if in.Floor.Set {
		next.Floor = in.Floor.Value
	}
	if in.Approvals.Set {
		next.Approvals = in.Approvals.Value
	}
	given := rule.ProjectPolicy{Uncovered: in.Uncovered}
	given.Normalize()
	if next.Uncovered == nil {
		next.Uncovered = map[string]rule.Uncovered{}
	}
	maps.Copy(next.Uncovered, given.Uncovered)
	next.Normalize()
	if err := validatePolicy(&next, ch.Reason); err != nil {
		return nil, err
	}
	ch.Loosened = next.Loosens(&p.Policy)
	if len(ch.Loosened) > 0 && ch.Reason == "" {
		var problems rule.Problems
		problems.Add("policy.reason", "is missing; the change loosens the policy: %s", strings.Join(ch.Loosened, "; "))
		return nil, problems.Err("the project is invalid")
	}
	p.Policy = next
	return ch, nil
}

// validatePolicy refuses what a policy cannot hold. The error names fields of a project.
func validatePolicy(next *rule.ProjectPolicy, reason string) error {
	var p rule.Problems
	p.AddAll("policy", next.Validate())
	if e := wire.Environment(next.Floor.Environment); e != "" && !slices.Contains(wire.Environments, e) {
		p.Add("policy.floor.environment", "is %q; use one of %s", string(e), rule.Names(wire.Environments))
	}
	for i := range next.Floor.Scopes {
		subject.CheckGlobs(&p, "policy.floor.scopes["+strconv.Itoa(i)+"].repositories", next.Floor.Scopes[i].Repositories)
	}
	for _, kind := range slices.Sorted(maps.Keys(next.Uncovered)) {
		if !slices.Contains(subject.Kinds, subject.Kind(kind)) {
			p.Add("policy.uncovered."+kind, "is no kind of subject; use one of %s", rule.Names(subject.Kinds))
		}
	}
	for i := range next.Approvals {
		for _, kind := range next.Approvals[i].Kinds {
			if !slices.Contains(subject.Kinds, subject.Kind(kind)) {
				p.Add("policy.approvals["+strconv.Itoa(i)+"].kinds", "has %q, which is no kind of subject; use some of %s", kind, rule.Names(subject.Kinds))
			}
		}
	}
	if len(reason) > rule.MaxRationale {
		p.Add("policy.reason", "has %d bytes; at most %d are allowed", len(reason), rule.MaxRationale)
	}
	return p.Err("the project is invalid")
}
