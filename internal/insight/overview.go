package insight

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Periods of an overview, in days.
const (
	MinPeriod     = 1
	DefaultPeriod = 30
	MaxPeriod     = kept
)

// shown is how many rules each list of an overview names.
const shown = 10

// Overview is how the rules of a project fare.
type Overview struct {
	ProjectID  string       `json:"project_id" doc:"The project."`
	PeriodDays int          `json:"period_days" doc:"Days looked at, today included, in UTC."`
	From       time.Time    `json:"from" doc:"Beginning of the period."`
	AsOf       *time.Time   `json:"as_of" doc:"Time of the last entry of the audit chain that is counted; null before the first."`
	Uncounted  int64        `json:"uncounted" doc:"Entries of the audit chain that are not counted yet; they soon will be."`
	Totals     Verdicts     `json:"evaluations" doc:"Evaluations by overall verdict."`
	Incidents  int64        `json:"incidents" doc:"Denied evaluations of what had happened already (mode posthoc)."`
	Latency    Latency      `json:"latency" doc:"Time of evaluations."`
	Verdicts   RuleVerdicts `json:"rule_verdicts" doc:"Verdicts of rules."`
	MostDenied []RuleFigure `json:"most_denied" nullable:"false" doc:"Up to 10 rules with the most DENY verdicts."`
	Slowest    []RuleFigure `json:"slowest" nullable:"false" doc:"Up to 10 rules with the longest calls to models."`
	Dormant    Dormant      `json:"dormant" doc:"Rules in force that have had no verdict for too long."`
	Models     []ModelCost  `json:"models" nullable:"false" doc:"What models have cost, most tokens first."`
	Days       []DayFigure  `json:"days" nullable:"false" doc:"All days of the period, in order."`
	Health     Distribution `json:"health" doc:"Scores of the rules that are not retired or superseded, as last stored."`
}

// Verdicts counts by verdict. Shares are of the total, and 0 without any.
type Verdicts struct {
	Total      int64   `json:"total" doc:"How many."`
	Allow      int64   `json:"allow" doc:"ALLOW."`
	Deny       int64   `json:"deny" doc:"DENY."`
	Unsure     int64   `json:"needs_confirmation" doc:"NEEDS_CONFIRMATION."`
	AllowRate  float64 `json:"allow_rate" doc:"Share of ALLOW."`
	DenyRate   float64 `json:"deny_rate" doc:"Share of DENY."`
	UnsureRate float64 `json:"needs_confirmation_rate" doc:"Share of NEEDS_CONFIRMATION."`
}

// RuleVerdicts counts the verdicts of rules by verdict and by what decided them.
type RuleVerdicts struct {
	Verdicts
	DecidedBy DecidedBy `json:"decided_by" doc:"By what decided."`
}

// DecidedBy counts verdicts by what decided them.
type DecidedBy struct {
	Check int64 `json:"check" doc:"Deterministic checks."`
	Model int64 `json:"model" doc:"A model that was asked."`
	Cache int64 `json:"cache" doc:"Kept verdicts of a model."`
	None  int64 `json:"none" doc:"Nothing: the verdict is NEEDS_CONFIRMATION."`
}

// Latency is the time of evaluations, in milliseconds.
type Latency struct {
	MeanMS float64 `json:"mean_ms" doc:"On the average."`
	MaxMS  int64   `json:"max_ms" doc:"The longest."`
}

// RuleFigure is a rule with what was counted of it.
type RuleFigure struct {
	RuleID     string  `json:"rule_id" doc:"The rule."`
	Slug       string  `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement  string  `json:"statement" doc:"What it says; empty if it is gone."`
	Verdicts   int64   `json:"verdicts" doc:"Verdicts it gave."`
	Denied     int64   `json:"denied" doc:"Those that were DENY."`
	DenyRate   float64 `json:"deny_rate" doc:"Their share."`
	Calls      int64   `json:"calls" doc:"Calls to models that asked about it."`
	MeanCallMS float64 `json:"mean_call_ms" doc:"Time of those calls on the average, in milliseconds."`
	Tokens     int64   `json:"tokens" doc:"Tokens of its share of those calls, in and out."`
}

// Dormant lists dormant rules.
type Dormant struct {
	AfterDays int        `json:"after_days" doc:"Days without a verdict after which a rule is dormant."`
	Total     int        `json:"total" doc:"How many there are."`
	Rules     []IdleRule `json:"rules" nullable:"false" doc:"Up to 10 of them, longest idle first."`
}

// IdleRule is a rule that waits for a verdict.
type IdleRule struct {
	RuleID    string     `json:"rule_id" doc:"The rule."`
	Slug      string     `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement string     `json:"statement" doc:"What it says."`
	LastAt    *time.Time `json:"last_evaluated_at" doc:"Its last verdict; null if it never had one."`
	IdleDays  int        `json:"idle_days" doc:"Days since then, or since it was last changed or began to hold."`
}

