package console

import (
	"encoding/json"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/console/wordmark"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// ruleView is the view of one rule.
type ruleView struct {
	rule    rule.Rule
	moves   []rule.Status // where it may go from its status
	waiting []proposal
	cases   []wire.Case
	links   []ruleLink
	health  wire.Health
	quality wire.RuleQuality
	denials []wire.EvaluationSummary
	waivers []rule.Waiver
	nodes   wire.RuleNodes // the first nodes at which it holds, or would
}

// ruleLink is a relationship as its rule sees it.
type ruleLink struct {
	rule.Relationship

	out   bool // from the rule, not to it
	other string
	label string // of the other rule
}

// Bounds of a page of a rule.
const (
	maxDenials = 10
	maxNodes   = 10 // nodes at which it holds
	maxLinks   = 20 // other rules that are named; those beyond it show their ids
)

// rulePage shows one rule: what it says, where it comes from, how it fares.
func rulePage(p *page) error {
	id := p.r.PathValue("id")
	var v ruleView
	var err error
	if v.rule, err = client.Get(p.ctx, p.api, op.GetRule.At(id)); err != nil {
		return err
	}
	id = v.rule.ID
	v.moves = rule.NextStatuses(v.rule.Status)
	if v.waiting, err = proposalsOf(p, id); err != nil {
		return err
	}
	if v.cases, err = client.Get(p.ctx, p.api, op.ListTestCases.At(id)); err != nil {
		return err
	}
	if v.links, err = linksOf(p, id); err != nil {
		return err
	}
	if v.health, err = client.Get(p.ctx, p.api, op.RuleHealth.At(id)); err != nil {
		return err
	}
	if v.quality, err = client.Get(p.ctx, p.api, op.RuleQuality.At(id)); err != nil {
		return err
	}
	denials, err := client.Get(p.ctx, p.api, op.ListEvaluations.Where(wire.EvaluationQuery{
		Rule: id, RuleVerdict: string(wire.RuleViolated), PageQuery: wire.PageQuery{Page: 1, PageSize: maxDenials},
	}))
	if err != nil {
		return err
	}
	waivers, err := client.Get(p.ctx, p.api, op.ListWaivers.Where(wire.WaiverQuery{RuleID: id, PageQuery: wire.PageQuery{Page: 1, PageSize: listSize}}))
	if err != nil {
		return err
	}
	v.denials, v.waivers = denials.Items, waivers.Items
	if v.nodes, err = client.Get(p.ctx, p.api, op.ListRuleNodes.At(id).Where(wire.PageQuery{Page: 1, PageSize: maxNodes})); err != nil {
		return err
	}
	return p.show(head{Title: v.rule.Label(), Nav: "rules"}, rulePageView(p, v))
}

// linksOf lists the relationships of a rule with the names of the other rules.
func linksOf(p *page, id string) ([]ruleLink, error) {
	found, err := client.Get(p.ctx, p.api, op.ListRelationships.At(id).Where(wire.PageQuery{Page: 1, PageSize: listSize}))
	if err != nil {
		return nil, err
	}
	var list []ruleLink
	for _, r := range found.Items {
		l := ruleLink{Relationship: r, out: r.FromID == id, other: r.FromID}
		if l.out {
			l.other = r.ToID
		}
		l.label = l.other
		if len(list) < maxLinks {
			other, err := client.Get(p.ctx, p.api, op.GetRule.At(l.other))
			if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
				return nil, err
			}
			if err == nil {
				l.label = other.Label()
			}
		}
		list = append(list, l)
	}
	return list, nil
}

// version is a version of a rule and what it changed.
type version struct {
	rule    rule.Rule
	changes []fieldChange
}

// fieldChange is the change of one field, word by word.
type fieldChange struct {
	name   string
	pieces []wordmark.Piece
}

