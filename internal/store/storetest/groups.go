package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testGroups(t *testing.T, f *fixture) {
	early, late := today.Time().Add(time.Hour), today.Time().Add(2*time.Hour)
	counts := store.Counts{
		ProjectID: "p", Mark: store.CountMark{Seq: 5, At: late},
		Rules: []store.RuleCount{
			{Day: today - 1, RuleID: "a", Denied: 2, Calls: 1, CallMS: 10, Tokens: 3, LastAt: early},
			{Day: today, RuleID: "a", Denied: 1, LastAt: late},
			{Day: today, RuleID: "b", Denied: 3, Calls: 2, CallMS: 80, Tokens: 4, LastAt: late},
			{Day: today, RuleID: "c", Allowed: 9, LastAt: late},
		},
		Days: []store.DayCount{{Day: today, Evaluations: 3, Denied: 3, Rules: store.RuleCount{Allowed: 9, Denied: 4, Unsure: 1, ByCheck: 8, ByModel: 3, ByCache: 2, ByTriage: 1, ByApproval: 1}}},
		Groups: []store.GroupCount{
			{Dimension: store.OfNode, Day: today - 1, Name: "n1", Allowed: 1},
			{Dimension: store.OfNode, Day: today, Name: "", Unsure: 2},
			{Dimension: store.OfNode, Day: today, Name: "n1", Denied: 4},
			{Dimension: store.OfTeam, Day: today, Name: "n1", Denied: 7},
			{Dimension: store.OfAgent, Day: today, Name: "cursor", Unsure: 1},
			{Dimension: store.OfAgent, Day: today, Name: "n1", Denied: 2},
			{Dimension: store.OfPerson, Day: today, Name: "ann", Allowed: 3},
		},
		Parts: []store.PartCount{
			{Dimension: store.OfNode, Day: today - 1, Name: "n1", Part: "x", Count: 5},
			{Dimension: store.OfNode, Day: today, Name: "", Part: "x", Count: 1},
			{Dimension: store.OfNode, Day: today, Name: "n1", Part: "y", Count: 2},
		},
		Repositories: []store.RepositoryCount{
			{Repository: "acme/a_b", Allowed: 1, FirstAt: early, LastAt: late, LastID: "e2", LastVerdict: "ALLOW", NodeID: "n1"},
			{Repository: "acme/axb", Denied: 2, FirstAt: early, LastAt: early, LastID: "e1", LastVerdict: "DENY"},
		},
	}
	f.update(func(tx store.Tx) error { return tx.Counts.Add(f.ctx, counts) })

	top := func(filter store.TopFilter, want ...store.RuleCount) {
		t.Helper()
		filter.ProjectID = "p"
		got, err := f.s.Counts.Top(f.ctx, filter)
		if diff := cmp.Diff(append([]store.RuleCount{}, want...), got); err != nil || diff != "" {
			t.Errorf("top %+v: %v (-want +got):\n%s", filter, err, diff)
		}
	}
	a, b := store.RuleCount{RuleID: "a", Denied: 3}, store.RuleCount{RuleID: "b", Denied: 3}
	top(store.TopFilter{From: today - 1, Limit: 5}, a, b)
	top(store.TopFilter{From: today - 1, Limit: 1}, a)
	top(store.TopFilter{From: today, Limit: 5}, b, store.RuleCount{RuleID: "a", Denied: 1})
	top(store.TopFilter{From: today - 1, Until: today, Limit: 5}, store.RuleCount{RuleID: "a", Denied: 2})
	top(store.TopFilter{From: today - 1, Called: true, Limit: 5}, store.RuleCount{RuleID: "b", Calls: 2, CallMS: 80, Tokens: 4}, store.RuleCount{RuleID: "a", Calls: 1, CallMS: 10, Tokens: 3})
	f.update(func(tx store.Tx) error {
		if err := tx.Health.Put(f.ctx, "p", today, []store.HealthScore{{RuleID: "b", Score: 50}}); err != nil {
			return err
		}
		return tx.Health.PutStandings(f.ctx, "p", []store.RuleStanding{{RuleID: "b", Team: "web"}})
	})
	top(store.TopFilter{From: today - 1, Team: new("web"), Limit: 5}, b)

	groups := func(filter store.GroupFilter, want ...store.GroupCount) {
		t.Helper()
		filter.ProjectID = "p"
		got, err := f.s.Counts.Groups(f.ctx, filter)
		if diff := cmp.Diff(append([]store.GroupCount{}, want...), got); err != nil || diff != "" {
			t.Errorf("groups %+v: %v (-want +got):\n%s", filter, err, diff)
		}
	}
	n1, none := store.GroupCount{Dimension: store.OfNode, Name: "n1", Allowed: 1, Denied: 4}, store.GroupCount{Dimension: store.OfNode, Unsure: 2}
	groups(store.GroupFilter{Dimension: store.OfNode, From: today - 1}, n1, none)
	groups(store.GroupFilter{Dimension: store.OfNode, From: today - 1, Limit: 1}, n1)
	groups(store.GroupFilter{Dimension: store.OfNode, From: today - 1, Name: new("")}, none)
	groups(store.GroupFilter{Dimension: store.OfNode, From: today - 1, Name: new("n1"), Daily: true},
		store.GroupCount{Dimension: store.OfNode, Day: today - 1, Allowed: 1}, store.GroupCount{Dimension: store.OfNode, Day: today, Denied: 4})
	groups(store.GroupFilter{Dimension: store.OfTeam, From: today, Until: today})
	agent, person := store.GroupCount{Dimension: store.OfAgent, Name: "n1", Denied: 2}, store.GroupCount{Dimension: store.OfPerson, Name: "ann", Allowed: 3}
	groups(store.GroupFilter{Dimension: store.OfAgent, From: today - 1, Limit: 1}, agent)
	groups(store.GroupFilter{Dimension: store.OfAgent, From: today - 1, Name: new("n1")}, agent)
	groups(store.GroupFilter{Dimension: store.OfPerson, From: today - 1, Limit: 5}, person)

	parts := func(filter store.PartFilter, want ...store.PartCount) {
		t.Helper()
		filter.ProjectID, filter.Dimension = "p", store.OfNode
		got, err := f.s.Counts.Parts(f.ctx, filter)
		if diff := cmp.Diff(append([]store.PartCount{}, want...), got); err != nil || diff != "" {
			t.Errorf("parts %+v: %v (-want +got):\n%s", filter, err, diff)
		}
	}
	x, y := store.PartCount{Dimension: store.OfNode, Name: "n1", Part: "x", Count: 5}, store.PartCount{Dimension: store.OfNode, Name: "n1", Part: "y", Count: 2}
	parts(store.PartFilter{From: today - 1}, x, y, store.PartCount{Dimension: store.OfNode, Part: "x", Count: 1})
	parts(store.PartFilter{From: today - 1, Name: new("n1"), Limit: 1}, x)
	parts(store.PartFilter{From: today, Name: new("n1")}, y)

	// Entries that were counted without groups are filled in later, and change nothing of what is latest.
	fill := store.Counts{
		ProjectID: "p", Fill: true, Mark: store.CountMark{Seq: 3},
		Rules:        []store.RuleCount{{Day: today, RuleID: "a", Denied: 100, LastAt: late}}, // counted already
		Repositories: []store.RepositoryCount{{Repository: "acme/a_b", Denied: 1, FirstAt: early.Add(-time.Hour), LastAt: early, LastID: "e0", LastVerdict: "DENY"}},
	}
	f.update(func(tx store.Tx) error { return tx.Counts.Add(f.ctx, fill) })
	f.fails(rule.CodeConflict, func(tx store.Tx) error { return tx.Counts.Add(f.ctx, fill) })
	if m, err := f.s.Counts.Mark(f.ctx, "p"); err != nil || m.Filled != 3 || m.Seq != 5 {
		t.Errorf("mark %+v, %v", m, err)
	}
	top(store.TopFilter{From: today - 1, Limit: 1}, a)

	ab := store.RepositoryCount{Repository: "acme/a_b", Allowed: 1, Denied: 1, FirstAt: early.Add(-time.Hour), LastAt: late, LastID: "e2", LastVerdict: "ALLOW", NodeID: "n1"}
	axb := counts.Repositories[1]
	repositories := func(filter store.RepositoryFilter, total int, want ...store.RepositoryCount) {
		t.Helper()
		filter.ProjectID = "p"
		got, n, err := f.s.Counts.Repositories(f.ctx, filter)
		if diff := cmp.Diff(append([]store.RepositoryCount{}, want...), got); err != nil || n != total || diff != "" {
			t.Errorf("repositories %+v: %d, %v (-want +got):\n%s", filter, n, err, diff)
		}
	}
	repositories(store.RepositoryFilter{Limit: 5}, 2, ab, axb)
	repositories(store.RepositoryFilter{Order: store.RepositoriesByAge, Limit: 5}, 2, axb, ab)
	repositories(store.RepositoryFilter{Order: store.RepositoriesByDenied, Limit: 1}, 2, axb)
	repositories(store.RepositoryFilter{Order: store.RepositoriesByName, Offset: 1, Limit: 5}, 2, axb)
	repositories(store.RepositoryFilter{Words: "A_B", Limit: 5}, 1, ab)
	repositories(store.RepositoryFilter{NodeID: new(""), Limit: 5}, 1, axb)
	repositories(store.RepositoryFilter{Before: &late, Limit: 5}, 1, axb)

	if got, err := f.s.Counts.Days(f.ctx, "p", today); err != nil || cmp.Diff(counts.Days, got) != "" {
		t.Errorf("days: %v, %v", got, err)
	}
	f.update(func(tx store.Tx) error {
		_, err := tx.Counts.DeleteOld(f.ctx, "p", today, 100)
		return err
	})
	parts(store.PartFilter{From: today - 1, Name: new("n1")}, y)
	groups(store.GroupFilter{Dimension: store.OfNode, From: today - 1, Name: new("n1")}, store.GroupCount{Dimension: store.OfNode, Name: "n1", Denied: 4})
	repositories(store.RepositoryFilter{Limit: 5}, 2, ab, axb)
	f.update(func(tx store.Tx) error {
		_, err := tx.Counts.DeleteOld(f.ctx, "p", today+1, 100)
		return err
	})
	repositories(store.RepositoryFilter{Limit: 5}, 0)
}