// ModelCost is what a model has cost.
type ModelCost struct {
	Model        string  `json:"model" doc:"The model."`
	Calls        int64   `json:"calls" doc:"Calls made."`
	Failed       int64   `json:"failed" doc:"Those without an answer."`
	InputTokens  int64   `json:"input_tokens" doc:"Tokens sent."`
	OutputTokens int64   `json:"output_tokens" doc:"Tokens received."`
	CachedTokens int64   `json:"cached_tokens" doc:"Tokens sent that the provider had in its prompt cache."`
	MeanMS       float64 `json:"mean_ms" doc:"Time of a call on the average, in milliseconds."`
}

// DayFigure is a day of the trend.
type DayFigure struct {
	Date string `json:"date" format:"date" doc:"The day, in UTC."`
	Verdicts
	Latency Latency `json:"latency" doc:"Time of its evaluations."`
}

// Distribution is how scores are spread.
type Distribution struct {
	Measured int          `json:"measured" doc:"Rules with a score."`
	Mean     float64      `json:"mean" doc:"Score on the average; 0 without any."`
	Buckets  []Bucket     `json:"buckets" nullable:"false" doc:"How many rules have which scores."`
	Lowest   []ScoredRule `json:"lowest" nullable:"false" doc:"Up to 10 rules with the lowest scores."`
}

// Bucket counts rules with scores from From to To, both included.
type Bucket struct {
	From  int `json:"from" doc:"Lowest score."`
	To    int `json:"to" doc:"Highest score."`
	Rules int `json:"rules" doc:"How many rules."`
}

