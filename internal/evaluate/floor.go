package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/ledger"
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
	r.req.Environment = cmp.Or(r.req.Environment, floor.Environment, bundleOf(r.e).Environment)
	return nil
}

// defaultSeverity is the severity_min of requests that name none: a floor below the usual default lowers it.
func defaultSeverity(floor *rule.Floor) rule.Severity {
	if floor.SeverityMin != "" && floor.SeverityMin.Rank() < DefaultSeverityMin.Rank() {
		return floor.SeverityMin
	}
	return DefaultSeverityMin
}

// takePolicy applies the policy to the answer of r: it lists the parameters by which the caller has narrowed the evaluation, with a
// notice for each that is below the floor, and notes if no rule covers the subject. [rule.Evaluation.Tally] draws the consequences.
// An evaluation that is decided again from its record keeps those of the record.
func takePolicy(r *run) {
	if was := r.before; was != nil {
		r.answer.Narrowed, r.answer.Notices, r.answer.Coverage.Uncovered = was.Narrowed, was.Notices, was.Coverage.Uncovered
		r.answer.Coverage.UncoveredByDefault, r.answer.Coverage.UncoveredApproved = was.Coverage.UncoveredByDefault, was.Coverage.UncoveredApproved
		r.answer.Coverage.RulesNotAsked = was.Coverage.RulesNotAsked // the record does not hold them
		r.answer.Coverage.RulesUndecided, r.answer.FailModes = was.Coverage.RulesUndecided, was.FailModes
		return
	}
	r.answer.FailModes = r.policy.Fails().And(r.e.cfg.FailModes)
	n := narrowing{run: r, floor: &r.policy.Floor}
	n.find()
	r.answer.Narrowed = n.list
	for _, n := range n.list {
		if n.Floor != "" {
			r.answer.Notices = append(r.answer.Notices, fmt.Sprintf(
				"The request asked for %s %s; the project's policy demands %s. The overall verdict is therefore not ALLOW.", n.Parameter, n.Asked, n.Floor))
		}
	}
	if r.subject.Empty() || covered(r) || len(r.sel.notAsked) > 0 { // a rule that was not asked may cover the subject
		return
	}
	word := r.policy.UncoveredFor(kindOf(r.subject))
	r.answer.Coverage.Uncovered, r.answer.Coverage.UncoveredApproved = word, r.uncoveredApproved && word == rule.UncoveredConfirm
	_, named := r.policy.Uncovered[kindOf(r.subject)]
	r.answer.Coverage.UncoveredByDefault = !named && !r.policy.Unreadable
	r.answer.Notices = append(r.answer.Notices, fmt.Sprintf("No rule covers this: the project's policy for a subject of the kind %s is %s.", kindOf(r.subject), word))
}

// covered reports whether some rule that counts concerns the subject and is kept, broken or open. A check that has only found that
// some words do not occur covers the text of files, and no action or facts, which can be put into any words. Nor does a rule about the tools of
// some servers that is kept cover a call of which the request does not name the server.
func covered(r *run) bool {
	tool := toolOf(r.subject)
	covers := func(c *chosen, concerned, kept bool) bool {
		return concerned && c.Rule.Enforcement != rule.Shadow && (!kept || len(r.subject.Files) > 0 || asksBeyondWords(c) && isAbout(c.Rule, tool))
	}
	for i := range r.answer.RuleVerdicts {
		v := &r.answer.RuleVerdicts[i]
		if covers(&r.sel.chosen[i], v.Concerned, v.DecidedBy == rule.ByCheck && v.Verdict == rule.Allow) {
			return true
		}
	}
	return slices.ContainsFunc(r.sel.aside, func(a aside) bool { return covers(a.chosen, a.finding == ledger.Kept, true) })
}

// isAbout reports whether a rule is about a tool for certain, and not only because the server of the tool may be any; tool is nil for what is no call.
func isAbout(r *rule.Rule, tool *corpus.Tool) bool {
	if tool == nil || tool.Server != "" || r.AppliesTo == nil || len(r.AppliesTo.Tools) == 0 {
		return true
	}
	return rule.CompileTools(r.AppliesTo.Tools).MatchAnywhere(tool.Name)
}

// asksBeyondWords reports whether a check that is kept says more about an action or facts than that some words do not occur: an
// expression that reads facts, or whose condition holds.
func asksBeyondWords(c *chosen) bool {
	if c.Rule.Check == nil || c.Rule.Check.Pattern != nil || c.program == nil {
		return false
	}
	names, all := c.program.FactNames()
	return c.Rule.Check.When != "" || all || len(names) > 0
}

// narrowing finds the parameters by which the caller made fewer rules hold.
type narrowing struct {
	*run
	floor *rule.Floor
	list  []rule.Narrowed
}

// add notes a parameter; demand is empty if the floor permits it. A policy that cannot be read has a floor that nothing narrowed
// reaches.
func (n *narrowing) add(parameter, asked, whole, demand string) {
	if n.policy.Unreadable {
		demand = "something unknown, since it cannot be read"
	}
	n.list = append(n.list, rule.Narrowed{Parameter: parameter, Asked: asked, Default: whole, Floor: demand})
}

func (n *narrowing) find() {
	req, floor := n.req, n.floor
	if least := defaultSeverity(floor); req.SeverityMin.Rank() > least.Rank() {
		demand := ""
		if floor.SeverityMin != "" && req.SeverityMin.Rank() > floor.SeverityMin.Rank() {
			demand = "at most " + string(floor.SeverityMin)
		}
		n.add(bySeverity, string(req.SeverityMin), string(least), demand)
	}
	if req.NodeID != "" {
		n.findNode()
	}
	if asked := n.subject.Scope; asked != "" {
		n.add(byScope, asked, "every scope", scopeDemand(floor.Scopes, n.subject.Repository, asked))
	}
	if req.Environment != floor.Environment && (floor.Environment != "" || req.Environment != bundleOf(n.e).Environment) {
		n.add(byEnvironment, req.Environment, cmp.Or(floor.Environment, "the live rules"), floor.Environment)
	}
	if (len(n.sel.notAsked) > 0 || n.sel.triagedOut > 0) && req.MaxRules < DefaultMaxRules {
		n.add(byMaxRules, strconv.Itoa(req.MaxRules), strconv.Itoa(DefaultMaxRules), "")
	}
}

// findNode notes the node of the request, unless the repository is bound to it.
func (n *narrowing) findNode() {
	asked, tree := n.req.NodeID, n.view.Federation()
	bound, err := tree.Bound(n.subject.Repository)
	var whole, demand string
	switch {
	case err != nil:
		whole, demand = "no node: the repository is bound to several alike", "the node of the repository, which is bound to several alike"
	case bound == "":
		whole, demand = "all rules: the repository is bound to no node", "no node_id, since the repository is bound to no node"
	case strings.EqualFold(bound, asked):
		return
	default:
		whole = "node " + bound + ", to which the repository is bound"
		if !slices.ContainsFunc(tree.Below(bound), func(id string) bool { return strings.EqualFold(id, asked) }) {
			demand = "node " + bound + ", to which the repository is bound, or one below it"
		}
	}
	if !n.floor.BoundNode {
		demand = ""
	}
	n.add(byNode, asked, whole, demand)
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
