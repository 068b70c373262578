package judge_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/subject"
)

// TestNoVerdictFlips repeats requests that a model decides by tossing a coin, over restarts, nodes, orders of the rules and days. The
// first verdict of each rule on each subject stays. TENET_FLIPS is how many requests there are.
func TestNoVerdictFlips(t *testing.T) {
	requests := 400
	if n, err := strconv.Atoi(os.Getenv("TENET_FLIPS")); err == nil {
		requests = n
	}
	for name, open := range map[string]func() store.Store{
		"SQLite": func() store.Store { return database(t) },
		"PostgreSQL": func() store.Store {
			s, err := sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := open()
			random := rand.New(rand.NewPCG(7, 11))
			var coin sync.Mutex
			m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry {
				coin.Lock()
				defer coin.Unlock()
				switch random.IntN(5) {
				case 0, 1:
					return judgetest.Allow()
				case 2, 3:
					return judgetest.Deny("card.Number")
				}
				return judgetest.Unsure()
			})
			now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
			type node struct {
				*judge.Judge

				cache *judge.Cache
			}
			start := func() node {
				c := judge.NewCache(judge.CacheConfig{Store: db, Verdicts: db.Verdicts, Now: func() time.Time { return now }})
				return node{judge.New(judge.Config{Model: m, Cache: c}), c}
			}
			nodes := []node{start(), start(), start()}
			defer func() {
				for _, n := range nodes {
					n.cache.Close()
				}
			}()
			rules := newRules(6)
			for i, severity := range []rule.Severity{rule.Critical, rule.High, rule.High, rule.Medium, rule.Medium, rule.Low} {
				rules[i].Severity, rules[i].ProjectID = severity, "p"
			}
			subjects := []subject.Input{
				{Diff: diff},
				{Diff: diff, Intent: "Tell me a story."},
				{Diff: diff, Intent: attacks[0]},
				{Diff: diff + hunks(3, nil)},
				{Action: "log card.Number"},
				{Facts: map[string]any{"note": "the card.Number is logged", "amount": 7}},
			}
			first := map[string]rule.Verdict{}
			flips, seen, given := 0, 0, map[rule.Verdict]int{}
			for i := range requests {
				switch random.IntN(20) {
				case 0: // a restart
					k := random.IntN(len(nodes))
					nodes[k].cache.Close()
					nodes[k] = start()
				case 1:
					now = now.AddDate(0, 0, 1)
				}
				order := slices.Clone(rules)
				random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
				order = order[:1+random.IntN(len(order))]
				n, k := nodes[random.IntN(len(nodes))], random.IntN(len(subjects))
				for _, v := range n.Decide(t.Context(), build(t, subjects[k]), order).Verdicts {
					key := fmt.Sprint(k, v.RuleID)
					seen++
					switch was, ok := first[key]; {
					case !ok:
						first[key] = v.Verdict
						given[v.Verdict]++
						n.cache.Flush() // what another node stores at the same moment is TestTheFirstVerdictOfTwoNodesStands
					case was != v.Verdict:
						flips++
						t.Errorf("request %d: rule %s on subject %d is %s, after %s: %s", i, v.RuleSlug, k, v.Verdict, was, v.Reasoning)
					}
				}
			}
			t.Logf("%d requests, %d verdicts on %d pairs, first %v, %d calls, %d flips", requests, seen, len(first), given, m.Calls(), flips)
			if len(given) < 3 {
				t.Errorf("the coin gave %v", given)
			}
		})
	}
}
