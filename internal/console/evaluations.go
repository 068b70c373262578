package console

import (
	"errors"
	"net/url"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// listSize is the number of items on a page of a list.
const listSize = 50

// evaluationFilters are the filters of the list of evaluations that are typed; the API has them by the same names.
var evaluationFilters = []struct{ name, label, kind string }{
	{"actor", "Asked by", "text"},
	{"since", "From", "date"},
	{"until", "Before", "date"},
}

// evaluations is the view of the list of evaluations.
type evaluations struct {
	items    []wire.EvaluationSummary
	place    pager
	filtered bool
	problem  string // what is wrong with the filters
}

// evaluationList shows the recorded evaluations of a project, newest first.
func evaluationList(p *page) error {
	asked := p.r.URL.Query()
	query, filtered := url.Values{}, false
	take := func(name string) {
		if v := asked.Get(name); v != "" {
			query.Set(name, v)
			filtered = true
		}
	}
	for _, f := range evaluationFilters {
		take(f.name)
	}
	take("verdict")
	take("mode")
	list, number, problem, err := listed(p, op.ListEvaluations, query)
	if err != nil {
		return err
	}
	v := evaluations{items: list.Items, place: pager{number, listSize, len(list.Items), list.Total}, filtered: filtered, problem: problem}
	return p.show(head{Title: "Evaluations", Nav: "evaluations"}, evaluationsView(p, v))
}

// listed gets the page of a list that the address names, with filters. A filter that the API refuses gives an empty page and the
// reason.
func listed[T any](p *page, o op.Op[wire.None, wire.Page[T]], filters url.Values) (list wire.Page[T], number int, problem string, err error) {
	number = pageOf(p.r)
	o = o.Where(wire.PageQuery{Page: number, PageSize: listSize})
	for name, values := range filters {
		o.Query[name] = values
	}
	list, err = client.Get(p.ctx, p.api, o)
	if e, ok := errors.AsType[*rule.Error](err); ok && e.Code == rule.CodeInvalid {
		problem = e.Message
		for _, f := range e.Fields {
			problem += "; " + f.Field + ": " + f.Message
		}
		return list, number, problem, nil
	}
	return list, number, "", err
}
