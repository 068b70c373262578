package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type rulesNodesCommand struct {
	Rule     string `arg:"" help:"Id or slug, such as SEC-003."`
	State    string `placeholder:"STATE" help:"Only nodes in this state: attached, inherited, everywhere, overridden, silenced or idle."`
	Page     int    `default:"1" placeholder:"N" help:"Page, from 1."`
	PageSize int    `default:"50" placeholder:"N" help:"Nodes per page, up to 100."`
	output
}

func (rulesNodesCommand) Help() string {
	return `The repositories that a node binds resolve to it.

  tenet rules nodes SEC-003
  tenet rules nodes SEC-003 --state overridden`
}

func (k *rulesNodesCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	found, err := client.Get(ctx, c, op.ListRuleNodes.At(k.Rule).Where(wire.RuleNodesQuery{
		State: k.State, PageQuery: wire.PageQuery{Page: k.Page, PageSize: k.PageSize},
	}))
	return show(s, k.output, found, err, printRuleNodes)
}

// printRuleNodes shows the nodes of a rule, and how many there are in each state.
func printRuleNodes(s *session, f wire.RuleNodes) error {
	if !f.InForce {
		s.note("the rule is not in force, so it holds nowhere")
	}
	if f.Unattached && f.InForce {
		s.note("no node has the rule; it applies to subjects without a node")
	} else if f.Unattached {
		s.note("no node has the rule")
	}
	if f.Unattached && f.Total == 0 {
		return nil
	}
	var counts []string
	for _, state := range wire.PlaceStates {
		if n := *f.Counts.Of(state); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(counts) > 0 {
		s.note("nodes: %s", strings.Join(counts, ", "))
	}
	err := list(s, "no node is in this state", "NODE\tSTATE\tFROM\tREPOSITORIES", f.Items, func(n *wire.RuleNode) []any {
		from := n.SourcePath
		switch by := cmp.Or(n.ByRuleSlug, n.ByRuleID); {
		case n.State == wire.PlaceOverridden:
			from = by + " at " + n.ByPath
		case by != "":
			from = by
		}
		return []any{n.Path, n.State, cmp.Or(from, "-"), cmp.Or(strings.Join(n.Node.Repositories, ", "), "-")}
	})
	if err == nil {
		s.nextPage("nodes", f.Page, f.PageSize, len(f.Items), f.Total)
	}
	return err
}
