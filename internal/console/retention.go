package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// keeping is the view of how long a project keeps its records, and of its legal holds.
type keeping struct {
	retention wire.Retention
	privacy   wire.Privacy
	holds     []rule.LegalHold
	place     pager
	form      entry // that was sent
	// times and hold are the forms of the page.
	times, hold, forget, personal entry
}

// retentionPage shows how long a project keeps its records.
func retentionPage(p *page) error { return showRetention(p, &keeping{}) }

func showRetention(p *page, v *keeping) error {
	var err error
	if v.retention, err = client.Get(p.ctx, p.api, op.GetRetention); err != nil {
		return err
	}
	if v.privacy, err = client.Get(p.ctx, p.api, op.GetPrivacy); err != nil {
		return err
	}
	list, err := client.Get(p.ctx, p.api, op.ListHolds.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}))
	if err != nil {
		return err
	}
	v.holds, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	switch v.form.get("do") {
	case "times":
		v.times = v.form
	case "place":
		v.hold = v.form
	case "forget":
		v.forget = v.form
	case "personal":
		v.personal = v.form
	}
	v.hold.prefix, v.forget.prefix, v.personal.prefix = "hold-", "forget-", "personal-"
	if v.personal.values == nil {
		v.personal.values = url.Values{"people": {strings.Join(v.privacy.Policy.People, " ")}, "fields": {strings.Join(v.privacy.Policy.Fields, " ")}}
	}
	if v.times.values == nil {
		v.times.values = url.Values{}
		for i := range v.retention.Kinds {
			k := &v.retention.Kinds[i]
			if k.Days != nil {
				v.times.values.Set("days-"+k.Kind, strconv.Itoa(*k.Days))
			}
			v.times.values.Set("minimum-"+k.Kind, strconv.Itoa(k.Minimum))
		}
		if v.retention.HighRisk {
			v.times.values.Set("high_risk", "1")
		}
	}
	return p.showAs(v.form.code(), head{Title: "Retention", Nav: "operations"}, retentionView(p, v))
}

// changeRetention carries out a form of the page.
func changeRetention(p *page) error {
	v := &keeping{form: entry{values: p.r.PostForm}}
	said, err := v.act(p)
	if err == nil && !v.form.fails() {
		p.say(said)
		return p.redirect(p.at("operations", "retention"))
	}
	if err != nil {
		if err := v.form.refuse(err, retentionField); err != nil {
			return err
		}
	}
	return showRetention(p, v)
}

