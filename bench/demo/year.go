package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

const (
	day      = 24 * time.Hour
	allRules = 400 // with those of the starter packs
	together = 8   // evaluations that run at the same moment
)

// year is the year of Acme while it is made.
type year struct {
	o       options
	random  *rand.Rand
	app     *app.App
	mu      sync.Mutex
	now     time.Time
	clients map[string]*client.Client

	rules     int
	verdicts  map[rule.Verdict]int
	denials   []denial // that a waiver may cover, oldest first
	snapshots []string
	waivers   int
	feedback  int
}

// denial is a verdict that people act upon.
type denial struct {
	evaluation, ruleID, fingerprint, repository string
	severity                                    rule.Severity
}

func newYear(o options) *year {
	return &year{
		o: o, random: rand.New(rand.NewPCG(o.seed, 0)), now: o.end.Add(-365 * day), //nolint:gosec // a made-up company is no secret
		clients: map[string]*client.Client{}, verdicts: map[rule.Verdict]int{},
	}
}

// clock returns the time of the year, which goes on a little with each look at it.
func (y *year) clock() time.Time {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.now = y.now.Add(300 * time.Microsecond)
	return y.now
}

// set sets the clock, unless it is beyond that time.
func (y *year) set(now time.Time) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if now.After(y.now) {
		y.now = now
	}
}

// as returns a client that acts under a name.
func (y *year) as(name string) *client.Client {
	c := y.clients[name]
	if c == nil {
		c, _ = client.New("http://localhost", "", &http.Client{Transport: client.InProcess(y.app.HandlerFor(name))}) // the address is right
		y.clients[name] = c
	}
	return c
}

// live makes the year in a folder: first all that happened, by the clock of the year; then what goes on now, with background jobs.
func (y *year) live(ctx context.Context, dir string) error {
	if err := y.open(ctx, dir, nil, app.Options{Now: y.clock}); err != nil {
		return err
	}
	err := errors.Join(y.past(ctx), y.app.Stop(context.WithoutCancel(ctx)))
	if err != nil {
		return err
	}
	endpoint, err := listen(ctx)
	if err != nil {
		return err
	}
	defer endpoint.close()
	if err := y.open(ctx, dir, map[string]string{"listen": "127.0.0.1:0", "webhook_allow_networks": "127.0.0.0/8"}, app.Options{}); err != nil {
		return err
	}
	if err := y.app.Start(ctx); err != nil { // signs bundles, takes keys and works in the background
		return errors.Join(err, y.app.Stop(context.WithoutCancel(ctx)))
	}
	return errors.Join(y.present(ctx, endpoint.address), y.app.Stop(context.WithoutCancel(ctx)))
}

// open opens the database in a folder. Settings may be nil.
func (y *year) open(ctx context.Context, dir string, settings map[string]string, o app.Options) error {
	o.Env = func(string) string { return "" }
	all := map[string]string{"data": dir}
	maps.Copy(all, settings)
	cfg, err := config.Load("", o.Env, all)
	if err != nil {
		return err
	}
	y.clients = map[string]*client.Client{}
	y.app, err = app.New(ctx, cfg, slog.New(slog.DiscardHandler), o)
	return err
}

// past makes rules and evaluations, and what people did every month.
func (y *year) past(ctx context.Context) error {
	if err := y.setUp(ctx); err != nil {
		return err
	}
	start, month := y.clock(), 0
	for n := 0; n < y.o.evaluations; n += together {
		y.set(start.Add(time.Duration(float64(y.o.end.Sub(start)) * float64(n) / float64(y.o.evaluations))))
		if err := y.evaluate(ctx, n, min(together, y.o.evaluations-n)); err != nil {
			return err
		}
		if m := 12 * (n + together) / y.o.evaluations; m > month {
			month = m
			if err := y.endOfMonth(ctx, month); err != nil {
				return fmt.Errorf("month %d: %w", month, err)
			}
			y.o.report("month %2d of 12: %d evaluations", month, min(n+together, y.o.evaluations))
		}
	}
	y.set(y.o.end)
	// Without background jobs, this counts everything, which raises alerts.
	if _, err := client.Get(ctx, y.as(reviewers[0]), op.GetInsights.Where(wire.InsightsQuery{PeriodDays: 30})); err != nil {
		return err
	}
	if _, err := y.as(reviewers[0]).Evaluations(ctx, client.EvaluationFilter{}); err != nil { // and this indexes
		return err
	}
	_, err := client.Get(ctx, y.as(reviewers[0]), op.ListActing) // and this notes the agents that were seen
	return err
}

