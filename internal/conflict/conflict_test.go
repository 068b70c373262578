package conflict_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/conflict"
	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// embedModel is the model whose vectors the views have.
const embedModel = "test:alike"

// place is where rules are written and looked at.
type place struct {
	t       testing.TB
	ctx     context.Context //nolint:containedctx // the test's own
	store   store.Store
	live    *corpus.Live
	catalog *catalog.Catalog
	b       *conflict.Conflicts
	cfg     conflict.Config
	model   *llmtest.Fake
	raised  []rule.Alert
	ended   []string // rules whose alerts were resolved
}

func open(t testing.TB, s store.Store, configure ...func(*conflict.Config)) *place {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	log := slog.New(slog.DiscardHandler)
	p := &place{t: t, ctx: auth.WithActor(t.Context(), auth.Local("ann")), store: s, model: &llmtest.Fake{}}
	p.live = corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: log, EmbeddingModel: embedModel})
	cfg := conflict.Config{
		Store: conflict.Store{Updater: s, Conflicts: s.Conflicts, Rules: s.Rules}, Views: p.live, Queue: job.NewQueue(time.Now), Logger: log, Now: time.Now,
		Raise: func(_ context.Context, tx store.Tx, a rule.Alert) error {
			if tx.Alerts == nil {
				return errors.New("no transaction")
			}
			p.raised = append(p.raised, a)
			return nil
		},
		Settle: func(_ context.Context, _ store.Tx, projectID string, kind rule.AlertType, ruleID, _ string) error {
			p.ended = append(p.ended, fmt.Sprint(projectID, ruleID, kind))
			return nil
		},
	}
	for _, f := range configure {
		f(&cfg)
	}
	p.b, p.cfg = conflict.New(cfg), cfg
	p.catalog = p.rules(p.b.Changed)
	if _, err := catalog.NewProjects(s, s.Projects, nil, time.Now).Create(p.ctx, "p", catalog.ProjectInput{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// rules returns a catalog of the place whose changes hook is part of.
func (p *place) rules(hook change.Hook) *catalog.Catalog {
	changes := change.New(p.store, p.live, hook, slog.New(slog.DiscardHandler), time.Now)
	return catalog.New(catalog.Store{Updater: p.store, Projects: p.store.Projects, Rules: p.store.Rules}, p.live, changes, nil, nil, time.Now)
}

func lite(t testing.TB, configure ...func(*conflict.Config)) *place {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, s, configure...)
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, p *place)) {
	t.Run("SQLite", func(t *testing.T) { test(t, lite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) {
		s, err := sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		test(t, open(t, s))
	})
}

func asked(p *place) func(*conflict.Config) {
	return func(c *conflict.Config) { c.Model = p.model }
}

// withModel is a place whose rules a model is asked about.
func withModel(t testing.TB) *place {
	fake := &place{model: &llmtest.Fake{}}
	p := lite(t, asked(fake))
	p.model = fake.model
	return p
}

func (p *place) create(slug string, modality rule.Modality, statement string) rule.Rule {
	p.t.Helper()
	r, err := p.catalog.Create(p.ctx, "p", wire.RuleInput{Slug: &slug, Statement: statement, Modality: modality, Status: rule.Effective})
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *place) revise(slug, statement string) rule.Rule {
	p.t.Helper()
	r, err := p.catalog.Revise(p.ctx, "p", slug, 0, rule.Permission{}, func(r *rule.Rule) error { r.Statement = statement; return nil })
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// queued lists the jobs that wait.
func (p *place) queued() []store.Job {
	p.t.Helper()
	jobs, _, err := p.store.Jobs.Find(p.ctx, store.JobFilter{ProjectID: "p", Kind: conflict.FindKind, State: job.Queued, Limit: 100})
	if err != nil {
		p.t.Fatal(err)
	}
	return jobs
}

// work does the jobs that wait.
func (p *place) work() {
	p.t.Helper()
	for len(p.queued()) > 0 {
		var jobs []store.Job
		err := p.store.Update(p.ctx, func(tx store.Tx) (err error) {
			jobs, err = tx.Jobs.Claim(p.ctx, store.JobClaim{Now: time.Now(), Kinds: []string{conflict.FindKind}, Owner: "test", Lease: time.Now().Add(time.Hour), Limit: 10})
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
		now := time.Now()
		for i := range jobs {
			if err := p.b.Find(p.ctx, wire.Job{ProjectID: jobs[i].ProjectID, Args: jobs[i].Args}, func(int, int) {}); err != nil {
				p.t.Fatal(err)
			}
			jobs[i].State, jobs[i].FinishedAt = job.Succeeded, &now
		}
		if err := p.store.Update(p.ctx, func(tx store.Tx) error { return tx.Jobs.Finish(p.ctx, jobs) }); err != nil {
			p.t.Fatal(err)
		}
	}
}

// list gives the conflicts of a state, or all.
func (p *place) list(state string) []wire.Conflict {
	p.t.Helper()
	list, total, _, err := p.b.List(p.ctx, "p", conflict.Filter{State: state}, 0, 1000)
	if err != nil || total != len(list) {
		p.t.Fatal(total, err)
	}
	return list
}

// only expects one conflict, of a state.
func (p *place) only(state string) wire.Conflict {
	p.t.Helper()
	all := p.list("")
	if len(all) != 1 || all[0].State != state {
		p.t.Fatalf("conflicts %+v; want one that is %s", all, state)
	}
	return all[0]
}

func (p *place) relationships(slug string) int {
	p.t.Helper()
	list, err := p.catalog.Relationships(p.ctx, "p", slug)
	if err != nil {
		p.t.Fatal(err)
	}
	return len(list)
}

func code(t testing.TB, about string, err error, want rule.Code) {
	t.Helper()
	if got := rule.CodeOf(err); got != want {
		t.Errorf("%s: error %v of code %q, want %q", about, err, got, want)
	}
}

// paid and late contradict each other.
const (
	paid = "Invoices must be paid within 14 days."
	late = "Invoices must be paid in at most 30 days."
)

func TestStory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		old := p.create("A-1", rule.Must, paid)
		p.work()
		if got := p.list(""); len(got) != 0 {
			t.Fatalf("one rule conflicts with %+v", got)
		}
		made := p.create("A-2", rule.Must, late)
		p.work()
		c := p.only(store.ConflictSuggested)
		if c.Rule.ID != made.ID || c.Other.ID != old.ID || c.FoundBy != "limit" || c.Confidence != .8 || !strings.Contains(c.Reason, "14 days") {
			t.Errorf("%+v", c)
		}
		if len(p.raised) != 1 || p.raised[0].Type != rule.ConflictDetected || p.raised[0].RuleID != made.ID || p.raised[0].ProjectID != "p" ||
			p.raised[0].Metadata["other_rule_id"] != old.ID || p.raised[0].Metadata["conflict_id"] != c.ID || p.raised[0].Metadata["reason"] != c.Reason ||
			p.raised[0].Metadata["confidence"] != .8 {
			t.Errorf("alerts: %+v", p.raised)
		}
		if open, err := p.b.Open(p.ctx, "p", old.ID); err != nil || len(open) != 1 {
			t.Errorf("open: %+v, %v", open, err)
		}
		confirmed, err := p.b.Confirm(p.ctx, "p", c.ID, "true")
		if err != nil || confirmed.State != store.ConflictConfirmed || confirmed.DecidedBy != "ann" || confirmed.Note != "true" || p.relationships("A-1") != 1 {
			t.Fatalf("%+v, %v", confirmed, err)
		}
		again, err := p.b.Confirm(p.ctx, "p", c.ID, "once more")
		if err != nil || again.Note != "true" || again.RelationshipID != confirmed.RelationshipID {
			t.Errorf("confirmed again: %+v, %v", again, err)
		}
		_, err = p.b.Reject(p.ctx, "p", c.ID, "")
		code(t, "rejecting a confirmed one", err, rule.CodeConflict)
		if len(p.ended) != 0 {
			t.Errorf("alerts resolved: %v", p.ended)
		}
		p.revise("A-2", "Invoices must be archived within 30 days.")
		p.work()
		closed := p.only(store.ConflictClosed)
		if closed.DecidedBy != "system" || closed.RelationshipID != "" || p.relationships("A-1") != 0 {
			t.Errorf("%+v", closed)
		}
		if want := []string{"p" + made.ID + "conflict_detected"}; !slices.Equal(p.ended, want) {
			t.Errorf("alerts resolved: %v, want %v", p.ended, want)
		}
		for _, decide := range []func(context.Context, string, string, string) (wire.Conflict, error){p.b.Confirm, p.b.Reject} {
			_, err = decide(p.ctx, "p", c.ID, "")
			code(t, "deciding a closed one", err, rule.CodeConflict)
		}
		p.revise("A-2", late)
		p.work()
		if back := p.only(store.ConflictSuggested); back.ID != c.ID || back.DecidedAt != nil || len(p.raised) != 2 {
			t.Errorf("%+v, alerts %d", back, len(p.raised))
		}
	})
}

func TestRejectedPairsStayQuiet(t *testing.T) {
	t.Parallel()
	p := lite(t)
	p.create("A-1", rule.Must, paid)
	p.create("A-2", rule.Must, late)
	p.work()
	c := p.only(store.ConflictSuggested)
	if _, err := p.b.Reject(p.ctx, "p", c.ID, "different invoices"); err != nil {
		t.Fatal(err)
	}
	if len(p.ended) != 1 {
		t.Errorf("alerts resolved: %v", p.ended)
	}
	if _, err := p.catalog.Revise(p.ctx, "p", "A-1", 0, rule.Permission{}, func(r *rule.Rule) error { r.Owner = "bob"; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := p.b.Scan(p.ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	p.work()
	if got := p.only(store.ConflictRejected); got.Note != "different invoices" || len(p.raised) != 1 {
		t.Errorf("%+v, %d alerts", got, len(p.raised))
	}
	_, err := p.b.Confirm(p.ctx, "p", c.ID, "")
	code(t, "confirming a rejected one", err, rule.CodeConflict)
	p.revise("A-1", "Invoices must be paid within 7 days.")
	p.work()
	if got := p.only(store.ConflictSuggested); got.Note != "" || !strings.Contains(got.Reason, "7 days") || len(p.raised) != 2 {
		t.Errorf("%+v, %d alerts", got, len(p.raised))
	}
}

func TestRetiredRulesCloseTheirs(t *testing.T) {
	t.Parallel()
	p := lite(t)
	p.create("A-1", rule.Must, paid)
	p.create("A-2", rule.Must, late)
	p.work()
	c := p.only(store.ConflictSuggested)
	if err := p.catalog.Retire(p.ctx, "p", "A-1", 0); err != nil {
		t.Fatal(err)
	}
	_, err := p.b.Confirm(p.ctx, "p", c.ID, "")
	code(t, "confirming one of a retired rule", err, rule.CodeConflict)
	p.work()
	if got := p.only(store.ConflictClosed); got.Note != "A-1 is RETIRED" || len(p.ended) != 1 {
		t.Errorf("%+v, resolved %v", got, p.ended)
	}
}

func TestRelatedRulesDoNotConflict(t *testing.T) {
	t.Parallel()
	p := lite(t)
	p.create("A-1", rule.Must, paid)
	slug := "A-2"
	_, err := p.catalog.Create(p.ctx, "p", wire.RuleInput{
		Slug: &slug, Statement: late, Relationships: []wire.RelationshipInput{{Kind: rule.Overrides, To: "A-1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.work()
	if got := p.list(""); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
	p.create("A-5", rule.Must, "Secrets must be logged.")
	p.create("A-6", rule.MustNot, "Secrets must not be logged.")
	p.work()
	p.only(store.ConflictSuggested)
	if _, err := p.catalog.Relate(p.ctx, "p", "A-5", wire.RelationshipInput{Kind: rule.Supersedes, To: "A-6"}); err != nil {
		t.Fatal(err)
	}
	p.work()
	p.only(store.ConflictClosed)
}

func TestRelationshipThatIsRemovedIsARejection(t *testing.T) {
	t.Parallel()
	p := lite(t)
	p.create("A-1", rule.Must, paid)
	p.create("A-2", rule.Must, late)
	p.work()
	c, err := p.b.Confirm(p.ctx, "p", p.only(store.ConflictSuggested).ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.catalog.Unrelate(p.ctx, "p", "A-1", c.RelationshipID); err != nil {
		t.Fatal(err)
	}
	p.work()
	p.only(store.ConflictRejected)
}

func TestRaceToDecide(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		p.create("A-1", rule.Must, paid)
		p.create("A-2", rule.Must, late)
		p.work()
		id := p.only(store.ConflictSuggested).ID
		var confirmed, rejected, refused atomic.Int32
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				decide, count := p.b.Confirm, &confirmed
				if i%2 == 1 {
					decide, count = p.b.Reject, &rejected
				}
				switch _, err := decide(p.ctx, "p", id, ""); {
				case err == nil:
					count.Add(1)
				case rule.CodeOf(err) == rule.CodeConflict:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if refused.Load() != 32 || confirmed.Load()+rejected.Load() != 32 || (confirmed.Load() > 0) == (rejected.Load() > 0) {
			t.Errorf("%d confirmed, %d rejected, %d refused", confirmed.Load(), rejected.Load(), refused.Load())
		}
		if want := min(1, int(confirmed.Load())); p.relationships("A-1") != want {
			t.Errorf("%d relationships, want %d", p.relationships("A-1"), want)
		}
		decided := 0
		entries, err := p.store.Audit.Entries(p.ctx, "p", 0, 1000)
		for _, e := range entries {
			if e.Kind == "conflict" {
				decided++
			}
		}
		if err != nil || decided != 1 {
			t.Errorf("%d decisions on record, %v", decided, err)
		}
	})
}

func TestChangesAskForOneJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		p.create("A-1", rule.Must, paid)
		p.revise("A-1", late)
		file := &wire.RuleFile{}
		for i := range 120 {
			slug := fmt.Sprintf("B-%d", i)
			file.Rules = append(file.Rules, wire.RuleInput{Slug: &slug, Statement: fmt.Sprintf("Machine %d must be painted within %d days.", i/2, 7+i%2)})
		}
		if _, err := p.catalog.Import(p.ctx, "p", file, catalog.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.catalog.Create(p.ctx, "p", wire.RuleInput{}); err == nil {
			t.Fatal("a rule without a statement was made")
		}
		if jobs := p.queued(); len(jobs) != 1 {
			t.Fatalf("%d jobs", len(jobs))
		}
		p.work()
		if got := p.list(store.ConflictSuggested); len(got) != 60 {
			t.Errorf("%d conflicts, want one for each machine", len(got))
		}
		if _, err := p.catalog.Import(p.ctx, "p", file, catalog.ImportOptions{DryRun: true}); err != nil || len(p.queued()) != 0 {
			t.Errorf("a dry run has made %d jobs, %v", len(p.queued()), err)
		}
	})
}

func TestWithoutItsJobAChangeIsUndone(t *testing.T) {
	t.Parallel()
	p := lite(t)
	rules := p.rules(func(context.Context, store.Tx, string) error { return rule.Errorf(rule.CodeUnavailable, "not now") })
	_, err := rules.Create(p.ctx, "p", wire.RuleInput{Statement: paid})
	code(t, "create", err, rule.CodeUnavailable)
	if _, total, err := p.catalog.List(p.ctx, "p", corpus.Filter{}, "", rule.Page{Number: 1, Size: 1}); err != nil || total != 0 {
		t.Errorf("%d rules, %v", total, err)
	}
}

// A scan that is interrupted goes on where it was.
func TestScanGoesOn(t *testing.T) {
	t.Parallel()
	p := lite(t)
	file := &wire.RuleFile{}
	for i := range 250 {
		file.Rules = append(file.Rules, wire.RuleInput{Statement: fmt.Sprintf("Machine %d must be painted within %d days.", i/2, 7+i%2)})
	}
	if _, err := p.catalog.Import(p.ctx, "p", file, catalog.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	id, err := p.b.Scan(p.ctx, "p", false)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.b.Scan(p.ctx, "p", false); err != nil || again != id {
		t.Errorf("asked twice: jobs %d and %d, %v", id, again, err)
	}
	stored, err := p.store.Jobs.Get(p.ctx, "p", id)
	if err != nil {
		t.Fatal(err)
	}
	scan := wire.Job{ProjectID: "p", Args: stored.Args}
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	at := 0
	err = p.b.Find(ctx, scan, func(done, _ int) {
		if at = done; done >= 50 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	first := len(p.list(store.ConflictSuggested))
	var totals []int
	if err := p.b.Find(p.ctx, scan, func(_, total int) { totals = append(totals, total) }); err != nil {
		t.Fatal(err)
	}
	if first < at/2 || first > at/2+1 || totals[0] != 250-at || len(p.list(store.ConflictSuggested)) != 125 {
		t.Errorf("%d conflicts before, then %v rules, %d conflicts", first, totals, len(p.list("")))
	}
	totals = nil
	if err := p.b.Find(p.ctx, scan, func(_, total int) { totals = append(totals, total) }); err != nil || totals[0] != 250 {
		t.Errorf("the next scan: %v, %v", totals, err)
	}
}

// A rule that is changed while a walk over changes lies interrupted, where that had been already, is looked at all the same: the
// change finds the interrupted job waiting, and so adds none.
func TestChangesDuringAnInterruptionAreLookedAt(t *testing.T) {
	t.Parallel()
	p := lite(t)
	file := &wire.RuleFile{}
	for i := range 150 {
		slug := fmt.Sprintf("M-%d", i)
		file.Rules = append(file.Rules, wire.RuleInput{Slug: &slug, Statement: fmt.Sprintf("Machine %d must be painted.", i)})
	}
	if _, err := p.catalog.Import(p.ctx, "p", file, catalog.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	waiting := p.queued()
	ctx, cancel := context.WithCancel(p.ctx)
	err := p.b.Find(ctx, wire.Job{ProjectID: "p", Args: waiting[0].Args}, func(done, _ int) {
		if done >= 100 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	p.revise("M-0", paid)
	p.revise("M-1", late)
	if again := p.queued(); len(again) != 1 || again[0].ID != waiting[0].ID {
		t.Fatalf("jobs that wait: %+v", again)
	}
	p.work()
	p.only(store.ConflictSuggested)
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	p := lite(t)
	none := "00000000-0000-7000-8000-000000000000"
	_, err := p.b.Confirm(p.ctx, "p", none, "")
	code(t, "confirm", err, rule.CodeNotFound)
	_, err = p.b.Get(p.ctx, "p", none)
	code(t, "get", err, rule.CodeNotFound)
	_, _, _, err = p.b.List(p.ctx, "p", conflict.Filter{Rule: "X-1"}, 0, 1)
	code(t, "list", err, rule.CodeNotFound)
	_, err = p.b.Scan(p.ctx, "none", false)
	code(t, "scan of no project", err, rule.CodeNotFound)
	_, err = p.b.Scan(p.ctx, "p", true)
	code(t, "scan with a model", err, rule.CodeUnavailable)
	_, err = p.b.Reject(p.ctx, "p", none, strings.Repeat("x", 2001))
	code(t, "a long note", err, rule.CodeInvalid)
	err = p.b.Find(p.ctx, wire.Job{ProjectID: "p", Args: []byte(`{"walk":"x","model":false}`)}, func(int, int) {})
	code(t, "arguments", err, rule.CodeInvalid)
}
