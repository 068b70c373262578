package console

import (
	"errors"
	"maps"
	"net/url"
	"slices"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// listSize is the number of items on a page of a list.
const listSize = 50

// typed is a filter that people type.
type typed struct{ name, label, kind string }

// Filters of the list of evaluations; the API has them by the same names. The second list is folded until one of it is used.
var (
	evaluationFilters = []typed{
		{"q", "Words of the subject", "search"}, {"fact", "Fact (payment_id:PMT-1)", "text"}, {"rule", "Rule", "text"},
	}
	moreEvaluationFilters = []typed{
		{"repository", "Repository", "text"},
		{"scope", "Scope", "text"},
		{"actor", "Asked by", "text"},
		{"agent", "Agent", "text"},
		{"person", "For person", "text"},
		{"session", "Agent's session", "text"},
		{"since", "From (UTC)", "date"},
		{"until", "Before (UTC)", "date"},
		{"node_id", "Node", "text"},
		{"snapshot_id", "Snapshot", "text"},
	}
	chosenEvaluationFilters = []string{"verdict", "rule_verdict", "mode", "subject_kind", "environment", "undecided"}
)

// evaluations is the view of the list of evaluations.
type evaluations struct {
	items    []wire.EvaluationSummary
	place    pager
	filtered bool
	more     bool   // a folded filter is used
	problem  string // what is wrong with the filters
	partial  bool   // a search inside subjects may have missed some
	stopped  []rule.Suspension
}

// evaluationList shows the recorded evaluations of a project, newest first.
func evaluationList(p *page) error {
	var v evaluations
	query := url.Values{}
	asked := p.r.URL.Query()
	take := func(name string) bool {
		given := slices.DeleteFunc(slices.Clone(asked[name]), func(s string) bool { return s == "" })
		if len(given) > 0 {
			query[name] = given
			v.filtered = true
		}
		return len(given) > 0
	}
	for _, f := range evaluationFilters {
		take(f.name)
	}
	for _, f := range moreEvaluationFilters {
		if take(f.name) {
			v.more = true
		}
	}
	for _, name := range chosenEvaluationFilters {
		if take(name) && name != "verdict" {
			v.more = true
		}
	}
	o := op.ListEvaluations.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize})
	maps.Copy(o.Query, query)
	list, err := client.Get(p.ctx, p.api, o)
	if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	v.items, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	v.partial = list.Partial > 0 || list.Unsearched > 0
	if v.stopped, err = suspensionsOf(p); err != nil {
		return err
	}
	return p.show(head{Title: "Evaluations", Nav: "evaluations"}, evaluationsView(p, v))
}

// refusedFilter turns an error about the filters of a list into the reason, which the list then shows; other errors come back.
func refusedFilter(err error) (reason string, _ error) {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || e.Code != rule.CodeInvalid {
		return "", err
	}
	reason = e.Message
	for _, f := range e.Fields {
		reason += "; " + f.Field + ": " + f.Message
	}
	return reason, nil
}

// subjectKinds are the kinds of subject that the list can be filtered by.
var subjectKinds = []wire.SubjectKind{
	wire.CodeChange, wire.Facts, wire.Action, wire.BusinessEvent, wire.DocumentKind, wire.Transaction, wire.Communication, wire.DecisionRequest,
	wire.ToolCall,
}

// undecidedReasons are the reasons to be confirmed that the list can be filtered by.
var undecidedReasons = []option{
	{"softened", "A SHOULD or warn rule is broken"},
	{"doubtful", "A model was in doubt"},
	{"check_open", "A check could not decide"},
	{"unexamined", "A part was not examined"},
	{"no_model", "No model is configured"},
	{"no_answer", "The model gave no answer"},
	{"not_asked", "Rules were not asked"},
	{"uncovered", "No rule covers it"},
	{"below_floor", "Asked below the floor"},
	{"nothing_given", "Nothing was given"},
	{"other", "Another reason"},
}
