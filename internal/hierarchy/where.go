package hierarchy

import (
	"context"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// RuleNodes returns a page of the nodes at which a rule holds, or would if another did not override it, or to which it is attached; of one
// state, or of all if it is empty. The error is not_found without the rule.
func (h *Hierarchy) RuleNodes(ctx context.Context, projectID, ref string, state wire.PlaceState, page rule.Page) (wire.RuleNodes, error) {
	view, err := h.views.View(ctx, projectID)
	if err != nil {
		return wire.RuleNodes{}, err
	}
	e, ok := view.Get(ref)
	if !ok {
		return wire.RuleNodes{}, rule.NotFound("rule", ref)
	}
	now, tree := h.now(), view.Federation()
	places := federation.Where(view, e.Rule, now)
	silencers := silencersOf(view, e.Rule, places, now)
	out := wire.RuleNodes{
		RuleID: e.Rule.ID, InForce: e.Rule.InForce(now), Items: []wire.RuleNode{}, Page: page.Number, PageSize: page.Size,
		Unattached: !slices.ContainsFunc(tree.Nodes(), func(n *federation.Node) bool { return n.Attachment(e.Rule.ID) != nil }),
	}
	for i := range places {
		p := &places[i]
		s := stateOf(p, silencers[p.Node.ID] != "")
		*out.Counts.Of(s)++
		if state != "" && s != state {
			continue
		}
		if out.Total++; out.Total <= page.Offset() || len(out.Items) == page.Size {
			continue
		}
		item := wire.RuleNode{Node: *p.Node.Node, Path: tree.Path(p.Node.ID), State: s}
		switch s {
		case wire.PlaceInherited:
			item.SourceID, item.SourcePath = p.Source, tree.Path(p.Source)
		case wire.PlaceOverridden:
			item.ByRuleID, item.ByRuleSlug, item.ByNodeID, item.ByPath = p.By, slugOf(view, p.By), p.ByNode, tree.Path(p.ByNode)
		case wire.PlaceSilenced:
			item.ByRuleID = silencers[p.Node.ID]
			item.ByRuleSlug = slugOf(view, item.ByRuleID)
		case wire.PlaceAttached, wire.PlaceEverywhere, wire.PlaceIdle:
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// stateOf is the state of a rule at a place.
func stateOf(p *federation.Place, silenced bool) wire.PlaceState {
	switch {
	case p.By != "":
		return wire.PlaceOverridden
	case !p.Holds:
		return wire.PlaceIdle
	case silenced:
		return wire.PlaceSilenced
	case p.Attached:
		return wire.PlaceAttached
	case p.Source == "":
		return wire.PlaceEverywhere
	}
	return wire.PlaceInherited
}

// silencersOf returns, by node, a rule that silences another one wherever both apply, and holds there too. A rule that is weaker silences
// nothing unless its relationship allows that.
func silencersOf(view *corpus.View, r *rule.Rule, places []federation.Place, now time.Time) map[string]string {
	by := map[string]string{}
	if len(places) == 0 {
		return by
	}
	for _, e := range corpus.Overriding(view, r.ID) {
		if !e.Rule.Judged() || e.Rule.Enforcement == rule.Shadow || !slices.ContainsFunc(e.Relationships, func(rel rule.Relationship) bool {
			return rel.Kind == rule.Overrides && rel.ToID == r.ID && (rel.AllowWeakening || len(e.Rule.Weakens(r)) == 0)
		}) {
			continue
		}
		for _, node := range federation.Both(places, federation.Where(view, e.Rule, now)) {
			if by[node] == "" {
				by[node] = e.Rule.ID
			}
		}
	}
	return by
}
