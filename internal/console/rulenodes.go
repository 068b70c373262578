package console

import (
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// nodesView is the view of the list of the nodes of a rule.
type nodesView struct {
	wire.RuleNodes

	rule    rule.Rule
	place   pager
	problem string
}

// ruleNodes lists the nodes at which a rule holds, is overridden or silenced.
func ruleNodes(p *page) error {
	var v nodesView
	var err error
	if v.rule, err = client.Get(p.ctx, p.api, op.GetRule.At(p.r.PathValue("id"))); err != nil {
		return err
	}
	found, err := client.Get(p.ctx, p.api, op.ListRuleNodes.At(v.rule.ID).Where(wire.RuleNodesQuery{
		State: p.r.URL.Query().Get("state"), PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize},
	}))
	if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	v.RuleNodes, v.place = found, pager{pageOf(p.r), listSize, len(found.Items), found.Total}
	return p.show(head{Title: v.rule.Label() + ", nodes", Nav: "rules"}, nodesOfView(p, v))
}

// placeLabels name the states of a rule at a node for people.
var placeLabels = map[wire.PlaceState]string{
	wire.PlaceAttached: "attached", wire.PlaceInherited: "inherited", wire.PlaceEverywhere: "holds everywhere", wire.PlaceOverridden: "overridden",
	wire.PlaceSilenced: "silenced", wire.PlaceIdle: "attached, not in force",
}

// placeTone is the class of a state.
func placeTone(s wire.PlaceState) string {
	switch s {
	case wire.PlaceOverridden, wire.PlaceSilenced:
		return "warn"
	case wire.PlaceAttached, wire.PlaceInherited, wire.PlaceEverywhere:
		return "good"
	case wire.PlaceIdle:
	}
	return "plain"
}
