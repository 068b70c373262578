package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// operationsPeriod is how many days of usage the first screen of operations sums up.
const operationsPeriod = 14

// tab is a screen of operations.
type tab struct{ name, label, address string }

// operationsTabs are the screens of operations: those of the project of the page, or those of the cluster.
func operationsTabs(p *page) []tab {
	if p.project.ID != "" {
		return []tab{
			{"project", "Project", p.at("operations")},
			{"jobs", "Jobs", p.at("operations", "jobs")},
			{"keys", "Keys", p.at("operations", "keys")},
			{"usage", "Usage", p.at("operations", "usage")},
			{"retention", "Retention", p.at("operations", "retention")},
		}
	}
	return []tab{
		{"cluster", "Cluster", "/operations"},
		{"jobs", "Jobs", "/operations/jobs"},
		{"keys", "Keys", "/operations/keys"},
		{"projects", "Projects", "/operations/projects"},
		{"usage", "Usage", "/operations/usage"},
		{"settings", "Settings", "/operations/settings"},
	}
}

// keysPlace is the address of the screen of keys, in the project of the page or over all.
func keysPlace(p *page) string {
	for _, t := range operationsTabs(p) {
		if t.name == "keys" {
			return t.address
		}
	}
	return "/operations"
}

// otherOperations is the address of a screen over all projects.
func otherOperations(name string) string {
	switch name {
	case "jobs", "keys", "usage":
		return "/operations/" + name
	}
	return "/operations/projects"
}

// anywhere is a client for what belongs to all projects, or to the project of the page.
func anywhere(p *page) *client.Client {
	if p.project.ID != "" {
		return p.api
	}
	return p.api.InProject(store.AllProjects)
}

// overAll reports whether the person administers all projects.
func overAll(p *page) bool { return p.who.May(auth.Admin, store.AllProjects) == nil }

// cluster is the view of the first screen of operations.
type cluster struct {
	servers []wire.Server
	models  []clusterModel
	jobs    []jobTally
	usage   wire.Usage
}

// clusterModel is a model of a server.
type clusterModel struct {
	server string
	wire.ModelHealth
}

// jobTally counts the jobs of a kind by state.
type jobTally struct {
	kind                    string
	queued, running, failed int
}

// operationsPage shows the servers, their models, what waits and what models cost.
func operationsPage(p *page) error {
	servers, err := client.Get(p.ctx, p.api, op.ListServers.Where(wire.PageQuery{PageSize: 100}))
	if err != nil {
		return err
	}
	counts, err := client.Get(p.ctx, p.api, op.CountJobs)
	if err != nil {
		return err
	}
	v := cluster{servers: servers.Items, jobs: tallyJobs(counts.Items)}
	for i := range v.servers {
		for _, m := range v.servers[i].Models {
			v.models = append(v.models, clusterModel{v.servers[i].Name, m})
		}
	}
	if v.usage, err = client.Get(p.ctx, anywhere(p), op.GetUsage.Where(wire.UsageQuery{PeriodDays: operationsPeriod})); err != nil {
		return err
	}
	return p.show(head{Title: "Operations", Nav: "operations"}, clusterView(p, &v))
}

func tallyJobs(counts []wire.JobCount) []jobTally {
	var list []jobTally
	for _, c := range counts {
		i := slices.IndexFunc(list, func(t jobTally) bool { return t.kind == c.Kind })
		if i < 0 {
			list, i = append(list, jobTally{kind: c.Kind}), len(list)
		}
		switch c.State {
		case store.JobQueued:
			list[i].queued = c.Count
		case store.JobRunning:
			list[i].running = c.Count
		case store.JobFailed:
			list[i].failed = c.Count
		}
	}
	slices.SortFunc(list, func(a, b jobTally) int { return cmp.Or(cmp.Compare(b.failed, a.failed), cmp.Compare(a.kind, b.kind)) })
	return list
}

// purposeWords are the purposes of models for people.
var purposeWords = map[string]string{"judge": "Judging", "confirm": "Confirming denials", "embedding": "Vectors for search"}

