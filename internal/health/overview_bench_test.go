package health_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// sizeEnv names the variable that holds the number of rules; 10,000 without it.
const sizeEnv = "TENET_BENCH_RULES"

// BenchmarkOverview measures the overview of a project, of a team and of a node over 30 days. Of the rules, two thirds have verdicts on each
// day, a quarter denies something and an eighth is asked of models. A tenth as many nodes and repositories are judged, and a hundred teams own
// the rules. The bar at 100,000 rules is 100 ms.
func BenchmarkOverview(b *testing.B) {
	size := 10_000
	if text := os.Getenv(sizeEnv); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for name, open := range databases(b) {
		b.Run(name, func(b *testing.B) {
			s := open()
			began := time.Now()
			fillCounts(b, s, fill(b, s, size))
			b.Logf("filled in %.1f s", time.Since(began).Seconds())
			live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}})
			m := health.New(health.Config{Store: health.Store{
				Updater: s, Alerts: s.Alerts, Audit: s.Audit, Counts: s.Counts, Feedback: s.Feedback, Health: s.Health, Projects: s.Projects,
				Rules: s.Rules, Releases: s.Releases, TestCases: s.TestCases, Waivers: s.Waivers,
			}, Views: live})
			if _, err := live.View(b.Context(), "p"); err != nil {
				b.Fatal(err)
			}
			for _, q := range []struct {
				name  string
				query wire.InsightsQuery
			}{
				{"project", wire.InsightsQuery{PeriodDays: 30}},
				{"team", wire.InsightsQuery{PeriodDays: 30, Team: "team-42"}},
				{"node", wire.InsightsQuery{PeriodDays: 30, NodeID: benchNode(42)}},
			} {
				b.Run(q.name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						began := time.Now()
						o, err := m.Overview(b.Context(), "p", &q.query)
						if err != nil || len(o.MostDenied) != 10 {
							b.Fatal(o, err)
						}
						took = append(took, time.Since(began))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
					b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
				})
			}
		})
	}
}

// fillCounts counts 30 days of verdicts of rules, and measures them.
func fillCounts(b *testing.B, s store.Store, rules []rule.Rule) {
	b.Helper()
	update := func(fn func(tx store.Tx) error) {
		b.Helper()
		if err := s.Update(b.Context(), fn); err != nil {
			b.Fatal(err)
		}
	}
	now := time.Now().UTC()
	today := store.DayOf(now)
	team := func(i int) string { return fmt.Sprintf("team-%d", i%100) }
	for d := range 30 {
		day := today - store.Day(d)
		c := store.Counts{
			ProjectID: "p", From: int64(d), Mark: store.CountMark{Seq: int64(d + 1), At: now},
			Days: []store.DayCount{{Day: day, Evaluations: 1000, Allowed: 900, Denied: 100, LatencyMS: 5000, MaxLatencyMS: 100}},
		}
		for i := range rules {
			n := i*31 + d*17
			if n%4 != 0 && n%8 != 1 {
				continue
			}
			r := store.RuleCount{Day: day, RuleID: rules[i].ID, Allowed: 9, ByCheck: 9, LastAt: day.Time()}
			if n%4 == 0 {
				r.Denied = 1 + int64(n%11)
			}
			if n%8 == 1 {
				r.Calls, r.CallMS, r.Tokens = 2, 300+int64(n%500), 1200
			}
			c.Rules = append(c.Rules, r)
		}
		for i := range len(rules) / 10 {
			node := benchNode(i)
			c.Groups = append(c.Groups, store.GroupCount{Dimension: store.OfNode, Day: day, Name: node, Allowed: 1 + int64((i+d)%7), Denied: 1})
			c.Parts = append(c.Parts, store.PartCount{Dimension: store.OfNodeRule, Day: day, Name: node, Part: rules[(i*7+d)%len(rules)].ID, Count: 1})
			if d == 0 {
				c.Repositories = append(c.Repositories, store.RepositoryCount{
					Repository: fmt.Sprintf("acme/app-%d", i), Allowed: 30, FirstAt: now, LastAt: now, LastID: rules[i].ID, LastVerdict: "ALLOW", NodeID: node,
				})
			}
		}
		for i := range 100 {
			c.Groups = append(c.Groups, store.GroupCount{Dimension: store.OfTeam, Day: day, Name: team(i), Allowed: 90, Denied: 10})
			c.Parts = append(c.Parts, store.PartCount{Dimension: store.OfTeam, Day: day, Name: team(i), Part: string(rule.UndecidedSoftened), Count: 3})
		}
		c.Parts = append(c.Parts, store.PartCount{Dimension: store.OfProject, Day: day, Part: string(rule.UndecidedSoftened), Count: 30})
		update(func(tx store.Tx) error { return tx.Counts.Add(b.Context(), c) })
	}
	var scores []store.HealthScore
	var standings []store.RuleStanding
	summary := func(n int, name string) store.HealthSummary {
		return store.HealthSummary{Team: name, MeasuredAt: now, Rules: n, InForce: n, Asked: true, NeverAsked: n / 4, Dormant: n / 4, ScoreSum: int64(50 * n), Bands: [store.Bands]int{2: n}}
	}
	for i := range rules {
		scores = append(scores, store.HealthScore{RuleID: rules[i].ID, Score: 20 + i*7%80})
		st := store.RuleStanding{RuleID: rules[i].ID, Team: team(i), Standing: store.Standing(i / 100 % 4)}
		if st.Standing != store.StandingAsked {
			st.IdleSince = now.Add(-time.Duration(i%5000) * time.Minute)
		}
		standings = append(standings, st)
	}
	var teams []store.HealthSummary
	for i := range 100 {
		teams = append(teams, summary(len(rules)/100, team(i)))
	}
	update(func(tx store.Tx) error { return tx.Health.Put(b.Context(), "p", today, scores) })
	update(func(tx store.Tx) error { return tx.Health.PutStandings(b.Context(), "p", standings) })
	update(func(tx store.Tx) error {
		return tx.Health.PutSummaries(b.Context(), "p", summary(len(rules), ""), teams)
	})
}

// benchNode is the id of a node that is gone: of those that are there, nothing else is counted.
func benchNode(i int) string { return fmt.Sprintf("0199c2b4-0000-7000-8000-%012d", i) }
