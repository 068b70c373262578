package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/health"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type insightsCommand struct {
	Days    int    `default:"30" help:"Days to look at, up to 400; today is one."`
	Team    string `type:"filled" placeholder:"OWNER" help:"Only the rules of this owner, and their verdicts; - selects rules without an owner."`
	Node    string `type:"filled" placeholder:"ID" help:"Only evaluations at this federation node; - selects those at none."`
	Agent   string `type:"filled" placeholder:"NAME" help:"Only evaluations that name this agent."`
	Person  string `type:"filled" placeholder:"NAME" help:"Only evaluations that agents asked for this person, such as corp:ann@example.com."`
	Samples bool   `help:"Show instead how often the judge disagrees with a sample of what checks decided and triage ruled out."`
	Rule    string `placeholder:"RULE" help:"With --samples, only samples of this rule."`
	Measure bool   `help:"Measure the rules first, instead of showing what was last measured."`
	output
}

func (insightsCommand) Help() string {
	return `What was judged and how, by counts that are kept by day in UTC, and which rules need a look. Rules are measured within a minute after
they change, and once an hour; before the first time it says "not measured yet".

    tenet insights --days 7
    tenet insights --team payments
    tenet insights --agent claude-code
    tenet insights --samples --rule no-eval
    tenet insights --measure
    tenet insights --format json`
}

func (k *insightsCommand) Run(ctx context.Context, s *session) error {
	if k.Days < health.MinPeriod || k.Days > health.MaxPeriod {
		return fmt.Errorf("--days: %d is not between %d and %d", k.Days, health.MinPeriod, health.MaxPeriod)
	}
	if k.Rule != "" && !k.Samples {
		return errors.New("--rule: give it with --samples")
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		if k.Samples {
			o, err := client.Get(ctx, c, op.GetSamples.Where(wire.SamplesQuery{PeriodDays: k.Days, Rule: k.Rule}))
			return show(s, k.output, o, err, printSamples)
		}
		if k.Measure {
			if _, err := client.Call(ctx, c, op.MeasureInsights, wire.None{}); err != nil {
				return err
			}
		}
		o, err := client.Get(ctx, c, op.GetInsights.Where(wire.InsightsQuery{PeriodDays: k.Days, Team: k.Team, NodeID: k.Node, Agent: k.Agent, Person: k.Person}))
		return show(s, k.output, o, err, printInsights)
	})
}

// printSamples prints how often the judge disagreed with samples.
func printSamples(s *session, o wire.Samples) error {
	row := func(name string, f *wire.SampledFigure, denies string) []any {
		rate := "no miss rate yet"
		if f.MissRate != nil {
			rate = fmt.Sprintf("%s missed (95 %%: %s to %s)", percent(f.MissRate.Value), percent(f.MissRate.Low), percent(f.MissRate.High))
		}
		return []any{name, f.Sampled, fmt.Sprintf("%s; %d agreed, %d missed%s, %d undecided", rate, f.Agreed, f.Missed, denies, f.Open)}
	}
	rows := [][]any{row("checks", &o.Checks, fmt.Sprintf(", %d false alarms", o.Checks.False)), row("triage", &o.Triage, "")}
	for i := range o.Latest {
		l := &o.Latest[i]
		rows = append(rows, []any{cmp.Or(l.Slug, l.RuleID), l.Kind, fmt.Sprintf("said %s, the judge %s, of evaluation %s", l.Said, l.Judged, l.EvaluationID)})
	}
	return s.table("", rows)
}

func printInsights(s *session, o wire.Overview) error {
	v, d := &o.Totals, &o.Verdicts.DecidedBy
	rows := [][]any{{strings.ReplaceAll(string(o.Counting), "_", " "), v.Total, fmt.Sprintf("ALLOW %s, DENY %s, NEEDS_CONFIRMATION %s", percent(v.AllowRate), percent(v.DenyRate), percent(v.UnsureRate))}}
	if o.Team == "" && o.NodeID == "" && o.Agent == "" && o.Person == "" {
		rows = append(rows,
			[]any{"rule verdicts", o.Verdicts.Total, fmt.Sprintf("by check %d, model %d, cache %d, nothing %d", d.Check, d.Model, d.Cache, d.None)},
			[]any{"latency", fmt.Sprintf("%g ms", o.Latency.MeanMS), fmt.Sprintf("mean; longest %d ms", o.Latency.MaxMS)})
	}
	for _, r := range o.Undecided {
		rows = append(rows, []any{"undecided", r.Count, r.Meaning})
	}
	for _, m := range o.Models {
		tokens := fmt.Sprintf("%d tokens in, %d out; %d failed", m.InputTokens, m.OutputTokens, m.Failed)
		rows = append(rows, []any{m.Model, fmt.Sprintf("%d calls", m.Calls), tokens})
	}
	rows = append(rows, healthRow(&o.Health), idleRow("never asked", o.NeverAsked.Total, "rules in force that have never had a verdict"),
		idleRow("dormant", o.Dormant.Total, fmt.Sprintf("rules in force without a verdict for %d days", o.Dormant.AfterDays)),
		[]any{"waivers", o.Waivers.Total, "end within 30 days"},
		[]any{"repositories", o.Repositories.Total, fmt.Sprintf("judged; %d not in this period, %d at no node", o.Repositories.Silent, o.Repositories.WithoutNode)},
		[]any{"not covered", o.Repositories.NeverJudged, "repositories and patterns that are bound to a node and were never judged"})
	rows = append(append(rows, actorRows("agent", o.Agents)...), actorRows("person", o.People)...)
	if err := s.table("", append(rows, ruleRows(&o)...)); err != nil {
		return err
	}
	if o.Uncounted > 0 {
		upTo := "nothing is counted yet"
		if o.AsOf != nil {
			upTo = "counted up to " + o.AsOf.Format(time.DateTime)
		}
		s.note("%s; %d entries of the audit chain are left", upTo, o.Uncounted)
	}
	if o.Unfilled > 0 {
		s.note("%d older entries are not counted yet by team, node, agent, person, reason or repository", o.Unfilled)
	}
	return nil
}

