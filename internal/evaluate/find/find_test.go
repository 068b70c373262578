package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenet/internal/audit"
	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// both runs a test on both databases, each with a project p and a rule.
func both(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	dir := litetest.Dir(t)
	for name, open := range map[string]func() (store.Store, error){
		"SQLite": func() (store.Store, error) { return sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{}) },
		"PostgreSQL": func() (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			w := &world{T: t, store: s, ids: map[string]*wire.EvaluationRecord{}}
			if name == "SQLite" {
				w.dir = dir
			}
			w.index = New(Config{Store: Store{Updater: s, DerivedUpdater: s, Audit: s.Audit, Rules: s.Rules, Terms: s.Terms}})
			w.rule = rule.Rule{ID: "00000000-0000-7000-8000-000000000001", ProjectID: "p", Slug: "PAY-1", Version: 1, Statement: "Pay once.", CreatedAt: noon, UpdatedAt: noon}
			w.rule.Normalize()
			w.update(func(ctx context.Context, tx store.Tx) error {
				if err := tx.Projects.Create(ctx, rule.Project{ID: "p", Name: "p", CreatedAt: noon, UpdatedAt: noon}); err != nil {
					return err
				}
				cv, err := tx.Projects.RaiseCorpus(ctx, "p")
				if err != nil {
					return err
				}
				return tx.Rules.Insert(ctx, cv, []rule.Rule{w.rule})
			})
			test(t, w)
		})
	}
}

// world is a database with recorded evaluations.
type world struct {
	*testing.T
	store store.Store
	dir   string // of SQLite
	index *Index
	rule  rule.Rule
	all   []*wire.EvaluationRecord // oldest first
	ids   map[string]*wire.EvaluationRecord
}

func (w *world) update(fn func(context.Context, store.Tx) error) {
	w.Helper()
	if err := w.store.Update(w.Context(), func(tx store.Tx) error { return fn(w.Context(), tx) }); err != nil {
		w.Fatal(err)
	}
}

// record appends evaluations to the chain, with an entry of another kind after each third.
func (w *world) record(list ...*wire.EvaluationRecord) {
	w.Helper()
	var records []audit.Record
	for _, rec := range list {
		e := rec.Evaluation
		e.EvaluationID, e.ProjectID = audit.NewID(), "p"
		w.all = append(w.all, rec)
		w.ids[e.EvaluationID] = rec
		records = append(records, audit.Record{
			ProjectID: "p", ID: e.EvaluationID, Kind: audit.KindEvaluation, At: e.Timestamp, Actor: rec.Audit.Actor, Verdict: string(e.OverallVerdict), Mode: string(e.Mode), Body: audit.JSON(rec),
		})
		if len(w.all)%3 == 0 {
			records = append(records, audit.Record{ProjectID: "p", Kind: audit.KindRelation, At: e.Timestamp, Actor: rec.Audit.Actor, Body: []byte("{}")})
		}
	}
	w.update(func(ctx context.Context, tx store.Tx) error { return audit.Append(ctx, tx, "p", records...) })
}

// plain is a record of a payment.
func plain(id string) *wire.EvaluationRecord {
	return &wire.EvaluationRecord{
		Evaluation: &rule.Evaluation{OverallVerdict: rule.Allow, Mode: rule.Preflight, Timestamp: noon},
		Subject:    wire.RecordedSubject{Facts: map[string]any{"payment_id": id}}, Audit: &wire.AuditPlace{Actor: "key:ci"},
	}
}

func (w *world) find(q wire.EvaluationQuery) Result {
	w.Helper()
	if q.Page == 0 {
		q.Page = 1
	}
	if q.PageSize == 0 {
		q.PageSize = 100
	}
	r, err := w.index.Find(w.Context(), "p", q)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *world) indexAll() {
	w.Helper()
	if err := w.index.catchUp(w.Context(), "p", time.Now().Add(time.Minute), func(int64) {}); err != nil {
		w.Fatal(err)
	}
}