func testStandings(t *testing.T, f *fixture) {
	since := at.Add(-48 * time.Hour)
	standings := []store.RuleStanding{
		{RuleID: "a", Team: "web", Standing: store.StandingNeverAsked, IdleSince: since},
		{RuleID: "b", Team: "web", Standing: store.StandingNeverDormant, IdleSince: since.Add(-time.Hour)},
		{RuleID: "c", Team: "", Standing: store.StandingAsked},
		{RuleID: "d", Team: "web", Standing: store.StandingEnded},
	}
	first := store.HealthSummary{MeasuredAt: at, CorpusVersion: 3, Rules: 3, InForce: 2, Asked: true, NeverAsked: 2, Dormant: 1, ScoreSum: 120, Bands: [store.Bands]int{0, 1, 2}}
	web, nobody := first, store.HealthSummary{MeasuredAt: at, CorpusVersion: 3, Rules: 1, ScoreSum: 20}
	web.Team, web.Rules = "web", 2
	if got, err := f.s.Health.Summary(f.ctx, "p"); err != nil || got != nil {
		t.Errorf("before it is measured: %+v, %v", got, err)
	}
	f.update(func(tx store.Tx) error {
		err := tx.Health.Put(f.ctx, "p", today, []store.HealthScore{{RuleID: "a", Score: 60}, {RuleID: "b", Score: 40}, {RuleID: "c", Score: 20}, {RuleID: "d", Score: 1}})
		if err != nil {
			return err
		}
		if err := tx.Health.PutStandings(f.ctx, "p", standings); err != nil {
			return err
		}
		return tx.Health.PutSummaries(f.ctx, "p", first, []store.HealthSummary{web, nobody})
	})
	want := map[string]store.RuleStanding{}
	for _, s := range standings {
		want[s.RuleID] = s
	}
	if got, err := f.s.Health.Standings(f.ctx, "p"); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("standings: %v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	measured := func(filter store.MeasuredFilter, total int, want ...string) {
		t.Helper()
		filter.ProjectID = "p"
		list, n, err := f.s.Health.Measured(f.ctx, filter)
		var got []string
		for _, m := range list {
			got = append(got, m.RuleID)
		}
		if err != nil || n != total || cmp.Diff(want, got) != "" {
			t.Errorf("measured %+v: %v of %d, %v, want %v", filter, got, n, err, want)
		}
		if filter.NoTotal = true; total > 0 {
			if again, n, err := f.s.Health.Measured(f.ctx, filter); err != nil || n != 0 || cmp.Diff(list, again) != "" {
				t.Errorf("measured %+v: %v of %d, %v, want %v", filter, again, n, err, list)
			}
		}
	}
	measured(store.MeasuredFilter{ScoreMax: 100, Limit: 5}, 3, "c", "b", "a")
	measured(store.MeasuredFilter{ScoreMax: 40, Limit: 1}, 2, "c")
	measured(store.MeasuredFilter{ScoreMin: 41, ScoreMax: 100, Limit: 5}, 1, "a")
	measured(store.MeasuredFilter{ScoreMax: 100, Team: new("web"), Limit: 5}, 2, "b", "a")
	measured(store.MeasuredFilter{ScoreMax: 100, Standings: []store.Standing{store.StandingNeverAsked, store.StandingNeverDormant}, Idle: true, Limit: 5}, 2, "b", "a")
	measured(store.MeasuredFilter{ScoreMax: 100, Standings: []store.Standing{store.StandingDormant, store.StandingNeverDormant}, Idle: true, Offset: 1, Limit: 5}, 1)
	if scores, err := f.s.Health.Scores(f.ctx, "p", nil); err != nil || len(scores) != 4 || scores[0].Score != 60 || scores[0].Day != today {
		t.Errorf("standings changed the scores: %+v, %v", scores, err)
	}

	if got, err := f.s.Health.Summary(f.ctx, "p"); err != nil || got == nil || cmp.Diff(first, *got) != "" {
		t.Errorf("summary: %+v, %v", got, err)
	}
	teams := func(team *string, limit int, want ...store.HealthSummary) {
		t.Helper()
		if got, err := f.s.Health.TeamSummaries(f.ctx, "p", team, limit); err != nil || cmp.Diff(append([]store.HealthSummary{}, want...), got) != "" {
			t.Errorf("teams: %+v, %v", got, err)
		}
	}
	teams(nil, 5, web, nobody)
	teams(nil, 1, web)
	teams(new(""), 5, nobody)
	older, newer := store.HealthSummary{MeasuredAt: at.Add(-time.Second)}, store.HealthSummary{MeasuredAt: at.Add(time.Second), Rules: 9}
	f.update(func(tx store.Tx) error { return tx.Health.PutSummaries(f.ctx, "p", older, nil) })
	teams(nil, 1, web) // what is measured later stays
	f.update(func(tx store.Tx) error { return tx.Health.PutSummaries(f.ctx, "p", newer, nil) })
	teams(nil, 5)
	if got, err := f.s.Health.Summary(f.ctx, "p"); err != nil || got == nil || cmp.Diff(newer, *got) != "" {
		t.Errorf("summary: %+v, %v", got, err)
	}
}