// actorRows lists agents or people by their evaluations.
func actorRows(what string, list []wire.ActorFigure) (rows [][]any) {
	for i := range list {
		f := &list[i]
		rows = append(rows, []any{what, f.Total, fmt.Sprintf("%s: ALLOW %d, DENY %d, NEEDS_CONFIRMATION %d", line(f.Name), f.Allow, f.Deny, f.Unsure)})
	}
	return rows
}

// healthRow reports the mean score, or that there is none yet.
func healthRow(h *wire.Distribution) []any {
	switch {
	case h.MeasuredAt == nil:
		return []any{"health", "-", "not measured yet; the server measures within a minute, tenet insights --measure does it now"}
	case h.Mean == nil:
		return []any{"health", "-", "no rules"}
	}
	return []any{"health", *h.Mean, fmt.Sprintf("mean of %s, measured %s UTC", text.Plural(h.Measured, "rule"), h.MeasuredAt.UTC().Format(time.DateTime))}
}

func idleRow(name string, total *int, what string) []any {
	if total == nil {
		return []any{name, "-", "unknown: not measured yet, or records of that time are gone"}
	}
	return []any{name, *total, what}
}

// ruleRows lists the rules that stand out.
func ruleRows(o *wire.Overview) (rows [][]any) {
	for _, f := range o.MostDenied {
		n := fmt.Sprintf("%d of %d", f.Denied, f.Verdicts)
		if f.Verdicts == 0 {
			n = fmt.Sprint(f.Denied)
		}
		rows = append(rows, []any{"most denied", n, ruleLine(f.RuleID, f.Slug, f.Statement)})
	}
	for _, f := range o.Slowest {
		rows = append(rows, []any{"slowest", fmt.Sprintf("%g ms", f.MeanCallMS), ruleLine(f.RuleID, f.Slug, f.Statement)})
	}
	for _, r := range o.Health.Lowest {
		rows = append(rows, []any{"lowest health", r.Score, ruleLine(r.RuleID, r.Slug, r.Statement)})
	}
	for _, r := range o.Dormant.Rules {
		rows = append(rows, []any{"longest idle", fmt.Sprintf("%d days", r.IdleDays), ruleLine(r.RuleID, r.Slug, r.Statement)})
	}
	for _, w := range o.Waivers.Items {
		rows = append(rows, []any{"waiver ends", w.ExpiresAt.UTC().Format(time.DateOnly), ruleLine(w.RuleID, w.Slug, w.Reason)})
	}
	return rows
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// ruleLine names a rule with what it says.
func ruleLine(id, slug, statement string) string {
	if slug == "" {
		slug = id
	}
	return line(slug + "  " + statement)
}

type rulesHealthCommand struct {
	Rule string `arg:"" help:"Id or slug of the rule."`
	output
}

func (rulesHealthCommand) Help() string {
	return `The score is from 0 to 100; parts about which nothing is known do not count.

    tenet rules health SEC-003`
}

func (k *rulesHealthCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	h, err := client.Get(ctx, c, op.RuleHealth.At(k.Rule))
	return show(s, k.output, h, err, printHealth)
}

func printHealth(s *session, h wire.Health) error {
	rows := [][]any{{"score", h.Score, "", ""}}
	for _, p := range h.Parts {
		value := "unknown"
		if p.Value != nil {
			value = fmt.Sprint(*p.Value)
		}
		rows = append(rows, []any{strings.ReplaceAll(p.Name, "_", " "), value, fmt.Sprintf("weight %d", p.Weight), p.Detail})
	}
	for _, d := range h.History {
		rows = append(rows, []any{"since " + d.Date, d.Score, "", ""})
	}
	return s.table("", rows)
}
