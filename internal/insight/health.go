package insight

import (
	"context"
	"errors"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Health is how a rule fares.
type Health struct {
	RuleID     string       `json:"rule_id" doc:"The rule."`
	Slug       string       `json:"slug,omitempty" doc:"Its slug, if it has one."`
	Score      int          `json:"score" minimum:"0" maximum:"100" doc:"Mean of the known parts by their weights."`
	Parts      []Part       `json:"parts" nullable:"false" doc:"What the score is made of."`
	MeasuredAt time.Time    `json:"measured_at" doc:"When, which is now."`
	AsOf       *time.Time   `json:"as_of" doc:"Time of the last entry of the audit chain that is counted; null before the first."`
	History    []HealthDate `json:"history" nullable:"false" doc:"Scores as they were stored, newest first: one for each day on which it changed."`
}

// HealthDate is the score that a rule has had since a day.
type HealthDate struct {
	Date  string `json:"date" format:"date" doc:"The day, in UTC."`
	Score int    `json:"score" minimum:"0" maximum:"100" doc:"The score at its end."`
}

// historyShown bounds the history in an answer, in days with a change.
const historyShown = 100

// Health measures a rule, named by id or slug, as it is now; not_found without it.
func (n *Insights) Health(ctx context.Context, projectID, ref string) (*Health, error) {
	view, err := n.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	e, ok := view.Get(ref)
	if !ok {
		return nil, rule.NotFound("rule", ref)
	}
	_, mark, err := n.bringUp(ctx, projectID)
	if err != nil {
		return nil, err
	}
	known, err := n.known(ctx, projectID, []*corpus.Entry{e}, e.Rule.ID)
	if err != nil {
		return nil, err
	}
	now := n.cfg.Now().UTC().Truncate(time.Microsecond)
	f := known.facts(e, n.cfg.DormantAfter, now)
	h := &Health{RuleID: e.Rule.ID, Slug: e.Rule.Slug, MeasuredAt: now, AsOf: asOf(mark), History: []HealthDate{}}
	h.Score, h.Parts = f.score()
	days, err := n.cfg.Store.HealthHistory(ctx, projectID, e.Rule.ID, historyShown)
	for _, d := range days {
		h.History = append(h.History, HealthDate{d.Day.String(), d.Score})
	}
	return h, err
}

func asOf(m store.CountMark) *time.Time {
	if m.Seq == 0 {
		return nil
	}
	return &m.At
}

// known is what is known of rules beside what they say, by rule.
type known struct {
	tests    map[string][]store.TestCount
	feedback map[string][]store.FeedbackCount
	last     map[string]time.Time
}

// some is how many rules one query asks for.
const some = 1000

// known reads what is known of rules. ruleID is the only one, or empty.
func (n *Insights) known(ctx context.Context, projectID string, entries []*corpus.Entry, ruleID string) (known, error) {
	k := known{map[string][]store.TestCount{}, map[string][]store.FeedbackCount{}, nil}
	var one []string // nil asks for all
	if ruleID != "" {
		one = []string{ruleID}
	}
	for from := 0; from < len(entries); from += some {
		part := entries[from:min(from+some, len(entries))]
		ids := make([]string, len(part))
		for i, e := range part {
			ids[i] = e.Rule.ID
		}
		counts, err := n.cfg.Store.CountTests(ctx, projectID, ids)
		if err != nil {
			return k, err
		}
		for _, c := range counts {
			k.tests[c.RuleID] = append(k.tests[c.RuleID], c)
		}
	}
	feedback, err := n.cfg.Store.CountFeedback(ctx, projectID, ruleID)
	if err != nil {
		return k, err
	}
	for _, c := range feedback {
		k.feedback[c.RuleID] = append(k.feedback[c.RuleID], c)
	}
	k.last, err = n.cfg.Store.RuleActivity(ctx, projectID, one)
	return k, err
}

func (k *known) facts(e *corpus.Entry, dormantAfter time.Duration, now time.Time) *facts {
	id, content := e.Rule.ID, e.ContentHash()
	f := &facts{rule: e.Rule, dormantAfter: dormantAfter, now: now}
	f.addTests(k.tests[id], content)
	f.addFeedback(k.feedback[id], content)
	if at, ok := k.last[id]; ok {
		f.last = &at
	}
	return f
}

// Measure measures all rules of a project that are not retired or superseded, and stores the scores that have changed since
// they were last measured.
func (n *Insights) Measure(ctx context.Context, projectID string) error {
	if err := n.CatchUp(ctx, projectID); err != nil {
		return err
	}
	view, err := n.cfg.Views.View(ctx, projectID)
	if err != nil {
		return err
	}
	var entries []*corpus.Entry
	for e := range view.All() {
		if e.Rule.Status != rule.Retired && e.Rule.Status != rule.Superseded {
			entries = append(entries, e)
		}
	}
	known, err := n.known(ctx, projectID, entries, "")
	if err != nil {
		return err
	}
	before, err := n.scores(ctx, projectID)
	if err != nil {
		return err
	}
	now := n.cfg.Now()
	var changed []store.HealthScore
	for i, e := range entries {
		if i%some == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		score, _ := known.facts(e, n.cfg.DormantAfter, now).score()
		if was, ok := before[e.Rule.ID]; !ok || was != score {
			changed = append(changed, store.HealthScore{RuleID: e.Rule.ID, Score: score})
		}
	}
	// Some at a time, so that nobody waits long for the database. What is interrupted is done by the next round.
	for from := 0; from < len(changed); from += some {
		err := n.cfg.Store.Update(ctx, func(tx store.Tx) error {
			return tx.PutHealth(ctx, projectID, store.DayOf(now), changed[from:min(from+some, len(changed))])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *Insights) scores(ctx context.Context, projectID string) (map[string]int, error) {
	list, err := n.cfg.Store.HealthScores(ctx, projectID)
	scores := make(map[string]int, len(list))
	for _, s := range list {
		scores[s.RuleID] = s.Score
	}
	return scores, err
}

// kept is for how many days counts and scores are kept.
const kept = 400

// drop removes what is kept no longer.
func (n *Insights) drop(ctx context.Context, projectID string) error {
	before := store.DayOf(n.cfg.Now()) - kept
	for {
		dropped := 0
		err := n.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
			dropped, err = tx.DropCounts(ctx, projectID, before, some)
			return err
		})
		if err != nil || dropped < some {
			return err
		}
	}
}

// measureAll measures the rules of all projects.
func (n *Insights) measureAll(ctx context.Context, progress func(done, total int)) error {
	projects, err := n.cfg.Store.Projects(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, 0, 2*len(projects))
	for i, p := range projects {
		errs = append(errs, n.Measure(ctx, p.ID), n.drop(ctx, p.ID))
		progress(i+1, len(projects))
	}
	return errors.Join(errs...)
}
