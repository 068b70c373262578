package console

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// periods are the periods of an overview, in days.
var periods = []int{7, 30, 90, 365}

// periodOf reads the days of an overview from an address.
func periodOf(p *page) int {
	n, err := strconv.Atoi(p.r.URL.Query().Get("days"))
	if err != nil || n < 1 || n > 400 {
		return 30
	}
	return n
}

// overviewPage shows the state of the rules of a project and of how they are kept, from one read.
func overviewPage(p *page) error {
	query := p.r.URL.Query()
	o, err := client.Get(p.ctx, p.api, op.GetInsights.Where(wire.InsightsQuery{PeriodDays: periodOf(p), Team: query.Get("team"), NodeID: query.Get("node_id"), Agent: query.Get("agent"), Person: query.Get("person")}))
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	stopped, err := suspensionsOf(p)
	if err != nil {
		return err
	}
	return p.show(head{Title: "Overview", Nav: "overview"}, overviewView(p, &o, problem, stopped))
}

// measureRules measures the rules of the project now.
func measureRules(p *page) error {
	done, err := client.Call(p.ctx, p.api, op.MeasureInsights, wire.None{})
	if err != nil {
		return err
	}
	p.say(counted(int64(done.Rules), "rule is measured.", "rules are measured."))
	return p.redirect(p.from())
}

// standings are the filters of the list of measured rules.
var standings = []option{{"never_asked", "Never asked"}, {"dormant", "Dormant"}}

// measuredList lists rules by health, or by how long they have waited for a verdict.
func measuredList(p *page) error {
	query := p.r.URL.Query()
	q := wire.MeasuredQuery{Standing: query.Get("standing"), Team: query.Get("team"), ScoreMax: 100, PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}}
	if n, err := strconv.Atoi(query.Get("score_min")); err == nil && n > 0 && n <= 100 {
		q.ScoreMin = n
	}
	if n, err := strconv.Atoi(query.Get("score_max")); err == nil && n >= 0 && n < 100 {
		q.ScoreMax = n
	}
	o := op.MeasuredRules.Where(q)
	o.Query.Set("score_max", strconv.Itoa(q.ScoreMax)) // 0 is a value
	list, err := client.Get(p.ctx, p.api, o)
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	return p.show(head{Title: "Rules by health", Nav: "overview"}, measuredView(p, &list, problem))
}

// waiverList lists the waivers of the project, or those that end soon.
func waiverList(p *page) error {
	query := p.r.URL.Query()
	q := wire.WaiverQuery{RuleID: strings.TrimSpace(query.Get("rule")), PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}}
	q.Ends, _ = strconv.Atoi(query.Get("ends")) // what is no number is no filter, as the choice shows
	list, err := client.Get(p.ctx, p.api, op.ListWaivers.Where(q))
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	return p.show(head{Title: "Waivers", Nav: "overview"}, waiversView(p, &list, problem))
}

// repositoryList lists the repositories that were judged.
func repositoryList(p *page) error {
	query := p.r.URL.Query()
	o := op.ListRepositories.Where(wire.RepositoryQuery{
		Words: query.Get("q"), NodeID: query.Get("node_id"), Sort: query.Get("sort"), PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize},
	})
	if before := query.Get("before"); before != "" {
		o.Query.Set("before", before)
	}
	list, err := client.Get(p.ctx, p.api, o)
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	return p.show(head{Title: "Repositories", Nav: "overview"}, repositoriesView(p, &list, problem))
}

// unjudgedList lists the repositories that federation nodes are bound to and that were never judged.
func unjudgedList(p *page) error {
	query := p.r.URL.Query()
	list, err := client.Get(p.ctx, p.api, op.ListUnjudged.Where(wire.UnjudgedQuery{
		Words: query.Get("q"), NodeID: query.Get("node_id"), PageQuery: wire.PageQuery{Page: pageOf(p.r), PageSize: listSize},
	}))
	problem, err := refusedFilter(err)
	if err != nil {
		return err
	}
	return p.show(head{Title: "Not covered", Nav: "overview"}, unjudgedView(p, &list, problem))
}