// values that records and queries draw from.
var (
	scopes       = []string{"", "finance", "finance/payments", "finance/payments/eu", "hr"}
	repositories = []string{"", "acme/app", "github.com/acme/app", "github.com/acme/web", "gitlab.com/acme/app"}
	actors       = []string{"key:ci", "key:bot", "user:ann"}
	payments     = []string{"PMT-1", "PMT-2", "PMT-3"}
	words        = []string{"refund", "transfer", "vendor"}
	nodes        = []string{"", "node-a", "node-b"}
)

// drawRecord draws the record of the evaluation that follows the one at a time.
func drawRecord(t *rapid.T, ruleID string, after time.Time) *wire.EvaluationRecord {
	pick := func(from []string, name string) string { return rapid.SampledFrom(from).Draw(t, name) }
	rec := plain(pick(payments, "payment"))
	rec.Audit.Actor = pick(actors, "actor")
	e := rec.Evaluation
	e.OverallVerdict, e.Mode = rapid.SampledFrom(rule.Verdicts).Draw(t, "verdict"), rapid.SampledFrom(rule.Modes).Draw(t, "mode")
	e.Timestamp = after.Add(time.Duration(rapid.IntRange(-5, 60).Draw(t, "minutes")) * time.Minute)
	if v := rapid.SampledFrom(append([]rule.Verdict{""}, rule.Verdicts...)).Draw(t, "rule verdict"); v != "" {
		e.RuleVerdicts = []rule.RuleVerdict{{RuleID: ruleID, Verdict: v, Concerned: rapid.Bool().Draw(t, "concerned")}}
	}
	rec.Subject.Scope, rec.Subject.Repository = pick(scopes, "scope"), pick(repositories, "repository")
	rec.Subject.Facts["amount"] = float64(rapid.IntRange(1, 3).Draw(t, "amount"))
	rec.Subject.Action = pick(words, "word") + " " + pick(words, "word")
	rec.Kinds = []wire.SubjectKind{rapid.SampledFrom(wire.SubjectKinds).Draw(t, "kind")}
	rec.NodeID, rec.Environment = pick(nodes, "node"), pick([]string{"", "production", "staging"}, "environment")
	return rec
}

// drawQuery draws a query of at most a few conditions.
func drawQuery(t *rapid.T) wire.EvaluationQuery {
	var q wire.EvaluationQuery
	pick := func(to *string, from ...string) { *to = rapid.SampledFrom(from).Draw(t, "value") }
	at := func(to **time.Time) {
		x := noon.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "minutes")) * time.Minute)
		*to = &x
	}
	for range rapid.IntRange(0, 3).Draw(t, "conditions") {
		switch rapid.IntRange(0, 12).Draw(t, "condition") {
		case 0:
			pick(&q.Verdict, "DENY", "allow", "NEEDS_CONFIRMATION")
		case 1:
			pick(&q.Mode, "preflight", "posthoc")
		case 2:
			pick(&q.Actor, append(actors, "nobody")...)
		case 3:
			at(&q.Since)
		case 4:
			at(&q.Until)
		case 5:
			q.Rule = "PAY-1"
			pick(&q.RuleVerdict, "", "violated", "confirm", "kept", "not_concerned", "waived")
		case 6:
			pick(&q.Scope, "finance", "Finance/Payments", "hr", "fin")
		case 7:
			pick(&q.Repository, "acme/app", "git@github.com:acme/app.git", "https://github.com/Acme/Web")
		case 8:
			pick(&q.SubjectKind, "transaction", "facts")
		case 9:
			q.Fact = append(q.Fact, rapid.SampledFrom([]string{"payment_id:pmt-1", "payment_id=PMT-2", "amount:2.0", "amount=3", "amount:x"}).Draw(t, "fact"))
		case 10:
			pick(&q.Words, "refund", "Refunds transfer", "vendor 2")
		case 11:
			pick(&q.NodeID, "node-a")
		case 12:
			pick(&q.Environment, "production", "STAGING")
		}
	}
	return q
}

