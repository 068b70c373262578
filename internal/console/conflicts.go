package console

import (
	"cmp"
	"context"
	"html"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// conflictFilters are the filters of the list of conflicts besides the state; the API has them by the same names.
var conflictFilters = []string{"q", "rule_id", "found_by", "severity_min", "min_confidence"}

// conflictStates are the states by which the list is divided. The first is the one that it begins with.
var conflictStates = []option{
	{store.ConflictSuggested, "To decide"}, {store.ConflictConfirmed, "Confirmed"}, {store.ConflictRejected, "Rejected"}, {store.ConflictClosed, "Closed"}, {"all", "All"},
}

// conflictTests names what finds conflicts.
var conflictTests = []option{
	{"force", "One demands, the other forbids"},
	{"limit", "Different limits"},
	{"threshold", "Different thresholds"},
	{"value", "Values that exclude each other"},
	{"model", "A model"},
	{"person", "A person"},
}

// conflicts is the view of the list of conflicts.
type conflicts struct {
	items    []wire.Conflict
	place    pager
	state    string
	filtered bool
	problem  string
	reason   string // the last one, for the next decision
	undo     int    // decisions that can be taken back
	decides  bool   // some item offers a decision to this person
	leftOut  int    // contradictions that are not listed
}

// conflictList shows pairs of rules that contradict each other.
func conflictList(p *page) error {
	given := p.r.URL.Query()
	v := conflicts{state: cmp.Or(given.Get("state"), store.ConflictSuggested), reason: p.console.sessions.GetString(p.ctx, reasonValue)}
	query := url.Values{}
	for _, name := range conflictFilters {
		if text := given.Get(name); text != "" {
			query.Set(name, text)
		}
	}
	v.filtered = len(query) > 0
	if v.state != "all" {
		query.Set("state", v.state)
	}
	o := op.ListConflicts.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: conflictsShown})
	maps.Copy(o.Query, query)
	list, err := client.Get(p.ctx, p.api, o)
	if rule.CodeOf(err) == rule.CodeNotFound && query.Has("rule_id") {
		v.problem = "There is no rule " + query.Get("rule_id") + " in this project."
	} else if v.problem, err = refusedFilter(err); err != nil {
		return err
	}
	v.leftOut = list.LeftOut
	v.items, v.place = list.Items, pager{pageOf(p.r), conflictsShown, len(list.Items), list.Total}
	v.decides = p.may(auth.Reviewer) && slices.ContainsFunc(v.items, func(c wire.Conflict) bool { return c.State == store.ConflictSuggested })
	if kept, ok := p.console.sessions.Get(p.ctx, undoValue).(undo); ok && p.may(auth.Reviewer) {
		v.undo = len(kept.Items)
	}
	return p.show(head{Title: "Conflicts", Nav: "conflicts"}, conflictsView(p, v))
}

// conflictsShown is the number of pairs on a page: each takes some lines.
const conflictsShown = 25

// scanConflicts has the server compare all rules.
func scanConflicts(p *page) error {
	if _, err := client.Call(p.ctx, p.api, op.ScanConflicts, wire.ScanConflicts{}); err != nil {
		return err
	}
	p.say("The server compares all rules now. What it finds appears here.")
	return p.redirect(p.at("conflicts"))
}

// conflictView is the view of one conflict.
type conflictView struct {
	wire.Conflict

	rules  [2]rule.Rule // the one that brought it first
	form   entry
	way    string // of mending, that the form is for: change, exception, override; empty for none
	side   int    // whose statement is changed in place
	tried  *wire.MendedConflict
	reason string
}

// conflictPage shows two rules side by side, and lets a reviewer decide on their conflict or mend it.
func conflictPage(p *page) error {
	v, err := readConflict(p)
	if err != nil {
		return err
	}
	if given := p.r.URL.Query().Get("change"); given != "" {
		v.way = "change"
		if given == v.rules[1].ID {
			v.side = 1
		}
		fillChange(v)
	}
	return showConflict(p, v)
}