// allProjects compares the projects that the person may see.
func allProjects(p *page) error {
	o := op.InsightProjects.Where(wire.PeriodQuery{PeriodDays: periodOf(p)}, wire.PageQuery{Page: pageOf(p.r), PageSize: listSize})
	list, err := client.Get(p.ctx, p.api, o)
	if err != nil {
		return err
	}
	return p.show(head{Title: "All projects", Nav: "overview"}, compareView(p, &list))
}

// evaluationsOf is the address of the evaluations that an overview counts, with further filters by name and value.
func evaluationsOf(p *page, o *wire.Overview, pairs ...string) string {
	since := ""
	if len(o.Days) > 0 {
		since = o.Days[0].Date
	}
	query := url.Values{"since": {since}}
	if o.NodeID != "" && o.NodeID != wire.NobodysName {
		query.Set("node_id", o.NodeID)
	}
	for _, f := range [][2]string{{"agent", o.Agent}, {"person", o.Person}} {
		if f[1] != "" {
			query.Set(f[0], f[1])
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return p.at("evaluations") + "?" + query.Encode()
}

// listAddress is the address of a list behind the overview, with filters by name and value.
func listAddress(p *page, name string, pairs ...string) string {
	address := p.at("overview", name)
	if query := queryOf(pairs...); query != "" {
		address += "?" + query
	}
	return address
}

// nodeOnly is the node of a filter; empty for the word that selects what has none.
func nodeOnly(id string) string {
	if id == wire.NobodysName {
		return ""
	}
	return id
}

// nextDay is the day after a date.
func nextDay(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// orUnknown is a number, or a dash where it is not known.
func orUnknown(n *int) string {
	if n == nil {
		return "–"
	}
	return grouped(int64(*n))
}

// scoreText is a score, or a dash where it is not measured.
func scoreText(score *float64) string {
	if score == nil {
		return "–"
	}
	return strconv.FormatFloat(*score, 'f', -1, 64)
}

// percent is a share in percent.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// teamWords names a team; rules without an owner have none.
func teamWords(team string) string { return cmp.Or(team, "without an owner") }

// nodeWords names a node by its name, or by its id where it is gone.
func nodeWords(id, name string) string {
	if id == "" {
		return "at no node"
	}
	return cmp.Or(name, id)
}

// orNobody is the value of a filter that selects a name, an empty one too.
func orNobody(name string) string { return cmp.Or(name, wire.NobodysName) }

// mostOf is the highest number of verdicts among rows.
func mostOf[T any](list []T, of func(*T) int64) (most int64) {
	for i := range list {
		most = max(most, of(&list[i]))
	}
	return most
}

// ruleName is the name of a rule in a list.
func ruleName(id, slug string) string {
	if slug != "" {
		return slug
	}
	return id[:min(8, len(id))]
}

// countAddress is the address of the evaluations with a verdict that an overview counts; none of those at no node.
func countAddress(p *page, o *wire.Overview, verdict string) string {
	if o.NodeID == wire.NobodysName {
		return ""
	}
	return evaluationsOf(p, o, "verdict", verdict)
}

// aboutOverview names the part of the project that an overview is about; empty for the whole.
func aboutOverview(o *wire.Overview) string {
	if o.Team == wire.NobodysName {
		return "rules without an owner"
	}
	if o.NodeID == wire.NobodysName {
		return "at no node"
	}
	return cmp.Or(o.Team, o.NodePath, o.Agent, o.Person)
}

// bandVerdicts is a band of scores with the colour of its scores.
func bandVerdicts(b *wire.Bucket) *wire.Verdicts {
	n := int64(b.Rules)
	switch {
	case b.To < 40:
		return &wire.Verdicts{Deny: n}
	case b.To < 60:
		return &wire.Verdicts{Unsure: n}
	}
	return &wire.Verdicts{Allow: n}
}

// teamAddress is the address of the rules of the team of an overview.
func teamAddress(p *page, o *wire.Overview) string {
	if o.Team == "" || o.Team == wire.NobodysName {
		return ""
	}
	return p.at("rules") + "?" + queryOf("owner", o.Team)
}

// waiverTone is the class of a status of a waiver.
func waiverTone(s rule.WaiverStatus) string {
	switch s {
	case rule.WaiverActive:
		return "good"
	case rule.WaiverPending:
		return "warn"
	case rule.WaiverExpired, rule.WaiverRevoked:
	}
	return "plain"
}