// wants is the meaning of a query, in the plainest way.
func wants(q *wire.EvaluationQuery, rec *wire.EvaluationRecord) bool {
	e, s := rec.Evaluation, &rec.Subject
	holds := []bool{
		q.Verdict == "" || strings.EqualFold(q.Verdict, string(e.OverallVerdict)),
		q.Mode == "" || strings.EqualFold(q.Mode, string(e.Mode)),
		q.Actor == "" || q.Actor == rec.Audit.Actor,
		q.Since == nil || !e.Timestamp.Before(*q.Since),
		q.Until == nil || e.Timestamp.Before(*q.Until),
		q.Scope == "" || (s.Scope+"/") != "/" && strings.HasPrefix(s.Scope+"/", strings.ToLower(q.Scope)+"/"),
		q.Repository == "" || s.Repository != "" && rule.ParseRepository(s.Repository).Same(rule.ParseRepository(q.Repository)),
		q.SubjectKind == "" || string(rec.Kinds[0]) == q.SubjectKind,
		q.NodeID == "" || q.NodeID == rec.NodeID,
		q.Environment == "" || strings.EqualFold(q.Environment, rec.Environment),
		q.Rule == "" || len(e.RuleVerdicts) > 0,
	}
	if q.RuleVerdict != "" && len(e.RuleVerdicts) > 0 {
		v := e.RuleVerdicts[0]
		holds = append(holds, map[string]bool{
			"violated": v.Verdict == rule.Deny, "confirm": v.Verdict == rule.NeedsConfirmation,
			"kept": v.Verdict == rule.Allow && v.Concerned, "not_concerned": v.Verdict == rule.Allow && !v.Concerned,
		}[q.RuleVerdict])
	}
	for _, f := range q.Fact {
		f = strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(f), "=", ":"), ".0", "")
		id, amount := strings.ToLower(fmt.Sprint("payment_id:", s.Facts["payment_id"])), fmt.Sprint("amount:", s.Facts["amount"])
		holds = append(holds, f == id || f == amount)
	}
	for w := range strings.FieldsSeq(strings.ToLower(q.Words)) {
		text := strings.ToLower(fmt.Sprint(s.Action, " ", strings.ReplaceAll(fmt.Sprint(s.Facts["payment_id"]), "-", " ")))
		holds = append(holds, slices.Contains(strings.Fields(text), strings.TrimSuffix(w, "s")))
	}
	return !slices.Contains(holds, false)
}

func (w *world) idsOf(r Result) []string {
	var list []string
	for _, e := range r.Entries {
		list = append(list, e.ID)
	}
	return list
}

// TestFindIsAPlainScan draws records and queries, and compares what is found with a scan of all records: before the records are
// indexed, when half of them are, and afterwards, by pages and by cursors.
func TestFindIsAPlainScan(t *testing.T) {
	t.Parallel()
	both(t, testFindIsAPlainScan)
}

