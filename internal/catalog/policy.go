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
// reason, and none may have a fail mode that is looser than the server's.
func changePolicy(p *rule.Project, in *wire.ProjectPolicyInput, least rule.FailModes) (*policyChange, error) {
	if in == nil {
		return nil, nil
	}
	ch := &policyChange{Before: p.Policy, Reason: strings.TrimSpace(in.Reason)}
	next := rule.ProjectPolicy{Floor: p.Policy.Floor, Uncovered: maps.Clone(p.Policy.Uncovered), Approvals: p.Policy.Approvals, FailModes: p.Policy.FailModes, CacheBy: p.Policy.CacheBy, Personal: p.Policy.Personal}
	if in.Floor.Set {
		next.Floor = in.Floor.Value
	}
	if in.Approvals.Set {
		next.Approvals = in.Approvals.Value
	}
	if in.FailModes.Set {
		next.FailModes = in.FailModes.Value
	}
	if in.Personal.Set {
		next.Personal = in.Personal.Value
	}
	if in.CacheBy.Set {
		next.CacheBy = in.CacheBy.Value
	}
	given := rule.ProjectPolicy{Uncovered: in.Uncovered}
	given.Normalize()
	if next.Uncovered == nil {
		next.Uncovered = map[string]rule.Uncovered{}
	}
	maps.Copy(next.Uncovered, given.Uncovered)
	next.Normalize()
	if !in.FailModes.Set { // those that are stored stay if the server has come to demand more: the stricter ones hold
		least = nil
	}
	if err := validatePolicy(&next, ch.Reason, least); err != nil {
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
func validatePolicy(next *rule.ProjectPolicy, reason string, least rule.FailModes) error {
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
	for _, severity := range rule.Severities {
		if mode, ok := next.FailModes[severity]; ok && mode.LooserThan(least[severity]) {
			p.Add("policy.fail_modes."+string(severity), "is %s; the setting hook_fail of the server demands at least %s", mode, least[severity])
		}
	}
	if len(reason) > rule.MaxRationale {
		p.Add("policy.reason", "has %d bytes; at most %d are allowed", len(reason), rule.MaxRationale)
	}
	return p.Err("the project is invalid")
}
