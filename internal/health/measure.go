package health

import (
	"context"
	"slices"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// maxHistory bounds the history in an answer, in days with a change.
const maxHistory = 100

// Health measures a rule, named by id or slug, as it is now; not_found without it.
func (m *Monitor) Health(ctx context.Context, projectID, ref string) (*wire.Health, error) {
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	e, ok := view.Get(ref)
	if !ok {
		return nil, rule.NotFound("rule", ref)
	}
	_, mark, err := m.bringUp(ctx, projectID)
	if err != nil {
		return nil, err
	}
	stored, err := m.evidence(ctx, projectID, []*corpus.Entry{e}, e.Rule.ID)
	if err != nil {
		return nil, err
	}
	now := rule.Instant(m.cfg.Now())
	f := stored.facts(e, m.cfg.Settings.DormantAfter, now)
	h := &wire.Health{RuleID: e.Rule.ID, Slug: e.Rule.Slug, MeasuredAt: now, AsOf: asOf(mark), History: []wire.HealthDate{}}
	h.Score, h.Parts = f.score()
	days, err := m.cfg.Store.Health.History(ctx, projectID, e.Rule.ID, maxHistory)
	for _, d := range days {
		h.History = append(h.History, wire.HealthDate{Date: d.Day.String(), Score: d.Score})
	}
	return h, err
}

func asOf(m store.CountMark) *time.Time {
	if m.Seq == 0 {
		return nil
	}
	return &m.At
}

// evidence is the stored counts about rules, by rule.
type evidence struct {
	tests    map[string][]store.TestCount
	feedback map[string][]store.FeedbackCount
	last     map[string]time.Time
}

// ruleBatch is how many rules one query asks for, and how many rows one transaction changes.
const ruleBatch = 1000

// evidence reads the counts of rules: of all in entries, or of the only one, ruleID.
func (m *Monitor) evidence(ctx context.Context, projectID string, entries []*corpus.Entry, ruleID string) (evidence, error) {
	found := evidence{map[string][]store.TestCount{}, map[string][]store.FeedbackCount{}, nil}
	for batch := range slices.Chunk(entries, ruleBatch) {
		ids := make([]string, len(batch))
		for i, e := range batch {
			ids[i] = e.Rule.ID
		}
		counts, err := m.cfg.Store.TestCases.Count(ctx, projectID, ids)
		if err != nil {
			return found, err
		}
		for _, c := range counts {
			found.tests[c.RuleID] = append(found.tests[c.RuleID], c)
		}
	}
	feedback, err := m.cfg.Store.Feedback.Count(ctx, projectID, ruleID)
	if err != nil {
		return found, err
	}
	for _, c := range feedback {
		found.feedback[c.RuleID] = append(found.feedback[c.RuleID], c)
	}
	var only []string // nil asks for all
	if ruleID != "" {
		only = []string{ruleID}
	}
	found.last, err = m.cfg.Store.Counts.LastVerdicts(ctx, projectID, only)
	return found, err
}

func (v *evidence) facts(e *corpus.Entry, dormantAfter time.Duration, now time.Time) *facts {
	id := e.Rule.ID
	f := &facts{rule: e.Rule, dormantAfter: dormantAfter, now: now, last: lastVerdict(v.last, id)}
	tests, feedback := v.tests[id], v.feedback[id]
	if len(tests)+len(feedback) > 0 { // the entry keeps the hash, and most rules have neither
		content := e.ContentHash()
		f.addTests(tests, content)
		f.addFeedback(feedback, content)
	}
	return f
}

// Measure measures all rules of a project that are not retired or superseded, stores what has changed of their scores and standings,
// and then the sums of the project and its teams. An earlier round that was interrupted is completed.
func (m *Monitor) Measure(ctx context.Context, projectID string) error {
	if err := m.CatchUp(ctx, projectID); err != nil {
		return err
	}
	return m.measure(ctx, projectID)
}

func (m *Monitor) measure(ctx context.Context, projectID string) error {
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		return err
	}
	var entries []*corpus.Entry
	for e := range view.All() {
		if !ceased(e.Rule) {
			entries = append(entries, e)
		}
	}
	stored, err := m.evidence(ctx, projectID, entries, "")
	if err != nil {
		return err
	}
	before, err := m.scores(ctx, projectID)
	if err != nil {
		return err
	}
	standings, err := m.cfg.Store.Health.Standings(ctx, projectID)
	if err != nil {
		return err
	}
	mark, err := m.cfg.Store.Counts.Mark(ctx, projectID)
	if err != nil {
		return err
	}
	now := rule.Instant(m.cfg.Now())
	s := newStandings(now, m.cfg.Settings.DormantAfter, mark, view.Version())
	var changed []store.HealthScore
	var moved []store.RuleStanding
	for i, e := range entries {
		if i%ruleBatch == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		f := stored.facts(e, m.cfg.Settings.DormantAfter, now)
		score, _ := f.score()
		if was, ok := before[e.Rule.ID]; !ok || was != score {
			changed = append(changed, store.HealthScore{RuleID: e.Rule.ID, Score: score})
		}
		standing := s.add(e.Rule, f.last, score)
		if was, ok := standings[e.Rule.ID]; !ok || !same(was, standing) {
			moved = append(moved, standing)
		}
		delete(standings, e.Rule.ID)
	}
	for _, was := range standings { // of rules that have ended
		if was.Standing != store.StandingEnded {
			moved = append(moved, store.RuleStanding{RuleID: was.RuleID, Team: was.Team, Standing: store.StandingEnded})
		}
	}
	// In batches, so that nobody waits long for the database. The next round stores those that an interruption leaves out.
	for batch := range slices.Chunk(changed, ruleBatch) {
		err := m.cfg.Store.Update(ctx, func(tx store.Tx) error {
			return tx.Health.Put(ctx, projectID, store.DayOf(now), batch)
		})
		if err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(moved, ruleBatch) {
		err := m.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Health.PutStandings(ctx, projectID, batch) })
		if err != nil {
			return err
		}
	}
	return m.cfg.Store.Update(ctx, func(tx store.Tx) error {
		return tx.Health.PutSummaries(ctx, projectID, s.whole, s.largest())
	})
}

// same compares standings; the time of one of them may be of another zone.
func same(a, b store.RuleStanding) bool {
	return a.Team == b.Team && a.Standing == b.Standing && a.IdleSince.Equal(b.IdleSince)
}

func (m *Monitor) scores(ctx context.Context, projectID string) (map[string]int, error) {
	list, err := m.cfg.Store.Health.Scores(ctx, projectID, nil)
	scores := make(map[string]int, len(list))
	for _, s := range list {
		scores[s.RuleID] = s.Score
	}
	return scores, err
}

// retention is for how many days counts and scores are stored.
const retention = 400

// drop deletes the counts and scores of a project that are older than that.
func (m *Monitor) drop(ctx context.Context, projectID string) error {
	before := store.DayOf(m.cfg.Now()) - retention
	for {
		dropped := 0
		err := m.cfg.Store.Update(ctx, func(tx store.Tx) (err error) {
			dropped, err = tx.Counts.DeleteOld(ctx, projectID, before, ruleBatch)
			return err
		})
		if err != nil || dropped < ruleBatch {
			return err
		}
	}
}
