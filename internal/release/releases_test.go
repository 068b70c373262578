package release_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

const project = "default"

// world is a node over a fresh database.
type world struct {
	*testing.T
	ctx      context.Context //nolint:containedctx // the test's own
	store    store.Store
	live     *corpus.Live
	rules    *catalog.Catalog
	releases *release.Releases
	views    *release.Views
}

// each runs a test on both databases.
func each(t *testing.T, test func(w *world)) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"SQLite": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{Logger: quiet})
		},
		"PostgreSQL": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{Logger: quiet})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: quiet})
			w := &world{
				T: t, ctx: auth.WithActor(t.Context(), auth.Local("ann")), store: s, live: live,
				rules: catalog.New(catalog.Store{Updater: s, Projects: s.Projects, Rules: s.Rules}, live, change.New(s, live, nil, quiet, time.Now), nil, nil, time.Now), views: release.NewViews(s.Releases, s.Rules, live),
			}
			w.releases = release.New(release.Config{Store: release.Store{Updater: s, Jobs: s.Jobs, Releases: s.Releases, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Views: w.views, Now: time.Now})
			if _, err := catalog.NewProjects(w.store, w.store.Projects, nil, time.Now).Create(w.ctx, project, catalog.ProjectInput{}); err != nil {
				t.Fatal(err)
			}
			test(w)
		})
	}
}

func (w *world) create(slug, statement string) rule.Rule {
	w.Helper()
	r, err := w.rules.Create(w.ctx, project, wire.RuleInput{Slug: &slug, Statement: statement, Status: rule.Effective})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *world) say(slug, statement string) {
	w.Helper()
	_, err := w.rules.Revise(w.ctx, project, slug, 0, rule.Permission{}, func(r *rule.Rule) error { r.Statement = statement; return nil })
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) snapshot(name string) wire.Snapshot {
	w.Helper()
	s, err := w.releases.Create(w.ctx, project, name, "")
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) code(err error, want rule.Code, about string) {
	w.Helper()
	if got := rule.CodeOf(err); got != want {
		w.Errorf("%s: error %v of code %q, want %q", about, err, got, want)
	}
}

func TestSnapshotsHoldTheRulesAsTheyWere(t *testing.T) {
	each(t, func(w *world) {
		a := w.create("A-1", "Say please.")
		w.create("A-2", "Say thanks.")
		gone := w.create("A-3", "Say nothing.")
		if err := w.rules.Retire(w.ctx, project, gone.ID, 0); err != nil {
			w.Fatal(err)
		}
		first := w.snapshot("first")
		if first.RuleCount != 2 || first.CreatedBy != "ann" || first.Name != "first" {
			w.Errorf("snapshot %+v", first)
		}
		if again := w.snapshot("again"); again.ContentHash != first.ContentHash {
			w.Error("the same rules have two hashes")
		}
		w.say("A-1", "Always say please.")
		w.create("A-4", "Say hello.")
		second := w.snapshot("second")
		if second.ContentHash == first.ContentHash {
			w.Error("other rules have the same hash")
		}
		view, err := w.views.View(w.ctx, project, first.ID)
		if err != nil {
			w.Fatal(err)
		}
		if e, ok := view.Get("A-1"); view.Len() != 2 || !ok || e.Rule.Statement != "Say please." || view.Version() != first.CorpusVersion {
			w.Errorf("the view of the first snapshot has %d rules, A-1 is %+v", view.Len(), e)
		}
		d, err := w.releases.Diff(w.ctx, project, first.ID, second.ID, wire.DiffQuery{Limit: release.MaxDiff})
		if err != nil {
			w.Fatal(err)
		}
		if d.RulesAdded != 1 || d.RulesRemoved != 0 || d.RulesModified != 1 || d.Added[0].Slug != "A-4" || d.Modified[0].RuleID != a.ID ||
			d.Modified[0].FromVersion != 1 || d.Modified[0].Version != 2 || d.Modified[0].Fields[0].Field != "statement" {
			w.Errorf("difference %+v", d)
		}
		back, err := w.releases.Diff(w.ctx, project, second.ID, first.ID, wire.DiffQuery{Limit: release.MaxDiff})
		if err != nil || back.RulesAdded != 0 || back.RulesRemoved != 1 || back.Removed[0].Slug != "A-4" || back.RulesModified != 1 {
			w.Errorf("the other way: %+v, %v", back, err)
		}
		w.say("A-1", "Say please.")
		if d, err := w.releases.Diff(w.ctx, project, first.ID, w.snapshot("third").ID, wire.DiffQuery{Limit: release.MaxDiff}); err != nil || d.RulesModified != 0 || d.RulesAdded != 1 {
			w.Errorf("a rule that was changed back is modified: %+v, %v", d, err)
		}
		for _, s := range []wire.Snapshot{first, second} {
			if v, err := w.releases.Verify(w.ctx, project, s.ID); err != nil || !v.Valid || v.Computed != s.ContentHash {
				w.Errorf("%s: %+v, %v", s.Name, v, err)
			}
		}
	})
}