// modelWords is the state of a model for people, and its tone.
func modelWords(m *wire.ModelHealth) (words, tone string) {
	switch {
	case len(m.Resting) > 0:
		return "left alone", "bad"
	case m.Status == "ok" && m.Detail != "":
		return "ok, in part", "warn"
	case m.Status == "ok":
		return "ok", "good"
	case m.Status == "checking":
		return "checking", "plain"
	}
	return strings.ReplaceAll(m.Status, "_", " "), "bad"
}

// uptime is a duration in its two largest units.
func uptime(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// msWords is a time in milliseconds; nil is none.
func msWords(ms *int64) string {
	if ms == nil {
		return "–"
	}
	return grouped(*ms) + " ms"
}

// costWords is a cost with its currency; nil is unknown.
func costWords(cost *float64, currency string) string {
	if cost == nil {
		return "–"
	}
	whole, part := math.Modf(*cost)
	return fmt.Sprintf("%s.%02d %s", grouped(int64(whole)), int(math.Round(part*100))%100, currency)
}

// reuseWords says how many verdicts were taken from the cache instead of a call.
func reuseWords(u *wire.Usage) string {
	all := u.Judged + u.Reused
	if all == 0 {
		return "no verdict of a model yet"
	}
	return fmt.Sprintf("%s of %s verdicts (%d %%)", grouped(u.Reused), grouped(all), int(math.Round(100*float64(u.Reused)/float64(all))))
}

// bar is a bar of a chart, in units of its drawing.
type bar struct {
	x, y, width, height string
	title               string
}

// Size of the chart of usage, in units of its drawing.
const (
	chartWidth  = 600
	chartHeight = 80
)

// usageBars draws the tokens of days.
func usageBars(days []wire.DayUsage) []bar {
	most := int64(1)
	for i := range days {
		most = max(most, days[i].InputTokens+days[i].OutputTokens)
	}
	step := float64(chartWidth) / float64(max(len(days), 1))
	bars := make([]bar, len(days))
	for i := range days {
		d := &days[i]
		tokens := d.InputTokens + d.OutputTokens
		height := float64(chartHeight) * float64(tokens) / float64(most)
		if tokens > 0 {
			height = max(height, 1)
		}
		number := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
		bars[i] = bar{
			x: number(float64(i) * step), y: number(chartHeight - height), width: number(max(step-2, 0.5)), height: number(height),
			title: d.Date + ": " + counted(tokens, "token", "tokens") + " in " + counted(d.Calls, "call", "calls"),
		}
	}
	return bars
}

// usagePeriods are the periods that the screen of usage offers, in days.
var usagePeriods = []option{{"7", "7 days"}, {"30", "30 days"}, {"90", "90 days"}, {"365", "A year"}}

// usagePage shows what models were asked, and what that cost.
func usagePage(p *page) error {
	days := 30
	if n, err := strconv.Atoi(p.r.URL.Query().Get("period_days")); err == nil && n >= 1 && n <= 400 {
		days = n
	}
	usage, err := client.Get(p.ctx, anywhere(p), op.GetUsage.Where(wire.UsageQuery{PeriodDays: days}))
	if err != nil {
		return err
	}
	return p.show(head{Title: "Usage", Nav: "operations"}, usageView(p, &usage))
}

// settingsPage shows the settings in force of the server that answers.
func settingsPage(p *page) error {
	settings, err := client.Get(p.ctx, p.api, op.GetSettings)
	if err != nil {
		return err
	}
	words := strings.ToLower(strings.TrimSpace(p.r.URL.Query().Get("q")))
	source := p.r.URL.Query().Get("source")
	total := len(settings.Items)
	settings.Items = slices.DeleteFunc(settings.Items, func(s wire.SettingNow) bool {
		named := strings.Contains(strings.ToLower(s.Key+" "+s.Doc), words)
		return !named || source == "set" && s.Source == wire.FromDefault
	})
	return p.show(head{Title: "Settings", Nav: "operations"}, settingsView(p, &settings, total))
}

// settingOf returns a setting of a list; the zero one if the list has none of that name.
func settingOf(settings *wire.Settings, key string) wire.SettingNow {
	for _, s := range settings.Items {
		if s.Key == key {
			return s
		}
	}
	return wire.SettingNow{}
}