func testFindIsAPlainScan(t *testing.T, w *world) {
	proptest.Check(t, func(rt *rapid.T) {
		if len(w.all) < 400 {
			var list []*wire.EvaluationRecord
			at := noon
			if n := len(w.all); n > 0 {
				at = w.all[n-1].Evaluation.Timestamp
			}
			for range rapid.IntRange(1, 12).Draw(rt, "records") {
				list = append(list, drawRecord(rt, w.rule.ID, at))
				at = list[len(list)-1].Evaluation.Timestamp
			}
			w.record(list...)
			if rapid.IntRange(0, 3).Draw(rt, "index") == 0 {
				w.indexAll()
			}
		}
		q := drawQuery(rt)
		var want []string
		for _, rec := range slices.Backward(w.all) {
			if wants(&q, rec) {
				want = append(want, rec.Evaluation.EvaluationID)
			}
		}
		q.PageSize = rapid.SampledFrom([]int{1, 7, 100}).Draw(rt, "page size")
		q.Page = rapid.IntRange(1, 3).Draw(rt, "page")
		got := w.find(q)
		from := min((q.Page-1)*q.PageSize, len(want))
		to := min(from+q.PageSize, len(want))
		if ids := w.idsOf(got); !slices.Equal(ids, want[from:to]) || got.Total != len(want) || got.Partial != 0 || got.Unsearched != 0 {
			rt.Fatalf("%+v: page %v of %d in all, want %v of %d", q, ids, got.Total, want[from:to], len(want))
		}
		if (got.Next != "") != (to < len(want)) {
			rt.Fatalf("%+v: next cursor %q after %d of %d", q, got.Next, to, len(want))
		}
		if got.Next != "" {
			q.Page, q.Cursor = 1, got.Next
			next := w.find(q)
			if ids := w.idsOf(next); !slices.Equal(ids, want[to:min(to+q.PageSize, len(want))]) || next.Total != len(want) {
				rt.Fatalf("%+v: %v, want what follows", q, ids)
			}
		}
	})
}

func TestWrongQueries(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w *world) {
		many := make([]string, maxFactFilters+1)
		for i := range many {
			many[i] = fmt.Sprintf("a:%d", i)
		}
		for name, q := range map[string]wire.EvaluationQuery{
			"verdict": {Verdict: "MAYBE"}, "mode": {Mode: "never"}, "rule": {Rule: "NONE-1"}, "rule_verdict": {Rule: "PAY-1", RuleVerdict: "broken"},
			"rule_verdict needs": {RuleVerdict: "kept"}, "scope": {Scope: "a/*"}, "repository": {Repository: "https://"}, "subject_kind": {SubjectKind: "car"},
			"fact": {Fact: []string{"payment"}}, "fact is given": {Fact: many}, "q": {Words: "!?"}, "environment": {Environment: "moon"},
			"cursor": {Cursor: "!"}, "page": {Cursor: "9", PageQuery: wire.PageQuery{Page: 2}}, "scope has": {Scope: strings.Repeat("a/", 40) + "a"},
			"q has": {Words: strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), " ")},
		} {
			_, err := w.index.Find(t.Context(), "p", q)
			if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), strings.Fields(name)[0]) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestForgottenRecords checks that nothing of a removed record is found, in the index and in what is not indexed yet.
func TestForgottenRecords(t *testing.T) {
	t.Parallel()
	for _, indexed := range []bool{true, false} {
		t.Run(fmt.Sprintf("indexed %v", indexed), func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, w *world) {
				old, young := plain("PMT-OLD"), plain("PMT-NEW")
				young.Evaluation.Timestamp = noon.Add(48 * time.Hour)
				w.record(old, young)
				if indexed {
					w.indexAll()
				}
				byPayment := wire.EvaluationQuery{Fact: []string{"payment_id:PMT-OLD"}}
				if n := w.find(byPayment).Total; n != 1 {
					t.Fatalf("%d records with the payment, want 1", n)
				}
				if _, err := audit.Prune(t.Context(), w.store, w.store.Audit, audit.Pruning{ProjectID: "p", Kind: audit.KindEvaluation, Before: noon.Add(time.Hour), Now: noon}); err != nil {
					t.Fatal(err)
				}
				for range 2 { // again is harmless
					if err := forget(t, w); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					if n := w.find(byPayment).Total; n != 0 {
						t.Errorf("%d removed records are found by their payment", n)
					}
					if n := w.find(wire.EvaluationQuery{Verdict: "ALLOW"}).Total; n != 2 {
						t.Errorf("%d records are found by their verdict, want both", n)
					}
					if n := w.find(wire.EvaluationQuery{Fact: []string{"payment_id:PMT-NEW"}}).Total; n != 1 {
						t.Errorf("%d records are found by the payment of the young one", n)
					}
					w.indexAll()
				}
				sets, err := w.store.Terms.Sets(t.Context(), "p", []store.Term{termOf(fact, "payment_id", "pmt-old"), termOf(word, "old")}, []int64{0})
				if err != nil || len(sets) != 0 {
					t.Errorf("terms of the removed record are stored: %v, %v", sets, err)
				}
			})
		})
	}
}

