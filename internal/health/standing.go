package health

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// maxTeams is for how many teams of a project sums are stored: those with the most rules.
const maxTeams = 500

// standings finds out whether rules are asked, and sums up the rules of a project and its teams.
type standings struct {
	now          time.Time
	dormantAfter time.Duration
	whole        store.HealthSummary
	teams        map[string]*store.HealthSummary
}

func newStandings(now time.Time, dormantAfter time.Duration, mark store.CountMark, version int64) *standings {
	return &standings{
		now: now, dormantAfter: dormantAfter, teams: map[string]*store.HealthSummary{},
		// Of records that were removed before they were counted, nobody knows which rules they asked.
		whole: store.HealthSummary{MeasuredAt: now, CorpusVersion: version, Asked: mark.BlindUntil == nil || now.Sub(*mark.BlindUntil) >= dormantAfter},
	}
}

// add takes a rule with its last verdict and score into the sums, and returns its standing.
func (s *standings) add(r *rule.Rule, last *time.Time, score int) store.RuleStanding {
	st := store.RuleStanding{RuleID: r.ID, Team: cut(r.Owner, maxName)}
	asked := r.InForce(s.now) && r.Judged()
	if asked && s.whole.Asked {
		never, dormant := last == nil, r.Dormant(last, s.dormantAfter, s.now)
		switch {
		case never && dormant:
			st.Standing = store.StandingNeverDormant
		case never:
			st.Standing = store.StandingNeverAsked
		case dormant:
			st.Standing = store.StandingDormant
		}
		if never || dormant {
			st.IdleSince = r.IdleSince(last)
		}
	}
	team := s.teams[st.Team]
	if team == nil {
		team = &store.HealthSummary{Team: st.Team, MeasuredAt: s.whole.MeasuredAt, CorpusVersion: s.whole.CorpusVersion, Asked: s.whole.Asked}
		s.teams[st.Team] = team
	}
	for _, sum := range []*store.HealthSummary{&s.whole, team} {
		sum.Rules++
		if asked {
			sum.InForce++
		}
		if st.Standing.Never() {
			sum.NeverAsked++
		}
		if st.Standing.Dormant() {
			sum.Dormant++
		}
		sum.ScoreSum += int64(score)
		sum.Bands[min(score*store.Bands/100, store.Bands-1)]++
	}
	return st
}

// largest returns the sums of the teams with the most rules.
func (s *standings) largest() []store.HealthSummary {
	list := make([]store.HealthSummary, 0, len(s.teams))
	for _, t := range s.teams {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b store.HealthSummary) int {
		return cmp.Or(cmp.Compare(b.Rules, a.Rules), cmp.Compare(a.Team, b.Team))
	})
	return list[:min(len(list), maxTeams)]
}

// The job that counts measures a project again when its rules have changed, a large one at most once in measureChanged, and
// otherwise once in measureAnyway.
const (
	measureChanged = 5 * time.Minute
	measureAnyway  = time.Hour
	large          = 5000 // rules
)

// measureStale measures the projects whose rules were never measured, have changed since, or were measured long ago.
func (m *Monitor) measureStale(ctx context.Context) error {
	versions, err := m.cfg.Store.Projects.CorpusVersions(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, projectID := range slices.Sorted(maps.Keys(versions)) {
		summary, err := m.cfg.Store.Health.Summary(ctx, projectID)
		if err == nil && stale(summary, versions[projectID], m.cfg.Now()) {
			err = m.Measure(ctx, projectID)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// stale reports whether sums are too old.
func stale(h *store.HealthSummary, version int64, now time.Time) bool {
	if h == nil {
		return true
	}
	age := now.Sub(h.MeasuredAt)
	switch {
	case h.CorpusVersion != version:
		return h.Rules < large || age >= measureChanged
	case h.Rules > 0:
		return age >= measureAnyway
	}
	return false
}
