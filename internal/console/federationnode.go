package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/console/wordmark"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Views of the page of a node; without one, it shows the rules that hold there.
const (
	viewDiff  = "diff"
	viewBelow = "below"
)

// maxDiffed bounds the rules of each kind that a difference shows.
const maxDiffed = 50

// nodeView is the view of one node.
type nodeView struct {
	node     wire.NodeDetail
	view     string
	rules    []wire.HeldRule
	place    pager
	filtered bool
	problem  string
	diff     *nodeDiff
	branch   branch
}

// nodeDiff holds the changes of a node in the rules of its parent.
type nodeDiff struct {
	wire.FederationDiff

	overridden []overridden
}

// overridden is an override with the fields that it changes, word by word.
type overridden struct {
	wire.OverriddenRule

	changes []fieldChange
}

// nodePage shows a node: what holds there, what it changes, or what is below it.
func nodePage(p *page) error {
	id := p.r.PathValue("id")
	v := nodeView{view: p.r.URL.Query().Get("view")}
	var err error
	if v.node, err = client.Get(p.ctx, p.api, op.GetNode.At(id).Where(wire.NodeQuery{Brief: true})); err != nil {
		return err
	}
	switch v.view {
	case viewDiff:
		err = v.readDiff(p)
	case viewBelow:
		v.branch, err = branchOf(p, v.node.ID, "")
	default:
		v.view = ""
		err = v.readRules(p)
	}
	if err != nil {
		return err
	}
	return p.show(head{Title: v.node.Path, Nav: "federation"}, nodePageView(p, &v))
}

func (v *nodeView) readRules(p *page) error {
	query := p.r.URL.Query()
	q := wire.NodeRulesQuery{
		Q: query.Get("q"), Severity: query.Get("severity"), Modality: query.Get("modality"), Enforcement: query.Get("enforcement"),
		Origin: query.Get("origin"), SourceID: query.Get("source_node_id"), Weakened: query.Get("weakened") == "true",
	}
	v.filtered = q != wire.NodeRulesQuery{}
	q.PageQuery = wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}
	list, err := client.Get(p.ctx, p.api, op.ListNodeRules.At(v.node.ID).Where(q))
	if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	v.rules, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	return nil
}

func (v *nodeView) readDiff(p *page) error {
	found, err := client.Get(p.ctx, p.api, op.DiffNode.At(v.node.ID).Where(wire.DiffNodeQuery{Limit: maxDiffed}))
	if err != nil {
		return err
	}
	v.diff = &nodeDiff{FederationDiff: found}
	for _, o := range found.Overridden {
		one := overridden{OverriddenRule: o}
		for _, c := range o.Changes {
			one.changes = append(one.changes, fieldChange{strings.ReplaceAll(c.Field, "_", " "), wordmark.Compare(readable(c.Before), readable(c.After))})
		}
		v.diff.overridden = append(v.diff.overridden, one)
	}
	return nil
}

// sources are the nodes that can supply rules, the nearest first, for the filter.
func (v *nodeView) sources() []option {
	list := []option{{v.node.ID, visible(v.node.Name) + " (this node)"}}
	for _, ancestor := range slices.Backward(v.node.Ancestors) {
		list = append(list, option{ancestor.ID, visible(ancestor.Name)})
	}
	return list
}

// nodeTab is a view of a node with the number of things in it.
type nodeTab struct {
	view, label string
	n           int
}

func (v *nodeView) tabs() []nodeTab {
	c := v.node.Counts
	list := []nodeTab{{"", "Rules that hold", c.Inherited + c.Added + c.Overridden + c.Everywhere}}
	if v.node.ParentID != nil || c.Silenced > 0 {
		list = append(list, nodeTab{viewDiff, "Difference to the parent", c.Added + c.Overridden + c.Silenced})
	}
	return append(list, nodeTab{viewBelow, "Nodes below", v.node.Children})
}

// originWords says where a rule that holds at a node comes from.
func originWords(o wire.Origin) string {
	switch o {
	case wire.OriginAdded:
		return "added here"
	case wire.OriginOverride:
		return "overrides here"
	case wire.OriginInherited:
		return "inherited"
	case wire.OriginEverywhere:
		return "of no node"
	case wire.OriginIdle:
		return "attached, not in force"
	}
	return string(o)
}

func originOptions() []option {
	list := make([]option, len(wire.Origins))
	for i, o := range wire.Origins {
		list[i] = option{string(o), originWords(o)}
	}
	return list
}

// attachedHere reports whether a rule is attached to the node of the page itself.
func attachedHere(v *nodeView, r *wire.HeldRule) bool { return r.SourceNodeID == v.node.ID }

// overrideAddress is the form that overrides a rule at a node.
func overrideAddress(p *page, nodeID string, r *wire.RuleBrief) string {
	return nodeAddress(p, nodeID, "attach") + "?" + queryOf("overrides", cmp.Or(r.Slug, r.ID))
}

// detachAddress is the form that takes a rule off a node.
func detachAddress(p *page, nodeID, ruleID string) string {
	return nodeAddress(p, nodeID, "detach") + "?" + url.Values{"rule": {ruleID}}.Encode()
}

// why says who put a rule in the place of another, and why.
func why(reason, by string) string {
	if reason == "" {
		return "by " + by + ", without a reason"
	}
	return reason + " (" + by + ")"
}

// mayOverride reports whether a rule that holds at a node can be overridden there: one that an ancestor has.
func mayOverride(r *wire.HeldRule) bool { return r.Origin == wire.OriginInherited }

// byWhich names the rule that took the place of a silenced one; empty without one.
func byWhich(s *wire.SilencedAtNode) string { return cmp.Or(s.BySlug, s.ByRuleID) }

// tabAddress is the address of a view of a node.
func tabAddress(p *page, id, view string) string {
	if view == "" {
		return nodeAddress(p, id)
	}
	return nodeAddress(p, id) + "?" + queryOf("view", view)
}

// originTone is the class of the words about an origin.
func originTone(o wire.Origin) string {
	switch o {
	case wire.OriginAdded:
		return "good-text"
	case wire.OriginOverride:
		return "warn-text"
	case wire.OriginInherited, wire.OriginEverywhere, wire.OriginIdle:
	}
	return "muted"
}