func TestRelationshipsAreCaptured(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "Say please.")
		w.create("A-2", "Say nothing.")
		before := w.snapshot("before")
		if _, err := w.rules.Relate(w.ctx, project, "A-2", wire.RelationshipInput{Kind: rule.Overrides, To: "A-1"}); err != nil {
			w.Fatal(err)
		}
		after := w.snapshot("after")
		if before.ContentHash == after.ContentHash {
			w.Error("a relationship leaves the hash as it is")
		}
		for i, s := range []wire.Snapshot{before, after} {
			view, err := w.views.View(w.ctx, project, s.ID)
			if err != nil {
				w.Fatal(err)
			}
			if e, _ := view.Get("A-2"); len(e.Relationships) != i {
				w.Errorf("%s: A-2 has %d relationships, want %d", s.Name, len(e.Relationships), i)
			}
			if v, err := w.releases.Verify(w.ctx, project, s.ID); err != nil || !v.Valid {
				w.Errorf("%s: %+v, %v", s.Name, v, err)
			}
		}
		if d, err := w.releases.Diff(w.ctx, project, before.ID, after.ID, wire.DiffQuery{Limit: release.MaxDiff}); err != nil || d.Relationships != 1 || d.RulesModified != 0 {
			w.Errorf("difference %+v, %v", d, err)
		}
	})
}