// TestPartialRecords checks that a search inside subjects counts the records of which it knows not all.
func TestPartialRecords(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w *world) {
		large := plain("PMT-1")
		for i := range MaxFacts + 1 {
			large.Subject.Facts[fmt.Sprintf("a%03d", i)] = float64(i)
		}
		other := plain("PMT-2")
		large.Subject.Scope = "finance"
		w.record(large, other)
		for range 2 {
			for _, tt := range []struct {
				q              wire.EvaluationQuery
				total, partial int
			}{
				{wire.EvaluationQuery{Fact: []string{"payment_id:PMT-1"}}, 0, 1},
				{wire.EvaluationQuery{Fact: []string{"payment_id:PMT-2"}}, 1, 1},
				{wire.EvaluationQuery{Fact: []string{"payment_id:PMT-1"}, Scope: "hr"}, 0, 0},
				{wire.EvaluationQuery{Fact: []string{"a000:0"}}, 1, 0},
				{wire.EvaluationQuery{Verdict: "ALLOW"}, 2, 0},
			} {
				if r := w.find(tt.q); r.Total != tt.total || r.Partial != tt.partial {
					t.Errorf("%+v: %d found, %d partial; want %d, %d", tt.q, r.Total, r.Partial, tt.total, tt.partial)
				}
			}
			w.indexAll()
		}
	})
}

// TestLongTails checks that a query says what it could not go through.
func TestLongTails(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w *world) {
		list := make([]*wire.EvaluationRecord, newest)
		for i := range list {
			list[i] = plain("PMT-1")
		}
		w.record(plain("PMT-0"))
		w.record(list...)
		first := wire.EvaluationQuery{Fact: []string{"payment_id:PMT-0"}}
		if r := w.find(first); r.Total != 0 || r.Unsearched == 0 {
			t.Errorf("%d found, %d not searched; the first is not among the newest", r.Total, r.Unsearched)
		}
		if r := w.find(wire.EvaluationQuery{Verdict: "allow", PageQuery: wire.PageQuery{Page: 21}}); r.Total != newest+1 || r.Unsearched != 0 || len(r.Entries) != 1 || r.Next != "" {
			t.Errorf("%d found, %d of them on the last page, though the verdict needs no index", r.Total, len(r.Entries))
		}
		working := false
		w.index.cfg.Working = func() bool { return working }
		if r := w.find(first); r.Total != 1 || r.Unsearched != 0 {
			t.Errorf("%d found, %d not searched, though no job indexes", r.Total, r.Unsearched)
		}
	})
}

// TestIndexJob checks that the job indexes all projects, and reports how far it is.
func TestIndexJob(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w *world) {
		w.record(plain("PMT-1"), plain("PMT-2"))
		var done, total int
		if err := w.index.Handle(t.Context(), wire.Job{}, func(d, n int) { done, total = d, n }); err != nil {
			t.Fatal(err)
		}
		if behind, err := w.index.Behind(t.Context()); err != nil || behind != 0 || done != 2 || total != 2 {
			t.Errorf("%d entries are left after %d of %d, %v", behind, done, total, err)
		}
	})
}

// forget removes the terms of removed records, as the job does.
func forget(t *testing.T, w *world) error {
	t.Helper()
	through, err := audit.Pruned(t.Context(), w.store.Audit, "p")
	if err != nil {
		return err
	}
	return w.index.Forget(t.Context(), "p", through)
}