// ScoredRule is a rule with its score.
type ScoredRule struct {
	RuleID    string `json:"rule_id" doc:"The rule."`
	Slug      string `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Statement string `json:"statement" doc:"What it says."`
	Score     int    `json:"score" doc:"Its score."`
}

// Overview tells how the rules of a project fare over the last days, today included; not_found without the project.
func (n *Insights) Overview(ctx context.Context, projectID string, days int) (*Overview, error) {
	view, err := n.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	left, mark, err := n.bringUp(ctx, projectID)
	if err != nil {
		return nil, err
	}
	now := n.cfg.Now()
	from := store.DayOf(now) - store.Day(days-1)
	o := &Overview{ProjectID: projectID, PeriodDays: days, From: from.Time(), AsOf: asOf(mark), Uncounted: left}
	for _, fill := range []func(context.Context, *Overview, *corpus.View, store.Day) error{n.fillDays, n.fillRules, n.fillModels} {
		if err := fill(ctx, o, view, from); err != nil {
			return nil, err
		}
	}
	if err := n.fillDormant(ctx, o, view, mark, now); err != nil {
		return nil, err
	}
	return o, n.fillHealth(ctx, o, view)
}

// rates fills what follows from the counts.
func (v *Verdicts) rates() {
	if v.Total > 0 {
		of := float64(v.Total)
		v.AllowRate, v.DenyRate, v.UnsureRate = round(float64(v.Allow)/of), round(float64(v.Deny)/of), round(float64(v.Unsure)/of)
	}
}

// round cuts to four places, which is more than any of these figures means.
func round(x float64) float64 { return math.Round(x*10_000) / 10_000 }

func mean(sum, n int64) float64 {
	if n == 0 {
		return 0
	}
	return math.Round(float64(sum)/float64(n)*10) / 10
}

func (n *Insights) fillDays(ctx context.Context, o *Overview, _ *corpus.View, from store.Day) error {
	counts, err := n.cfg.Store.DayCounts(ctx, o.ProjectID, from)
	if err != nil {
		return err
	}
	o.Days = make([]DayFigure, o.PeriodDays)
	for i := range o.Days {
		o.Days[i].Date = (from + store.Day(i)).String()
	}
	sum := int64(0)
	for _, c := range counts {
		o.Totals.Total, o.Totals.Allow = o.Totals.Total+c.Evaluations, o.Totals.Allow+c.Allowed
		o.Totals.Deny, o.Totals.Unsure = o.Totals.Deny+c.Denied, o.Totals.Unsure+c.Unsure
		o.Incidents += c.Incidents
		sum, o.Latency.MaxMS = sum+c.LatencyMS, max(o.Latency.MaxMS, c.MaxLatencyMS)
		if i := int(c.Day - from); i < len(o.Days) { // a node whose clock is ahead may have counted tomorrow
			o.Days[i].Verdicts = Verdicts{Total: c.Evaluations, Allow: c.Allowed, Deny: c.Denied, Unsure: c.Unsure}
			o.Days[i].rates()
			o.Days[i].Latency = Latency{mean(c.LatencyMS, c.Evaluations), c.MaxLatencyMS}
		}
	}
	o.Latency.MeanMS = mean(sum, o.Totals.Total)
	o.Totals.rates()
	return nil
}

func (n *Insights) fillRules(ctx context.Context, o *Overview, view *corpus.View, from store.Day) error {
	all, err := n.cfg.Store.RuleCounts(ctx, store.RuleCountFilter{ProjectID: o.ProjectID, From: from, Min: 1})
	if err != nil {
		return err
	}
	v, by := &o.Verdicts, &o.Verdicts.DecidedBy
	for i := range all {
		c := &all[i]
		v.Total, v.Allow, v.Deny, v.Unsure = v.Total+c.Verdicts(), v.Allow+c.Allowed, v.Deny+c.Denied, v.Unsure+c.Unsure
		by.Check, by.Model, by.Cache = by.Check+c.ByCheck, by.Model+c.ByModel, by.Cache+c.ByCache
	}
	by.None = v.Total - by.Check - by.Model - by.Cache
	v.rates()
	o.MostDenied = figures(view, all, func(c *store.RuleCount) float64 { return float64(c.Denied) })
	o.Slowest = figures(view, all, func(c *store.RuleCount) float64 { return mean(c.CallMS, c.Calls) })
	return nil
}

// figures are the rules with the highest values above 0, highest first.
func figures(view *corpus.View, all []store.RuleCount, value func(*store.RuleCount) float64) []RuleFigure {
	top := make([]*store.RuleCount, 0, shown+1)
	for i := range all {
		c := &all[i]
		if value(c) <= 0 || len(top) == shown && value(c) <= value(top[shown-1]) {
			continue
		}
		// Equal ones stay in the order of their ids, in which they come.
		at, _ := slices.BinarySearchFunc(top, value(c), func(t *store.RuleCount, v float64) int {
			if value(t) >= v {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, c)
		top = top[:min(len(top), shown)]
	}
	list := make([]RuleFigure, len(top))
	for i, c := range top {
		list[i] = RuleFigure{
			RuleID: c.RuleID, Verdicts: c.Verdicts(), Denied: c.Denied, Calls: c.Calls, MeanCallMS: mean(c.CallMS, c.Calls), Tokens: c.Tokens,
		}
		if n := c.Verdicts(); n > 0 {
			list[i].DenyRate = round(float64(c.Denied) / float64(n))
		}
		if e, ok := view.Get(c.RuleID); ok {
			list[i].Slug, list[i].Statement = e.Rule.Slug, e.Rule.Statement
		}
	}
	return list
}

func (n *Insights) fillModels(ctx context.Context, o *Overview, _ *corpus.View, from store.Day) error {
	counts, err := n.cfg.Store.ModelCounts(ctx, o.ProjectID, from)
	o.Models = make([]ModelCost, len(counts))
	for i, c := range counts {
		o.Models[i] = ModelCost{c.Model, c.Calls, c.Failed, c.InputTokens, c.OutputTokens, c.CachedTokens, mean(c.DurationMS, c.Calls)}
	}
	slices.SortStableFunc(o.Models, func(a, b ModelCost) int {
		return cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens)
	})
	return err
}

func (n *Insights) fillDormant(ctx context.Context, o *Overview, view *corpus.View, mark store.CountMark, now time.Time) error {
	o.Dormant = Dormant{AfterDays: int(n.cfg.DormantAfter / (24 * time.Hour)), Rules: []IdleRule{}}
	if mark.BlindUntil != nil && now.Sub(*mark.BlindUntil) < n.cfg.DormantAfter {
		return nil // what was recorded within the time is not all known
	}
	activity, err := n.cfg.Store.RuleActivity(ctx, o.ProjectID, nil)
	if err != nil {
		return err
	}
	var idle []IdleRule
	for e := range view.All() {
		var last *time.Time
		if at, ok := activity[e.Rule.ID]; ok {
			last = &at
		}
		if e.Rule.Dormant(last, n.cfg.DormantAfter, now) {
			idle = append(idle, IdleRule{
				RuleID: e.Rule.ID, Slug: e.Rule.Slug, Statement: e.Rule.Statement, LastAt: last,
				IdleDays: int(now.Sub(e.Rule.IdleSince(last)) / (24 * time.Hour)),
			})
		}
	}
	slices.SortStableFunc(idle, func(a, b IdleRule) int { return b.IdleDays - a.IdleDays })
	o.Dormant.Total = len(idle)
	o.Dormant.Rules = append(o.Dormant.Rules, idle[:min(len(idle), shown)]...)
	return nil
}

func (n *Insights) fillHealth(ctx context.Context, o *Overview, view *corpus.View) error {
	h := &o.Health
	h.Lowest = []ScoredRule{}
	for from := 0; from < 100; from += 20 {
		h.Buckets = append(h.Buckets, Bucket{From: from, To: from + 19})
	}
	h.Buckets[4].To = 100
	scores, err := n.scores(ctx, o.ProjectID)
	if err != nil {
		return err
	}
	sum := int64(0)
	var all []ScoredRule
	for e := range view.All() {
		score, ok := scores[e.Rule.ID]
		if !ok || e.Rule.Status == rule.Retired || e.Rule.Status == rule.Superseded {
			continue
		}
		h.Measured, sum = h.Measured+1, sum+int64(score)
		h.Buckets[min(score/20, 4)].Rules++
		all = append(all, ScoredRule{RuleID: e.Rule.ID, Slug: e.Rule.Slug, Statement: e.Rule.Statement, Score: score})
	}
	h.Mean = mean(sum, int64(h.Measured))
	slices.SortStableFunc(all, func(a, b ScoredRule) int { return a.Score - b.Score })
	h.Lowest = append(h.Lowest, all[:min(len(all), shown)]...)
	return nil
}
