package console

import (
	"net/url"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// ruleFilters are the filters of the list of rules; the API has them by the same names.
var ruleFilters = []string{"q", "status", "severity", "modality", "enforcement", "scope", "tags", "owner", "has_check"}

// rules is the view of the list of rules.
type rules struct {
	items    []rule.Rule
	place    pager
	filtered bool
	problem  string
	moves    []rule.Status // where rules may be moved in bulk
}

// ruleList shows the rules of a project.
func ruleList(p *page) error {
	query := url.Values{}
	for _, name := range ruleFilters {
		if v := p.r.URL.Query().Get(name); v != "" {
			query.Set(name, v)
		}
	}
	o := op.ListRules.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize})
	for name, values := range query {
		o.Query[name] = values
	}
	list, err := client.Get(p.ctx, p.api, o)
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	v := rules{items: list.Items, place: pager{pageOf(p.r), listSize, len(list.Items), list.Total}, filtered: len(query) > 0, problem: problem}
	v.moves = []rule.Status{rule.Review, rule.Approved, rule.Effective, rule.Draft, rule.Retired}
	return p.show(head{Title: "Rules", Nav: "rules"}, rulesView(p, v))
}

// exportRules answers with the rules of the project as a file.
func exportRules(p *page) error {
	body, err := client.Get(p.ctx, p.api, op.ExportRules.Where(wire.ExportQuery{Format: "yaml"}))
	if err != nil {
		return err
	}
	return p.download(p.project.ID+"-rules.yaml", "application/yaml", body)
}
