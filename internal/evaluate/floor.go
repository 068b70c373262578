package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Parameters of a request that can narrow it, in the order in which [rule.Evaluation.Narrowed] lists them.
const (
	bySeverity    = "severity_min"
	byNode        = "node_id"
	byScope       = "scope"
	byEnvironment = "environment"
	byMaxRules    = "max_rules"
)

// findPolicy finds the policy of the project as it is now, also where a snapshot judges: the policy is about the callers, not
// about the state of the rules. What the request leaves open takes the value that the floor demands.
func (r *run) findPolicy(ctx context.Context) error {
	view, err := r.e.cfg.Views.View(ctx, r.req.ProjectID)
	if err != nil {
		return err
	}
	r.policy = view.Policy()
	floor := &r.policy.Floor
	if r.req.SeverityMin == "" {
		r.req.SeverityMin = defaultSeverity(floor)
	}
	r.req.Environment = cmp.Or(r.req.Environment, floor.Environment)
	return nil
}

// defaultSeverity is the severity_min of requests that name none: a floor below the usual default lowers it.
func defaultSeverity(floor *rule.Floor) rule.Severity {
	if floor.SeverityMin != "" && floor.SeverityMin.Rank() < DefaultSeverityMin.Rank() {
		return floor.SeverityMin
	}
	return DefaultSeverityMin
}

// takePolicy applies the policy to the answer: it lists by which parameters the caller has narrowed the evaluation, with a
// notice for each that is below the floor. [rule.Evaluation.Tally] draws the consequences. An evaluation that is decided again
// from its record keeps those of the record.
func (r *run) takePolicy() {
	if was := r.before; was != nil {
		r.answer.Narrowed, r.answer.Notices = was.Narrowed, was.Notices
		return
	}
	r.answer.Narrowed = r.narrowed()
	for _, n := range r.answer.Narrowed {
		if n.Floor != "" {
			r.answer.Notices = append(r.answer.Notices, fmt.Sprintf(
				"The request asked for %s %s; the project's policy demands %s. The overall verdict is therefore not ALLOW.", n.Parameter, n.Asked, n.Floor))
		}
	}
}

// narrowed lists the parameters by which the caller made fewer rules hold. A policy that cannot be read has a floor that
// nothing narrowed reaches.
func (r *run) narrowed() []rule.Narrowed {
	var list []rule.Narrowed
	add := func(parameter, asked, whole, floor string) {
		if r.policy.Unreadable {
			floor = "something unknown, since it cannot be read"
		}
		list = append(list, rule.Narrowed{Parameter: parameter, Asked: asked, Default: whole, Floor: floor})
	}
	req, floor := r.req, &r.policy.Floor
	if least := defaultSeverity(floor); req.SeverityMin.Rank() > least.Rank() {
		demand := ""
		if floor.SeverityMin != "" && req.SeverityMin.Rank() > floor.SeverityMin.Rank() {
			demand = "at most " + string(floor.SeverityMin)
		}
		add(bySeverity, string(req.SeverityMin), string(least), demand)
	}
	if req.NodeID != "" {
		if whole, demand := r.boundNode(); whole != "" {
			add(byNode, req.NodeID, whole, demand)
		}
	}
	if asked := r.subject.Scope; asked != "" {
		add(byScope, asked, "every scope", scopeDemand(floor.Scopes, r.subject.Repository, asked))
	}
	if req.Environment != floor.Environment {
		demand := ""
		if floor.Environment != "" {
			demand = floor.Environment
		}
		add(byEnvironment, req.Environment, cmp.Or(floor.Environment, "the live rules"), demand)
	}
	if cut := r.sel.inScope - r.sel.selected; cut > 0 && req.MaxRules < DefaultMaxRules {
		add(byMaxRules, strconv.Itoa(req.MaxRules), strconv.Itoa(DefaultMaxRules), "")
	}
	return list
}

// boundNode returns what holds if the request names no node, empty if that is the named node, and what the floor demands
// instead of it.
func (r *run) boundNode() (whole, demand string) {
	tree := r.view.Federation()
	bound, err := tree.Bound(r.subject.Repository)
	strict := r.policy.Floor.BoundNode
	switch {
	case err != nil:
		if whole = "no node: the repository is bound to several alike"; strict {
			demand = "the node that the repository is bound to, which several are alike"
		}
	case bound == "":
		if whole = "all rules: the repository is bound to no node"; strict {
			demand = "no node_id, since the repository is bound to no node"
		}
	case strings.EqualFold(bound, r.req.NodeID):
	default:
		below := slices.ContainsFunc(tree.Below(bound), func(id string) bool { return strings.EqualFold(id, r.req.NodeID) })
		if whole = "the node that the repository is bound to, " + bound; strict && !below {
			demand = "that node " + bound + " or one below it, since the repository is bound to it"
		}
	}
	return whole, demand
}

// scopeDemand returns the scopes of a floor that the asked one is not in; empty without any. A subject that names no repository
// may be of any of them.
func scopeDemand(scopes []rule.ScopeFloor, repository, asked string) string {
	var missed []string
	for i := range scopes {
		s := &scopes[i]
		if rule.ScopeApplies([]string{s.Scope}, asked) || slices.Contains(missed, s.Scope) {
			continue
		}
		globs, err := subject.CompileGlobs(s.Repositories)
		if err != nil || repository == "" || globs.Match(repository) {
			missed = append(missed, s.Scope)
		}
	}
	if len(missed) == 0 {
		return ""
	}
	what := "of its repository"
	if repository == "" {
		what = "of some repository, and the request names none"
	}
	return fmt.Sprintf("%s or a scope below it, %s", strings.Join(missed, " and "), what)
}