// setUp makes the teams with their rules.
func (y *year) setUp(ctx context.Context) error {
	admin := y.as("admin")
	page, err := client.Get(ctx, admin, op.ListRules.Where(wire.PageQuery{PageSize: 1}))
	if err != nil {
		return err
	}
	drafts := append(waiting(), local()...)
	rules := own(allRules - page.Total - len(drafts))
	y.rules = page.Total + len(rules) + len(drafts)
	bySlug := map[string][]string{}
	for _, r := range rules {
		bySlug[*r.Owner] = append(bySlug[*r.Owner], *r.Slug)
	}
	team := func(name, owner, scope, repositories, description string) wire.FileNode {
		return wire.FileNode{
			Name: name, Level: rule.LevelTeam, Description: &description, DefaultScope: &scope, Repositories: []string{repositories}, Rules: bySlug[owner],
		}
	}
	everything := "Everything at Acme."
	file := &wire.RuleFile{
		Rules: append(rules, drafts...),
		Federation: []wire.FileNode{{
			Name: "acme", Level: rule.LevelOrganization, Description: &everything,
			Children: []wire.FileNode{
				below(team("payments", "treasury", "finance/payments", "acme/pay-*", "Pays suppliers and refunds customers."), projects()),
				team("people", "people", "people/expenses", "acme/people-*", "Looks after staff, expenses and contracts."),
				team("platform", "platform", "platform", "acme/platform-*", "Builds what the others run on."),
			},
		}},
	}
	if _, err := client.Call(ctx, admin, op.ImportRules, file); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	if _, err = client.Call(ctx, admin, op.SetGates.At("production"), wire.Gates{Approvals: 1}); err != nil {
		return err
	}
	return setUpWarehouse(ctx, y)
}

// evaluate asks a few questions at the same moment, and remembers what the answers deny.
func (y *year) evaluate(ctx context.Context, n, count int) error {
	questions := make([]question, count)
	for i := range questions {
		questions[i] = ask(y.random, n+i, y.o.end.Sub(y.clock()))
		y.as(questions[i].actor) // before the requests, which share the clients
	}
	answers, errs := make([]*rule.Evaluation, count), make([]error, count)
	var asking sync.WaitGroup
	for i, q := range questions {
		asking.Go(func() { answers[i], errs[i] = y.answer(ctx, q) })
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, e := range answers {
		y.verdicts[e.OverallVerdict]++
		for k := range e.Violations {
			v := &e.Violations[k]
			y.denials = append(y.denials, denial{e.EvaluationID, v.RuleID, v.Fingerprint, questions[i].body.Repository, v.Severity})
		}
	}
	return nil
}

func (y *year) answer(ctx context.Context, q question) (*rule.Evaluation, error) {
	if q.action != "" {
		return y.clients[q.actor].EvaluateQuick(ctx, client.Quick{Action: q.action, Acting: q.body.Acting})
	}
	if q.facts != nil {
		facts, err := json.Marshal(q.facts)
		if err != nil {
			return nil, err
		}
		q.body.Facts = facts
	}
	return y.clients[q.actor].Evaluate(ctx, q.body)
}

// recent returns up to n of the latest denials of rules, one of each rule, that meet a condition.
func (y *year) recent(n int, ok func(*denial) bool) []denial {
	var list []denial
	seen := map[string]bool{}
	for i := len(y.denials) - 1; i >= 0 && len(list) < n; i-- {
		if d := &y.denials[i]; !seen[d.ruleID] && ok(d) {
			seen[d.ruleID] = true
			list = append(list, *d)
		}
	}
	return list
}

func (y *year) summary() string {
	total := 0
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(y.verdicts)) {
		total += y.verdicts[v]
		parts = append(parts, fmt.Sprintf("%d %s", y.verdicts[v], v))
	}
	return fmt.Sprintf("%d rules, %d evaluations %v, %d waivers, %d snapshots, %d words of feedback", y.rules, total, parts, y.waivers, len(y.snapshots), y.feedback)
}
