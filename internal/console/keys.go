package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// keys is the view of the list of API keys.
type keys struct {
	items []wire.Key
	place pager
	form  entry
	// secret is the one of a key just made, which no other page shows.
	made *wire.CreatedKey
}

// keyList shows API keys: those of the project of the page, or all.
func keyList(p *page) error {
	return showKeys(p, &keys{})
}

func showKeys(p *page, v *keys) error {
	list, err := client.Get(p.ctx, anywhere(p), op.ListKeys.Where(wire.KeyQuery{
		Every: p.project.ID == "", PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize},
	}))
	if err != nil {
		return err
	}
	v.items, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	// The page may hold a secret, which no cache is to keep.
	p.w.Header().Set("Cache-Control", "no-store")
	return p.showAs(v.form.code(), head{Title: "API keys", Nav: "operations"}, keysView(p, v))
}

// makeKey makes a key and shows its secret, this once. The answer to the form is the page itself: nothing stores the secret for another one.
func makeKey(p *page) error {
	v := keys{form: entry{values: p.r.PostForm}}
	body := wire.CreateKey{Name: v.form.get("name"), Role: v.form.get("role"), ProjectID: p.project.ID}
	if body.ProjectID == "" {
		body.ProjectID = v.form.get("of")
	}
	body.Owner, body.Agent, body.NodeID = v.form.get("owner"), v.form.get("agent"), v.form.get("node_id")
	if scope := v.form.get("scope"); scope != "" {
		body.Scopes = strings.Split(scope, ",")
	}
	for network := range strings.SplitSeq(v.form.get("networks"), ",") {
		if network = strings.TrimSpace(network); network != "" {
			body.Networks = append(body.Networks, network)
		}
	}
	if text := strings.TrimSpace(v.form.get("rate")); text != "" {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || rate <= 0 {
			v.form.bad("rate", "is not a number of requests per second")
			return showKeys(p, &v)
		}
		body.Rate = rate
	}
	if text := strings.TrimSpace(v.form.get("days")); text != "" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 || days > 3650 {
			v.form.bad("days", "is not a number of days from 1 to 3650")
			return showKeys(p, &v)
		}
		at := time.Now().AddDate(0, 0, days)
		body.ExpiresAt = &at
	}
	made, err := client.Call(p.ctx, p.api.InProject(body.ProjectID), op.CreateKey, body)
	if err != nil {
		if err := v.form.refuse(err, func(name string) string {
			return map[string]string{
				"name": "name", "role": "role", "project_id": "of", "expires_at": "days", "owner": "owner", "agent": "agent", "scopes": "scope",
				"networks": "networks", "node_id": "node_id", "rate": "rate",
			}[name]
		}); err != nil {
			return err
		}
		return showKeys(p, &v)
	}
	if p.local {
		// From now on the server wants a key, and this person has none but the new one.
		v.made = &made
		p.w.Header().Set("Cache-Control", "no-store")
		return p.showAs(http.StatusOK, head{Title: "API keys", Nav: "operations"}, firstKeyView(p, &made))
	}
	v.made, v.form = &made, entry{}
	return showKeys(p, &v)
}

// scopeChoices are the scopes that a key can be limited to.
var scopeChoices = []option{
	{"", "all that the role allows"},
	{string(auth.ScopeEvaluate), "evaluate only"},
	{string(auth.ScopeRead), "read only"},
	{string(auth.ScopeEvaluate) + "," + string(auth.ScopeRead), "evaluate and read"},
}

// overlapHours are the hours for which a rotated key still works, as the page offers them.
var overlapHours = []option{{"24", "24 hours"}, {"1", "1 hour"}, {"168", "7 days"}, {"0", "not at all"}}

// rotateKey makes a key in the place of another, and shows its secret, this once.
func rotateKey(p *page) error {
	of := p.project.ID
	if of == "" {
		of = p.r.PostForm.Get("of")
	}
	hours, err := strconv.ParseFloat(p.r.PostForm.Get("hours"), 64)
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "the hours are not a number")
	}
	made, err := client.Call(p.ctx, p.api.InProject(of), op.RotateKey.At(p.r.PostForm.Get("id")), wire.RotateKey{
		OverlapHours: wire.Optional[float64]{Set: true, Value: hours},
	})
	if err != nil {
		return err
	}
	return showKeys(p, &keys{made: &made})
}

// changeKey changes the name, the networks and the rate of a key.
func changeKey(p *page) error {
	form := p.r.PostForm
	of := p.project.ID
	if of == "" {
		of = form.Get("of")
	}
	name := form.Get("name")
	networks := strings.FieldsFunc(form.Get("networks"), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' })
	body := wire.ChangeKey{Name: &name, Networks: wire.Some(append([]string{}, networks...)), Rate: wire.Some(0.0)}
	if text := strings.TrimSpace(form.Get("rate")); text != "" {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || rate <= 0 {
			return rule.Errorf(rule.CodeInvalid, "the rate is not a number of requests per second")
		}
		body.Rate = wire.Some(rate)
	}
	if _, err := client.Call(p.ctx, p.api.InProject(of), op.ChangeKey.At(form.Get("id")), body); err != nil {
		return err
	}
	p.say("The key is changed.")
	return p.redirect(operationsPlace(p, "keys"))
}

// keyRate is the rate of a key for a form; empty without one.
func keyRate(k *wire.Key) string {
	if k.Rate == 0 {
		return ""
	}
	return strconv.FormatFloat(k.Rate, 'g', -1, 64)
}

// revokeKey ends a key.
func revokeKey(p *page) error {
	id, of := p.r.PostForm.Get("id"), p.project.ID
	if of == "" {
		of = p.r.PostForm.Get("of")
	}
	if id == p.who.KeyID {
		return rule.Errorf(rule.CodeConflict, "you are signed in with this key; sign in with another one to revoke it")
	}
	if err := client.Run(p.ctx, p.api.InProject(of), op.RevokeKey.At(id)); err != nil {
		return err
	}
	p.say("The key is revoked.")
	return p.redirect(operationsPlace(p, "keys"))
}

// keyState is the state of a key in a word, and its tone.
func keyState(k *wire.Key, now time.Time) (words, tone string) {
	switch {
	case k.RevokedAt != nil:
		return "revoked", "plain"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return "expired", "warn"
	}
	return "good", "good"
}

// roleChoices are the roles of keys with what they may do.
var roleChoices = []option{
	{string(auth.Viewer), "viewer: reads"},
	{string(auth.Evaluator), "evaluator: has things judged"},
	{string(auth.Reviewer), "reviewer: writes and approves rules"},
	{string(auth.Admin), "admin: manages keys and projects"},
}

// keyPlaces are the projects that a key can be for.
func keyPlaces(p *page) []option {
	list := []option{{store.AllProjects, "all projects"}}
	for i := range p.projects {
		list = append(list, option{p.projects[i].ID, visible(p.projects[i].Name)})
	}
	return list
}