func TestDeployAndRollBack(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "One.")
		a := w.snapshot("A")
		w.say("A-1", "Two.")
		b := w.snapshot("B")
		w.say("A-1", "Three.")
		c := w.snapshot("C")

		_, _, err := w.views.Deployed(w.ctx, project, "production")
		w.code(err, rule.CodeConflict, "evaluating where nothing is deployed")
		_, _, err = w.views.Deployed(w.ctx, project, "prod")
		w.code(err, rule.CodeInvalid, "an unknown environment")
		_, err = w.releases.Rollback(w.ctx, project, a.ID, "", "", "")
		w.code(err, rule.CodeConflict, "rolling back what is not active")
		_, err = w.releases.Deploy(w.ctx, project, "0199f0a0-0000-7000-8000-00000000ffff", wire.Production, "", "")
		w.code(err, rule.CodeNotFound, "deploying an unknown snapshot")

		deploy := func(s wire.Snapshot, previous string) {
			w.Helper()
			d, err := w.releases.Deploy(w.ctx, project, s.ID, wire.Production, "", "")
			if err != nil || d.SnapshotID != s.ID || value(d.PreviousSnapshotID) != previous {
				w.Errorf("deploying %s: %+v, %v", s.Name, d, err)
			}
		}
		active := func(s wire.Snapshot, statement string) {
			w.Helper()
			view, id, err := w.views.Deployed(w.ctx, project, "production")
			if err != nil {
				w.Fatal(err)
			}
			if e, ok := view.Get("A-1"); id != s.ID || !ok || e.Rule.Statement != statement {
				w.Errorf("%s is active and says %+v, want %s: %s", id, e, s.ID, statement)
			}
		}
		deploy(a, "")
		active(a, "One.")
		_, err = w.releases.Rollback(w.ctx, project, a.ID, "", "", "")
		w.code(err, rule.CodeConflict, "rolling back the first deployment")
		deploy(b, a.ID)
		active(b, "Two.")
		back, err := w.releases.Rollback(w.ctx, project, b.ID, "", "", "")
		if err != nil || back.RolledBackFrom != b.ID || back.RolledBackTo != a.ID || back.Environment != wire.Production {
			w.Errorf("rollback %+v, %v", back, err)
		}
		active(a, "One.")
		deploy(c, a.ID)
		active(c, "Three.")
		if back, err := w.releases.Rollback(w.ctx, project, c.ID, wire.Production, "", ""); err != nil || back.RolledBackTo != a.ID {
			w.Errorf("rollback after A, B, back, C: %+v, %v", back, err)
		}
		active(a, "One.")

		state, err := w.releases.Environment(w.ctx, project, wire.Production)
		if err != nil || state.Active == nil || state.Active.SnapshotName != "A" || len(state.History) != 5 || state.History[0].ReplacedAt != nil ||
			state.History[1].ReplacedAt == nil || state.History[0].Action != wire.ActionRollback {
			w.Errorf("production: %+v, %v", state, err)
		}
		if empty, err := w.releases.Environment(w.ctx, project, wire.Staging); err != nil || empty.Active != nil || len(empty.History) != 0 {
			w.Errorf("staging: %+v, %v", empty, err)
		}
		if _, err := w.releases.Deploy(w.ctx, project, a.ID, wire.Staging, "", ""); err != nil {
			w.Fatal(err)
		}
		_, err = w.releases.Rollback(w.ctx, project, a.ID, "", "", "")
		w.code(err, rule.CodeConflict, "rolling back a snapshot that is active in two environments")
		list, err := w.releases.Active(w.ctx, project)
		if err != nil || len(list) != 2 || list[0].Environment != wire.Production || list[1].Environment != wire.Staging {
			w.Errorf("active: %+v, %v", list, err)
		}
		got, err := w.releases.Get(w.ctx, project, a.ID)
		if err != nil || len(got.Deployments) != 4 || !got.Deployments[0].Active || got.Deployments[0].Environment != wire.Staging {
			w.Errorf("places of A: %+v, %v", got.Deployments, err)
		}
		if report, err := audit.Verify(w.ctx, w.store.Audit, project, wire.AuditHead{}); err != nil || len(report.Problems) > 0 {
			w.Errorf("audit: %+v, %v", report, err)
		}
	})
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Deploying the active snapshot again is no step: a rollback leads to the one before, and gates are for what changes.
func TestDeployingTheActiveSnapshotChangesNothing(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "One.")
		a := w.snapshot("A")
		w.say("A-1", "Two.")
		b := w.snapshot("B")
		var last wire.Deployment
		for _, s := range []wire.Snapshot{a, b} {
			var err error
			if last, err = w.releases.Deploy(w.ctx, project, s.ID, wire.Production, "", ""); err != nil || last.Unchanged {
				w.Fatal(last, err)
			}
		}
		if err := w.releases.SetGates(w.ctx, project, wire.Production, wire.Gates{Approvals: 1}); err != nil {
			w.Fatal(err)
		}
		for range 2 {
			again, err := w.releases.Deploy(w.ctx, project, strings.ToUpper(b.ID), wire.Production, "", "key")
			if err != nil || !again.Unchanged || again.SnapshotID != b.ID || !again.DeployedAt.Equal(last.DeployedAt) || value(again.PreviousSnapshotID) != a.ID {
				w.Errorf("deployed again: %+v, %v", again, err)
			}
		}
		if steps, err := w.store.Releases.Deployments(w.ctx, project, "production"); err != nil || len(steps) != 2 {
			w.Errorf("%d steps, %v", len(steps), err)
		}
		_, err := w.releases.Deploy(w.ctx, project, a.ID, wire.Production, "", "")
		w.code(err, rule.CodeConflict, "another snapshot, which no one has approved")
		if back, err := w.releases.Rollback(w.ctx, project, b.ID, "", "", ""); err != nil || back.RolledBackTo != a.ID {
			w.Errorf("rollback %+v, %v", back, err)
		}
		if again, err := w.releases.Deploy(w.ctx, project, a.ID, wire.Production, "", ""); err != nil || !again.Unchanged || again.PreviousSnapshotID != nil {
			w.Errorf("deployed again after a rollback: %+v, %v", again, err)
		}
	})
}