// act sends a form to the API, and returns the words about what was done.
func (v *keeping) act(p *page) (said string, err error) {
	switch v.form.get("do") {
	case "confirm":
		_, err = client.Get(p.ctx, p.api, op.ConfirmRetention)
		return "The shorter times are in force.", err
	case "withdraw":
		_, err = client.Get(p.ctx, p.api, op.WithdrawRetention)
		return "The proposal is withdrawn.", err
	case "lift":
		_, err = client.Call(p.ctx, p.api, op.LiftHold.At(v.form.get("id")), wire.LiftHold{Reason: v.form.get("reason")})
		return "The legal hold is lifted.", err
	case "personal":
		named := rule.Personal{People: strings.Fields(v.form.get("people")), Fields: strings.Fields(v.form.get("fields"))}
		_, err = client.Call(p.ctx, p.api, op.ChangeProject.At(p.project.ID), wire.ChangeProject{Policy: &wire.ProjectPolicyInput{Personal: wire.Some(named), Reason: strings.TrimSpace(v.form.get("reason"))}})
		return "New records hold these fields encrypted.", err
	case "forget":
		f, err := client.Call(p.ctx, p.api, op.ForgetPerson, wire.ForgetPerson{PersonRef: wire.PersonRef{Person: v.form.get("person")}, Reason: v.form.get("reason")})
		if rule.CodeOf(err) == rule.CodeNotFound {
			v.form.bad("person", "No record holds data under this name.")
			return "", nil
		}
		return "The person is forgotten, in " + counted(int64(f.Records), "evaluation", "evaluations") + ".", err
	case "place":
		in := wire.PlaceHold{
			Reason: v.form.get("reason"), Rule: v.form.get("rule"), Scope: v.form.get("scope"), NodeID: v.form.get("node_id"), Repository: v.form.get("repository"),
			Actor: v.form.get("actor"), Since: v.day("since"), Until: v.day("until"),
		}
		if v.form.fails() {
			return "", nil
		}
		h, err := client.Call(p.ctx, p.api, op.PlaceHold, in)
		covered := 0
		if h.Evaluations != nil {
			covered = *h.Evaluations
		}
		return "The legal hold is placed. It covers " + counted(int64(covered), "evaluation", "evaluations") + " by now.", err
	}
	marked := v.form.get("high_risk") != ""
	in := wire.ChangeRetention{HighRisk: &marked, Reason: v.form.get("reason"), Kinds: map[string]wire.ChangeKeepTime{}}
	for _, kind := range rule.KeptKinds {
		least := v.number("minimum-" + kind)
		t := wire.ChangeKeepTime{Days: wire.Optional[int]{Set: true, Null: true}, Minimum: &least}
		if strings.TrimSpace(v.form.get("days-"+kind)) != "" {
			t.Days = wire.Some(v.number("days-" + kind))
		}
		in.Kinds[kind] = t
	}
	if v.form.fails() {
		return "", nil
	}
	r, err := client.Call(p.ctx, p.api, op.ChangeRetention, in)
	if r.Proposal != nil {
		return "This shortens a minimum, so it is proposed: another administrator must confirm it.", err
	}
	return "The times are stored.", err
}

// number reads a field of days; an empty one is 0.
func (v *keeping) number(name string) int {
	text := strings.TrimSpace(v.form.get(name))
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		v.form.bad(name, "This is not a number of days.")
	}
	return n
}

// day reads a field with a date; nil if it is empty.
func (v *keeping) day(name string) *time.Time {
	text := strings.TrimSpace(v.form.get(name))
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		v.form.bad(name, "Write a date such as 2026-12-31.")
	}
	return &at
}

// retentionField is the field of the form that a field of the request is in, or empty.
func retentionField(name string) string {
	if rest, ok := strings.CutPrefix(name, "policy."); ok {
		rest, _, _ = strings.Cut(strings.TrimPrefix(rest, "personal."), "[")
		return rest
	}
	if rest, ok := strings.CutPrefix(name, "kinds."); ok {
		kind, what, _ := strings.Cut(rest, ".")
		if what == "minimum_days" {
			return "minimum-" + kind
		}
		return "days-" + kind
	}
	return name
}

// keptDays shows a time in days.
func keptDays(n int) string {
	if n == 0 {
		return "without limit"
	}
	return counted(int64(n), "day", "days")
}

// keptNames are the kinds of what is kept, in words.
var keptNames = map[string]string{
	rule.KeptEvaluations: "Records of evaluations", rule.KeptAgents: "Records of requests to agents", rule.KeptSubmissions: "Names of submissions", rule.KeptScans: "Candidates of scans",
}

// holdConditions lists the conditions of a legal hold.
func holdConditions(h *rule.LegalHold) []string {
	var list []string
	for _, c := range [][2]string{{"rule ", h.Rule}, {"scope ", h.Scope}, {"node ", h.NodeID}, {"repository ", h.Repository}, {"asked by ", h.Actor}} {
		if c[1] != "" {
			list = append(list, c[0]+c[1])
		}
	}
	if h.Since != nil {
		list = append(list, "from "+h.Since.Format(time.DateOnly))
	}
	if h.Until != nil {
		list = append(list, "before "+h.Until.Format(time.DateOnly))
	}
	if list == nil {
		list = []string{"all records"}
	}
	return list
}