// ruleVersions shows the versions of a rule, newest first, each with what it changed.
func ruleVersions(p *page) error {
	current, err := client.Get(p.ctx, p.api, op.GetRule.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	const size = 20
	number := pageOf(p.r)
	found, err := client.Get(p.ctx, p.api, op.ListRuleVersions.At(current.ID).Where(wire.PageQuery{Page: number, PageSize: size}))
	if err != nil {
		return err
	}
	list := make([]version, len(found.Items))
	for i, r := range found.Items {
		list[i].rule = r
		before, err := versionBefore(p, found.Items, i)
		if err != nil {
			return err
		}
		if before != nil {
			list[i].changes = changesOf(*before, r)
		}
	}
	place := pager{number, size, len(list), found.Total}
	return p.show(head{Title: current.Label() + ", versions", Nav: "rules"}, versionsView(p, current, list, place))
}

// versionBefore returns the version before the one at an index of a list, newest first; nil before the first.
func versionBefore(p *page, list []rule.Rule, i int) (*rule.Rule, error) {
	if i+1 < len(list) {
		return &list[i+1], nil
	}
	if list[i].Version == 1 {
		return nil, nil
	}
	found, err := client.Get(p.ctx, p.api, op.GetRuleVersion.At(list[i].ID, number(list[i].Version-1)))
	return &found, err
}

// changesOf lists the fields in which two versions differ, word by word.
func changesOf(before, after rule.Rule) []fieldChange {
	var list []fieldChange
	for _, c := range rule.Diff(before, after) {
		list = append(list, fieldChange{name: strings.ReplaceAll(c.Field, "_", " "), pieces: wordmark.Compare(readable(c.Before), readable(c.After))})
	}
	return list
}

// readable is a value of a field as text for people: a text as it is, a list of texts by lines, anything else as indented JSON.
func readable(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return strings.Join(list, "\n")
	}
	var any any
	if json.Unmarshal(value, &any) != nil || any == nil {
		return ""
	}
	pretty, err := plainJSON(any, "  ")
	if err != nil {
		return string(value)
	}
	return pretty
}

// plainJSON writes a value as JSON for people, who read < and & rather than their codes.
func plainJSON(value any, indent string) (string, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// moveRule moves a rule to another status.
func moveRule(p *page) error {
	id, form := p.r.PathValue("id"), p.r.PostForm
	o := op.TransitionRule.At(id)
	if shown := form.Get("version"); shown != "" {
		o = o.With("If-Match", `"`+shown+`"`) // the version that the person has read
	}
	moved, err := client.Call(p.ctx, p.api, o, wire.Transition{To: rule.Status(form.Get("to")), Note: form.Get("note")})
	if err != nil {
		return err
	}
	p.say(moved.Label() + " is " + string(moved.Status) + " now.")
	return p.redirect(p.at("rules", moved.ID))
}

// checkText is the check of a rule as text.
func checkText(c *rule.Check) string {
	switch {
	case c.CEL != "":
		return c.CEL
	case c.Pattern != nil:
		return c.Pattern.Regex
	}
	return ""
}

// moveWords says what a transition does.
func moveWords(from, to rule.Status) string {
	switch to {
	case rule.Review:
		if from == rule.Approved {
			return "Back to review"
		}
		return "Submit for review"
	case rule.Approved:
		return "Approve"
	case rule.Effective:
		return "Publish"
	case rule.Retired:
		return "Retire"
	case rule.Draft:
		return "Back to draft"
	case rule.Superseded:
		return "Mark as superseded"
	}
	return string(to)
}

// moveKey is the key that presses the button of a transition.
func moveKey(to rule.Status) string {
	switch to {
	case rule.Approved, rule.Effective:
		return "a"
	case rule.Draft:
		return "d"
	case rule.Review, rule.Retired, rule.Superseded:
	}
	return ""
}

// knownParts lists the parts of a score that could be measured.
func knownParts(h wire.Health) []wire.Part {
	return slices.DeleteFunc(slices.Clone(h.Parts), func(part wire.Part) bool { return !part.Known || part.Value == nil })
}