// Many deploy and roll back at once. What comes of it must be a history that could have come about one after another, and each answer must
// be a step of it.
func TestRacesLeaveALinearHistory(t *testing.T) {
	each(t, func(w *world) {
		var snapshots []wire.Snapshot
		for i := range 4 {
			w.create(fmt.Sprint("A-", i), "Say please.")
			snapshots = append(snapshots, w.snapshot(fmt.Sprint(i)))
		}
		for _, e := range wire.Environments {
			if _, err := w.releases.Deploy(w.ctx, project, snapshots[0].ID, e, "", ""); err != nil {
				w.Fatal(err)
			}
		}
		type answer struct {
			at       time.Time
			id, from string
		}
		var mu sync.Mutex
		answers := map[wire.Environment][]answer{}
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				e := wire.Environments[i%3]
				if i%4 == 3 {
					back, err := w.releases.Rollback(w.ctx, project, snapshots[i%len(snapshots)].ID, e, "", "")
					if err != nil {
						w.code(err, rule.CodeConflict, "a rollback that lost")
						return
					}
					mu.Lock()
					defer mu.Unlock()
					answers[e] = append(answers[e], answer{back.DeployedAt, back.RolledBackTo, back.RolledBackFrom})
					return
				}
				d, err := w.releases.Deploy(w.ctx, project, snapshots[(i/3)%len(snapshots)].ID, e, "", "")
				if err != nil {
					w.Error(err)
					return
				}
				if d.Unchanged {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				answers[e] = append(answers[e], answer{d.DeployedAt, d.SnapshotID, value(d.PreviousSnapshotID)})
			})
		}
		wg.Wait()
		for _, e := range wire.Environments {
			steps, err := w.store.Releases.Deployments(w.ctx, project, string(e))
			if err != nil {
				w.Fatal(err)
			}
			if err := checkHistory(steps); err != nil {
				w.Errorf("%s: %v", e, err)
			}
			if len(steps) != len(answers[e])+1 {
				w.Errorf("%s: %d steps for %d answers", e, len(steps), len(answers[e])+1)
			}
			for _, a := range answers[e] {
				found := false
				for i := 1; i < len(steps); i++ {
					found = found || (steps[i].At.Equal(a.at) && steps[i].SnapshotID == a.id && steps[i-1].SnapshotID == a.from)
				}
				if !found {
					w.Errorf("%s: no step says what was answered: %+v", e, a)
				}
			}
		}
	})
}

// While snapshots are deployed, every reader sees one of them whole, and is told the right one.
func TestReadersSeeOneSnapshot(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "first")
		w.create("A-2", "first")
		first := w.snapshot("first")
		w.say("A-1", "second")
		w.say("A-2", "second")
		second := w.snapshot("second")
		ids := []string{first.ID, second.ID}
		if _, err := w.releases.Deploy(w.ctx, project, first.ID, wire.Production, "", ""); err != nil {
			w.Fatal(err)
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					view, id, err := w.views.Deployed(w.ctx, project, "production")
					if err != nil {
						w.Error(err)
						return
					}
					want := []string{"first", "second"}[slices.Index(ids, id)]
					for e := range view.All() {
						if e.Rule.Statement != want {
							w.Errorf("snapshot %s says %q", want, e.Rule.Statement)
						}
					}
				}
			})
		}
		for i := range 20 {
			if _, err := w.releases.Deploy(w.ctx, project, ids[i%2], wire.Production, "", ""); err != nil {
				w.Error(err)
			}
			if _, id, err := w.views.Deployed(w.ctx, project, "production"); err != nil || id != ids[i%2] {
				w.Errorf("after its own deployment a node sees %s, %v", id, err)
			}
		}
		close(stop)
		wg.Wait()
	})
}

func TestSnapshotsOfOthers(t *testing.T) {
	each(t, func(w *world) {
		if _, err := catalog.NewProjects(w.store, w.store.Projects, nil, time.Now).Create(w.ctx, "other", catalog.ProjectInput{}); err != nil {
			w.Fatal(err)
		}
		s := w.snapshot("mine")
		_, err := w.releases.Get(w.ctx, "other", s.ID)
		w.code(err, rule.CodeNotFound, "reading another project's snapshot")
		_, err = w.releases.Deploy(w.ctx, "other", s.ID, wire.Production, "", "")
		w.code(err, rule.CodeNotFound, "deploying another project's snapshot")
		_, err = w.views.View(w.ctx, "other", s.ID)
		w.code(err, rule.CodeNotFound, "the view of another project's snapshot")
		_, err = w.releases.Diff(w.ctx, "other", s.ID, s.ID, wire.DiffQuery{Limit: release.MaxDiff})
		w.code(err, rule.CodeNotFound, "comparing another project's snapshot")
		for _, name := range []string{"", "  ", string(make([]rune, 201))} {
			_, err = w.releases.Create(w.ctx, project, name, "")
			w.code(err, rule.CodeInvalid, fmt.Sprintf("the name %q", name))
		}
		list, total, err := w.releases.List(w.ctx, project, 0, 10)
		if err != nil || total != 1 || len(list) != 1 || list[0].ID != s.ID {
			w.Errorf("%+v of %d, %v", list, total, err)
		}
	})
}

