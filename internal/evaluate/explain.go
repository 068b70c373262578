package evaluate

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// ExplainQuery asks which rules would apply to a subject, and why. Empty fields leave open what they describe.
type ExplainQuery struct {
	ApplicableQuery

	Kind        wire.SubjectKind
	Facts       map[string]any // nil means that they are not known
	SeverityMin rule.Severity
	Part        wire.RulePart
	Rule        string // id or slug of the only rule to explain
	Page        rule.Page
}

// explanation is a question with what is needed to answer it.
type explanation struct {
	a     *Applying
	q     *ExplainQuery
	view  *corpus.View
	query *corpus.Query
	// subject holds what is known of the subject. Its files have no content.
	subject   *subject.Subject
	textKnown bool // the subject has no text beside its facts and files
	listed    []listed
	only      *corpus.Entry // the rule that the question names; nil for all
}

// listed is a rule with its part.
type listed struct {
	*corpus.Entry
	part   wire.RulePart
	unmet  corpus.Conditions
	by     string // rule that overrides it
	atNode string // node where it does, if one does
	check  string // why its check is not concerned
	open   bool   // its check is concerned with facts or text that are not known
	weak   []weaker
}

// weaker is a rule that would override another and is weaker than it.
type weaker struct {
	by   *rule.Rule
	ways []string
}

// Explain returns the rules with the part that each would have in an evaluation, and why. Those that apply, that are context and that are
// not concerned are those of [Applying.Applicable] if the question holds no facts and no severity. It asks no model and records nothing.
func (a *Applying) Explain(ctx context.Context, q ExplainQuery) (wire.ExplainedRules, error) {
	x, err := a.explanation(ctx, &q)
	if err != nil {
		return wire.ExplainedRules{}, err
	}
	x.choose(ctx)
	if err := x.leaveOut(); err != nil {
		return wire.ExplainedRules{}, err
	}
	return x.page(), nil
}

// explanation reads the question.
func (a *Applying) explanation(ctx context.Context, q *ExplainQuery) (*explanation, error) {
	if len(q.FilePaths) > 0 && q.Kind != "" && q.Kind != wire.CodeChange {
		var p rule.Problems
		p.Add("file_paths", "belong to a code_change, and subject_kind is %s; give one of them", q.Kind)
		return nil, p.Err("the question is invalid")
	}
	x := &explanation{a: a, q: q}
	in := subject.Input{Facts: q.Facts, Scope: q.Scope, Repository: q.Repository}
	for _, path := range q.FilePaths {
		in.Files = append(in.Files, wire.InputFile{Path: path})
	}
	var err error
	if x.subject, err = subject.Build(in); err != nil {
		return nil, err
	}
	if x.view, x.query, err = a.query(ctx, &q.ApplicableQuery); err != nil {
		return nil, err
	}
	x.query.Context, x.query.SeverityMin = true, q.SeverityMin
	x.place()
	return x, nil
}

// place makes the selection one of the kind and the facts of the question.
func (x *explanation) place() {
	kind := x.q.Kind
	switch {
	case kind == "" && len(x.q.FilePaths) > 0:
		kind = wire.CodeChange
	case kind == "" && x.q.Facts != nil:
		kind = wire.Facts
	case kind == "":
		return
	}
	x.query.Kinds, x.query.AnyKind, x.query.Beside = []wire.SubjectKind{kind}, false, x.q.Facts != nil
	switch kind {
	case wire.CodeChange, wire.DocumentKind:
		x.query.AnyPath, x.textKnown = len(x.q.FilePaths) == 0, len(x.q.FilePaths) > 0
	case wire.Action:
		x.query.AnyPath, x.query.Beside = false, true
	default:
		x.query.AnyPath, x.query.Beside, x.textKnown = false, true, true
	}
	if kind == wire.ToolCall {
		if x.query.Tool = toolIn(x.q.Facts); x.query.Tool.Name == "" {
			x.query.Tool, x.query.AnyTool = nil, true
		}
	}
	if kind != wire.Facts && (x.q.Facts != nil || x.textKnown && kind != wire.CodeChange) {
		x.query.Kinds = append(x.query.Kinds, wire.Facts)
	}
}

