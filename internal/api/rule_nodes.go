package api

import (
	"context"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// ruleNodes is the list of the nodes of a rule.
func (f Federation) ruleNodes(r *rest.Router) {
	rest.Handle(r, rest.Operation{
		ID: "list-rule-nodes", Route: op.ListRuleNodes.Route(), Role: auth.Viewer, Summary: "List the nodes at which a rule holds",
		Description: "Those to which it is attached and those below, those where another rule is in its place or silences it, and those where it holds " +
			"because no node has it. counts are of all nodes, whichever state is asked for.",
	}, func(ctx context.Context, in *struct {
		ruleRef
		wire.RuleNodesQuery
	},
	) (wire.RuleNodes, error) {
		var p rule.Problems
		state := rest.EnumParam(&p, "state", in.State, wire.PlaceStates)
		if err := p.Err("the query is invalid"); err != nil {
			return wire.RuleNodes{}, err
		}
		return f.Hierarchy.RuleNodes(ctx, rest.Project(ctx), in.ID, state, rule.Page{Number: in.Page, Size: in.PageSize})
	})
}