// readConflict reads the conflict of the address with its rules.
func readConflict(p *page) (*conflictView, error) {
	v := &conflictView{form: entry{values: url.Values{}, prefix: "m-"}, reason: p.console.sessions.GetString(p.ctx, reasonValue)}
	var err error
	if v.Conflict, err = client.Get(p.ctx, p.api, op.GetConflict.At(p.r.PathValue("id"))); err != nil {
		return nil, err
	}
	for i, id := range []string{v.Rule.ID, v.Other.ID} {
		if v.rules[i], err = client.Get(p.ctx, p.api, op.GetRule.At(id)); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func showConflict(p *page, v *conflictView) error {
	title := v.rules[0].Label() + " and " + v.rules[1].Label()
	return p.showAs(v.form.code(), head{Title: title, Nav: "conflicts"}, conflictPageView(p, v))
}

// fillChange puts the rule that is changed into the form.
func fillChange(v *conflictView) {
	r := &v.rules[v.side]
	v.form.values = url.Values{
		"statement": {r.Statement}, "modality": {string(r.Modality)}, "scope": {strings.Join(r.Scope, ", ")}, "exceptions": {strings.Join(r.Exceptions, "\n")},
	}
}

// open reports whether somebody may decide on the conflict or mend it.
func (v *conflictView) open() bool {
	return v.State == store.ConflictSuggested || v.State == store.ConflictConfirmed
}

// mendConflict tries or makes the change of a form.
func mendConflict(p *page) error {
	v, err := readConflict(p)
	if err != nil {
		return err
	}
	form := p.r.PostForm
	v.form.values, v.way = form, form.Get("way")
	if form.Get("rule") == v.rules[1].ID {
		v.side = 1
	}
	body, err := readMending(v)
	if err != nil {
		return err
	}
	body.DryRun = form.Get("do") == "try"
	out, err := client.Call(p.ctx, p.api, op.MendConflict.At(v.ID), body)
	if err != nil {
		if err := v.form.refuse(err, v.field); err != nil {
			return err
		}
		return showConflict(p, v)
	}
	if body.DryRun {
		v.tried, v.Conflict = &out, out.Conflict
		return showConflict(p, v)
	}
	switch out.Outcome {
	case wire.MendOutcomeWaits:
		p.say("The change waits for a second person, and the conflict with it.")
	case wire.MendOutcomeRemains:
		p.warn("The change is stored, but the rules still contradict each other: " + out.Reason)
	default:
		p.say("The conflict is mended and closed.")
	}
	return p.redirect(p.at("conflicts", v.ID))
}

// readMending reads the request from the form.
func readMending(v *conflictView) (wire.MendConflict, error) {
	form, r := &v.form, &v.rules[v.side]
	body := wire.MendConflict{Rule: form.get("rule"), Reason: strings.TrimSpace(form.get("reason")), AllowWeakening: form.get("allow_weakening") != ""}
	switch v.way {
	case "change":
		body.Version, body.Change = r.Version, &wire.ReviseRule{}
		if shown := form.get("version"); shown != number(r.Version) {
			return body, rule.Errorf(rule.CodePrecondition, "%s has changed since you opened the form; look at the conflict again", r.Label())
		}
		assign(&body.Change.Statement, strings.ReplaceAll(form.get("statement"), "\r\n", "\n"), r.Statement)
		assign(&body.Change.Modality, rule.Modality(form.get("modality")), r.Modality)
		if scope := splitList(form.get("scope"), true); !slices.Equal(scope, r.Scope) {
			body.Change.Scope = wire.Optional[[]string]{Set: true, Value: scope}
		}
		if list := splitList(form.get("exceptions"), false); !slices.Equal(list, r.Exceptions) {
			body.Change.Exceptions = wire.Optional[[]string]{Set: true, Value: list}
		}
	case "exception":
		if body.Exception = strings.TrimSpace(form.get("exception")); body.Exception == "" {
			return body, rule.Errorf(rule.CodeInvalid, "the form has no exception; say which case the rule leaves out")
		}
	case "override":
		body.Override = true
	default:
		return body, rule.Errorf(rule.CodeInvalid, "the form does not say how the conflict is to be mended; press one of its buttons")
	}
	return body, nil
}

// assign sets a field of a change if it differs.
func assign[T comparable](field *wire.Optional[T], value, before T) {
	if value != before {
		*field = wire.Optional[T]{Set: true, Value: value}
	}
}

// field is the field of the form that an error of the API is about. The forms beside that of a change show errors above all.
func (v *conflictView) field(name string) string {
	name = strings.TrimPrefix(name, "change.")
	if v.way == "change" && slices.Contains([]string{"statement", "modality", "scope", "exceptions", "reason"}, name) {
		return name
	}
	return ""
}

// foundWords says what has found a conflict.
func foundWords(by string) string {
	switch by {
	case "model":
		return "by a model"
	case "person":
		return "by a person, who has related the two"
	}
	for _, t := range conflictTests {
		if t.Value == by {
			return "by the test for this: " + strings.ToLower(t.Label)
		}
	}
	return "by " + by
}

// silences says why one rule may not silence another without permission; empty if it may.
func silences(one, other *rule.Rule) string {
	return strings.Join(one.Weakens(other), ", ")
}

// bound reports whether an override of a rule is refused because two people must agree to it.
func bound(p *page, r *rule.Rule) bool {
	return p.project.TwoPerson && (r.Status == rule.Approved || r.Status == rule.Effective)
}

// weakened reports whether one person may let a rule demand less only by saying that it is meant.
func weakened(p *page, r *rule.Rule) bool {
	return r.Guarded() && !p.project.TwoPerson && (r.Status == rule.Approved || r.Status == rule.Effective)
}

// exceptionFor is the exception to a rule that leaves out what another rule is about.
func exceptionFor(other *rule.Rule) string {
	if other.Slug == "" {
		return ""
	}
	return "What " + other.Slug + " is about."
}

// clashing shows a statement with the words that clash marked; at most limit bytes of it, 0 for all.
func clashing(pieces []wire.TextPiece, limit int) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteString(`<span class="lines"><bdi>`)
		rest := limit
		for _, piece := range pieces {
			text := piece.Text
			if limit > 0 {
				if rest <= 0 {
					b.WriteString(html.EscapeString("…"))
					break
				}
				text = clipText(text, rest)
				rest -= len(piece.Text)
			}
			if piece.Clash {
				b.WriteString(`<mark class="clash">`)
				writeText(&b, text)
				b.WriteString("</mark>")
			} else {
				writeLine(&b, text)
			}
		}
		b.WriteString("</bdi></span>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// maxClashing bounds a statement in the list, in bytes.
const maxClashing = 600

// pieces is the marked statement of one side.
func (v *conflictView) pieces(i int) []wire.TextPiece {
	if i == 0 {
		return v.Rule.Pieces
	}
	return v.Other.Pieces
}

// typed returns the text of a field of the form of one way, when the page shows it again.
func (v *conflictView) typed(way, name string) string {
	if v.way != way {
		return ""
	}
	return v.form.get(name)
}

// exceptionHint is an example of an exception.
func exceptionHint(v *conflictView) string {
	return cmp.Or(exceptionFor(&v.rules[1]), exceptionFor(&v.rules[0]), "Refunds to customers of the year before.")
}

func join(list []string) string { return strings.Join(list, ", ") }

func joinLines(list []string) string { return strings.Join(list, "\n") }