// choose finds the rules that the question selects, and runs their checks on what is known of the subject.
func (x *explanation) choose(ctx context.Context) {
	matches := x.view.Applicable(x.query)
	within := x.query.Within
	matches, replaced := within.Split(matches)
	x.listed = make([]listed, len(matches), len(matches)+len(replaced))
	for i, m := range matches {
		x.listed[i] = listed{Entry: m.Entry, part: wire.PartApplies}
		if !m.Rule.Judged() {
			x.listed[i].part = wire.PartContext
		}
	}
	x.runChecks(ctx)
	by, refused := corpus.Silencers(x.query, matches, func(i int) bool { return x.listed[i].part != wire.PartNotConcerned })
	for i := range matches {
		if by[i] >= 0 {
			x.listed[i].part, x.listed[i].by = wire.PartOverridden, matches[by[i]].Rule.ID
		}
	}
	for _, r := range refused {
		x.listed[r.Of].weak = append(x.listed[r.Of].weak, weaker{matches[r.By].Rule, r.Ways})
	}
	if len(replaced) == 0 {
		return
	}
	nodes := make(map[string]string, len(within.Replaced))
	for _, gone := range within.Replaced {
		nodes[gone.Rule.ID] = gone.NodeID
	}
	for _, gone := range replaced {
		if e, ok := x.view.Get(gone.RuleID); ok {
			x.listed = append(x.listed, listed{Entry: e, part: wire.PartOverridden, by: gone.OverriddenBy, atNode: nodes[gone.RuleID]})
		}
	}
}

// runChecks finds the rules whose checks have nothing to say about the subject, as far as that is known.
func (x *explanation) runChecks(ctx context.Context) {
	checks := make([]*rule.Check, len(x.listed))
	for i := range x.listed {
		if x.listed[i].part == wire.PartApplies {
			checks[i] = x.listed[i].Rule.Check
		}
	}
	programs, _ := x.a.checks.GetAll(checks)
	known := &run{subject: x.subject, whole: wholePart(x.subject)}
	for i, program := range programs {
		if program == nil {
			continue
		}
		l := &x.listed[i]
		names, all := program.FactNames()
		if reads := all || len(names) > 0; reads && x.q.Facts == nil || !reads && !x.textKnown {
			l.open = true
			continue
		}
		if out := program.Run(ctx, known.part(l.Entry).checked); out.Result == check.NotConcerned {
			l.part, l.check = wire.PartNotConcerned, out.Reason
		}
	}
}

// leaveOut adds the rules that the question does not select; of retired and superseded ones only the one that it names.
func (x *explanation) leaveOut() error {
	if x.q.Rule != "" {
		var ok bool
		if x.only, ok = x.view.Get(strings.TrimSpace(x.q.Rule)); !ok {
			return rule.NotFound("rule", x.q.Rule)
		}
	}
	for _, left := range corpus.Excluded(x.view, x.query, func(r *rule.Rule) bool {
		return x.only != nil && r.ID == x.only.Rule.ID || r.Status != rule.Retired && r.Status != rule.Superseded
	}) {
		x.listed = append(x.listed, listed{Entry: left.Entry, part: wire.PartLeftOut, unmet: left.Unmet})
	}
	return nil
}

// page counts the rules and explains those of the page.
func (x *explanation) page() wire.ExplainedRules {
	out := wire.ExplainedRules{Items: []wire.ExplainedRule{}, Page: x.q.Page.Number, PageSize: x.q.Page.Size}
	if within := x.query.Within; within != nil {
		out.NodeID, out.NodePath = within.NodeID, x.view.Federation().Path(within.NodeID)
	}
	order := map[int][]*listed{} // by rank; sorting 100,000 rules would take longer
	for i := range x.listed {
		l := &x.listed[i]
		if l.Rule.Status != rule.Retired && l.Rule.Status != rule.Superseded {
			*out.Counts.Of(l.part)++
		}
		if (x.q.Part == "" || l.part == x.q.Part) && (x.only == nil || l.Rule.ID == x.only.Rule.ID) {
			order[l.rank()] = append(order[l.rank()], l)
		}
	}
	var shown []*listed
	for _, rank := range slices.Sorted(maps.Keys(order)) {
		shown = append(shown, order[rank]...)
	}
	out.Total = len(shown)
	from := min(x.q.Page.Offset(), len(shown))
	for _, l := range shown[from:min(from+x.q.Page.Size, len(shown))] {
		out.Items = append(out.Items, x.explain(l))
	}
	return out
}

// rank is the place of a rule in the list: by its part, and rules left out by how few conditions and how severe they are.
func (l *listed) rank() int {
	rank := slices.Index(wire.RuleParts, l.part) * 1000
	if l.part == wire.PartLeftOut {
		rank += l.unmet.Len()*10 - l.Rule.Severity.Rank()
	}
	return rank
}
