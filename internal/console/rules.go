package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// ruleFilters are the filters of the list of rules; the API has them by the same names.
var ruleFilters = []string{"q", "status", "severity", "modality", "enforcement", "scope", "tags", "owner", "cites", "document_id", "has_check", "has_tests", "sort"}

// rules is the view of the list of rules.
type rules struct {
	items    []rule.Rule
	place    pager
	filtered bool
	problem  string
	moves    []rule.Status // where rules may be moved in bulk
	columns  []string      // names of those that are shown beside the rule
}

// column is a column of the list that a person may choose.
type column struct {
	name, label string
	order       string // the first order that its head leads to; empty for none
	usual       bool   // shown unless others are chosen
}

var columns = []column{
	{"status", "Status", "status", true},
	{"severity", "Severity", "-severity", true},
	{"modality", "Modality", "", true},
	{"enforcement", "Enforcement", "", false},
	{"scope", "Scope", "", true},
	{"tags", "Tags", "", true},
	{"owner", "Owner", "owner", true},
	{"changed", "Changed", "-updated_at", true},
	{"check", "Check", "-has_check", true},
	{"tests", "Tests", "-tests", true},
	{"health", "Health", "health", false},
	{"source", "Source", "", false},
}

// columnsOf reads the columns that an address names; the usual ones if it names none.
func columnsOf(query url.Values) []string {
	var list []string
	chosen := query["col"]
	for _, c := range columns {
		if len(chosen) == 0 && c.usual || slices.Contains(chosen, c.name) {
			list = append(list, c.name)
		}
	}
	return list
}

// healthBands are the bounds of the health score that the list can be filtered by.
var healthBands = []struct{ name, label, from, to string }{
	{"poor", "Below 50", "0", "49"},
	{"fair", "50 to 74", "50", "74"},
	{"good", "75 and more", "75", "100"},
}

func healthOptions() []option {
	list := make([]option, len(healthBands))
	for i, b := range healthBands {
		list[i] = option{b.name, b.label}
	}
	return list
}

// sourcesOf is the sources of a rule in a line.
func sourcesOf(r *rule.Rule) string {
	var list []string
	for _, s := range r.SourceRefs {
		list = append(list, strings.Join(strings.Fields(cmp.Or(strings.TrimSpace(s.URI+" "+s.Section), s.DocumentID, s.Kind)), " "))
	}
	return strings.Join(list, "; ")
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
	maps.Copy(o.Query, query)
	shown := columnsOf(p.r.URL.Query())
	if slices.Contains(shown, "health") {
		o.Query.Set("with_health", "true")
	}
	for _, b := range healthBands {
		if b.name == p.r.URL.Query().Get("health") {
			query.Set("health", b.name)
			o.Query.Set("health_min", b.from)
			o.Query.Set("health_max", b.to)
		}
	}
	list, err := client.Get(p.ctx, p.api, o)
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	v := rules{items: list.Items, place: pager{pageOf(p.r), listSize, len(list.Items), list.Total}, filtered: len(query) > len(query["sort"]), problem: problem, columns: shown}
	v.moves = []rule.Status{rule.Review, rule.Approved, rule.Effective, rule.Draft, rule.Retired}
	return p.show(head{Title: "Rules", Nav: "rules"}, rulesView(p, v))
}

// reverse is an order the other way round.
func reverse(order string) string {
	if field, ok := strings.CutPrefix(order, "-"); ok {
		return field
	}
	return "-" + order
}

// nextOrder is the order that the head of a column leads to.
func nextOrder(p *page, order string) string {
	if p.r.URL.Query().Get("sort") == order {
		return reverse(order)
	}
	return order
}

// sorting is the value of aria-sort of a column.
func sorting(p *page, order string) string {
	switch now := p.r.URL.Query().Get("sort"); {
	case now != order && now != reverse(order):
		return "none"
	case strings.HasPrefix(now, "-"):
		return "descending"
	}
	return "ascending"
}

// sortMark shows the order of a column.
func sortMark(p *page, order string) string {
	return map[string]string{"ascending": " ↑", "descending": " ↓"}[sorting(p, order)]
}

// maxMoved bounds the rules that one form changes.
const maxMoved = 500

// moveRules moves the selected rules to another status.
func moveRules(p *page) error {
	to, note := rule.Status(p.r.PostForm.Get("to")), p.r.PostForm.Get("note")
	return eachSelected(p, "Moved to "+string(to), func(id string) error {
		_, err := client.Call(p.ctx, p.api, op.TransitionRule.At(id), wire.Transition{To: to, Note: note})
		return err
	})
}

// tagRules adds a tag to the selected rules, or takes it away.
func tagRules(p *page) error {
	form := p.r.PostForm
	tag, add := strings.TrimSpace(form.Get("tag")), form.Get("do") == "add"
	if tag == "" {
		return rule.Errorf(rule.CodeInvalid, "the form names no tag; type one, then press the button again")
	}
	said := "Now with the tag " + tag
	if !add {
		said = "Now without the tag " + tag
	}
	return eachSelected(p, said, func(id string) error {
		current, err := client.Get(p.ctx, p.api, op.GetRule.At(id))
		if err != nil {
			return err
		}
		same := func(other string) bool { return strings.EqualFold(other, tag) }
		if slices.ContainsFunc(current.Tags, same) == add {
			return nil
		}
		tags := slices.DeleteFunc(slices.Clone(current.Tags), same)
		if add {
			tags = append(tags, tag)
		}
		revised, err := client.Call(p.ctx, p.api, op.ReviseRule.At(id).IfMatch(current.Version), map[string]any{"tags": tags, "change_note": form.Get("note")})
		if err == nil && slices.ContainsFunc(revised.Tags, same) != add {
			err = rule.Errorf(rule.CodeConflict, "the change of %s waits for a second person", current.Label())
		}
		return err
	})
}

// eachSelected does something with each selected rule on its own: a rule that refuses does not keep the others. The next page says
// how many are done, and names the reasons of the others.
func eachSelected(p *page, done string, act func(id string) error) error {
	ids := p.r.PostForm["id"]
	switch {
	case len(ids) == 0:
		return rule.Errorf(rule.CodeInvalid, "no rule is selected; select some in the list, then press the button again")
	case len(ids) > maxMoved:
		return rule.Errorf(rule.CodeInvalid, "%d rules are selected; select at most %d", len(ids), maxMoved)
	}
	var refused []string
	for _, id := range ids {
		err := act(id)
		switch code := rule.CodeOf(err); {
		case err == nil:
		case code == rule.CodeForbidden, code == rule.CodeInternal, code == rule.CodeUnavailable:
			return err
		default:
			refused = append(refused, err.Error())
		}
	}
	said := fmt.Sprintf("%s: %d of %s.", done, len(ids)-len(refused), counted(int64(len(ids)), "rule", "rules"))
	if len(refused) == 0 {
		p.say(said)
	} else {
		p.warn(clipText(said+" The others: "+strings.Join(refused, "; "), maxSaid))
	}
	return p.redirect(p.from())
}

// maxSaid bounds the bytes of a sentence that the session carries to the next page.
const maxSaid = 2_000

// exportRules answers with the rules of the project as a file.
func exportRules(p *page) error {
	body, err := client.Get(p.ctx, p.api, op.ExportRules.Where(wire.ExportQuery{Format: "yaml"}))
	if err != nil {
		return err
	}
	return p.download(p.project.ID+"-rules.yaml", "application/yaml", body)
}