func TestRequestsWithAKeyAreDoneOnce(t *testing.T) {
	each(t, func(w *world) {
		a, b := w.snapshot("a"), w.snapshot("b")
		if _, err := w.releases.Deploy(w.ctx, project, a.ID, wire.Production, "", "first"); err != nil {
			w.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				d, err := w.releases.Deploy(w.ctx, project, b.ID, wire.Production, "", "second")
				if err != nil || d.SnapshotID != b.ID || value(d.PreviousSnapshotID) != a.ID || d.DeployedAt.IsZero() {
					w.Errorf("%+v, %v", d, err)
				}
			})
		}
		wg.Wait()
		for range 2 {
			back, err := w.releases.Rollback(w.ctx, project, b.ID, "", "", "third")
			if err != nil || back.RolledBackFrom != b.ID || back.RolledBackTo != a.ID || back.Environment != wire.Production {
				w.Errorf("%+v, %v", back, err)
			}
		}
		if d, err := w.releases.Deploy(w.ctx, project, a.ID, wire.Production, "", "first"); err != nil || d.PreviousSnapshotID != nil {
			w.Errorf("the first request again: %+v, %v", d, err)
		}
		_, err := w.releases.Deploy(w.ctx, project, b.ID, wire.Production, "", "first")
		w.code(err, rule.CodeConflict, "a key for another snapshot")
		_, err = w.releases.Deploy(w.ctx, project, a.ID, wire.Staging, "", "first")
		w.code(err, rule.CodeConflict, "a key for another environment")
		_, err = w.releases.Rollback(w.ctx, project, b.ID, wire.Production, "", "second")
		w.code(err, rule.CodeConflict, "the key of a deployment for a rollback")
		if history, err := w.store.Releases.Deployments(w.ctx, project, "production"); err != nil || len(history) != 3 {
			w.Errorf("%d steps, %v; want 3", len(history), err)
		}
	})
}

// Every step is told in its transaction, once: a step that is not made is not told, nor one that was made before.
func TestStepsAreTold(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "One.")
		one, two := w.snapshot("one"), w.snapshot("two")
		var told []rule.Event
		var failing error
		w.releases = release.New(release.Config{Store: release.Store{Updater: w.store, Jobs: w.store.Jobs, Releases: w.store.Releases, Rules: w.store.Rules, Runs: w.store.Runs, TestCases: w.store.TestCases}, Views: w.views, Now: time.Now, Publish: func(_ context.Context, _ store.Tx, e rule.Event) error {
			if failing == nil {
				told = append(told, e)
			}
			return failing
		}})
		for _, id := range []string{one.ID, two.ID, two.ID} {
			if _, err := w.releases.Deploy(w.ctx, project, id, "staging", "", "key "+id); err != nil {
				w.Fatal(err)
			}
		}
		if _, err := w.releases.Rollback(w.ctx, project, two.ID, "", "", ""); err != nil {
			w.Fatal(err)
		}
		if len(told) != 3 {
			w.Fatalf("%d events", len(told))
		}
		for i, want := range []release.Deployed{
			{Deployment: wire.Deployment{SnapshotID: one.ID}, Action: wire.ActionDeploy},
			{Deployment: wire.Deployment{SnapshotID: two.ID, PreviousSnapshotID: &one.ID}, Action: wire.ActionDeploy},
			{Deployment: wire.Deployment{SnapshotID: one.ID, PreviousSnapshotID: &two.ID}, Action: wire.ActionRollback},
		} {
			var got release.Deployed
			if err := json.Unmarshal(told[i].Data, &got); err != nil {
				w.Fatal(err)
			}
			if got.SnapshotID != want.SnapshotID || got.Action != want.Action || value(got.PreviousSnapshotID) != value(want.PreviousSnapshotID) ||
				got.Environment != "staging" || got.DeployedBy != "ann" || told[i].Type != rule.SnapshotDeployed || told[i].ProjectID != project {
				w.Errorf("event %d: %s", i, told[i].Data)
			}
		}
		failing = errors.New("no")
		if _, err := w.releases.Deploy(w.ctx, project, two.ID, "production", "", ""); !errors.Is(err, failing) {
			w.Errorf("deployed although nobody could be told: %v", err)
		}
		if active, err := w.releases.Active(w.ctx, project); err != nil || len(active) != 1 {
			w.Errorf("active: %v, %v", active, err)
		}
	})
}
