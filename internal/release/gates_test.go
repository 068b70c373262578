package release_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func TestGates(t *testing.T) {
	each(t, func(w *world) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		records := replayer{&recorded{id: "one", text: "a password", verdict: rule.Allow}}
		r := release.New(release.Config{Store: release.Store{Updater: w.store, Jobs: w.store.Jobs, Releases: w.store.Releases, Rules: w.store.Rules, Runs: w.store.Runs, TestCases: w.store.TestCases}, Views: w.views, Replayer: records, Now: func() time.Time { return now }})
		w.create("A-1", "unheard of")
		first := w.snapshot("first")
		password := w.create("A-2", "password")
		second := w.snapshot("second")
		tried := store.TestCase{
			ProjectID: project, RuleID: password.ID, ID: "0199f0a0-0000-7000-8000-000000000001", Name: "a password", SampleInput: "a password",
			InputType: "code", Expected: "DENY", Origin: "manual", Confirmed: true, CreatedAt: now, CreatedBy: "ann",
		}
		w.update(func(tx store.Tx) error { return tx.TestCases.Insert(w.ctx, []store.TestCase{tried}) })
		bob := auth.WithActor(w.ctx, auth.Local("bob"))

		refused := func(about string, gates ...string) {
			w.Helper()
			_, err := r.Deploy(w.ctx, project, second.ID, wire.Production, "", "")
			w.code(err, rule.CodeConflict, about)
			problem, ok := errors.AsType[*rule.Error](err)
			if !ok {
				w.Fatal(err)
			}
			var got []string
			for _, f := range problem.Fields {
				if strings.HasPrefix(f.Message, "refused: ") {
					got = append(got, strings.TrimPrefix(f.Field, "gates."))
				}
			}
			if strings.Join(got, " ") != strings.Join(gates, " ") {
				w.Errorf("%s: refused by %v, want %v: %v", about, got, gates, err)
			}
			if history, err := w.store.Releases.Deployments(w.ctx, project, "production"); err != nil || len(history) != 1 {
				w.Errorf("%s: a refused deployment leaves %d steps, %v", about, len(history), err)
			}
		}
		if _, err := r.Deploy(w.ctx, project, first.ID, wire.Production, "", ""); err != nil {
			w.Fatal(err)
		}
		gates := wire.Gates{
			TestsPass: true, MaxRisk: wire.RiskMedium, Approvals: 1,
			Freezes: []wire.Freeze{{From: now.Add(-time.Hour), Until: now.Add(time.Hour), Reason: "year-end"}},
		}
		if err := r.SetGates(w.ctx, project, wire.Production, gates); err != nil {
			w.Fatal(err)
		}
		refused("with all against it", "freeze", "approvals", "tests", "risk")
		now = now.Add(time.Hour) // the end of a freeze is not part of it
		refused("after the freeze", "approvals", "tests", "risk")
		_, err := r.Approve(w.ctx, project, second.ID, "my own")
		w.code(err, rule.CodeConflict, "approving one's own snapshot")
		for range 2 {
			if a, err := r.Approve(bob, project, second.ID, "fine"); err != nil || a.Actor != "bob" {
				w.Errorf("approval %+v, %v", a, err)
			}
		}
		refused("after the approval", "tests", "risk")
		tried.LastResult, tried.LastRunAt, tried.LastHash, tried.LastVersion = "DENY", &now, "of another text", 1
		w.update(func(tx store.Tx) error { return tx.TestCases.PutResults(w.ctx, []store.TestCase{tried}) })
		refused("after tests of another version", "tests", "risk")
		tried.LastHash = password.ContentHash()
		w.update(func(tx store.Tx) error { return tx.TestCases.PutResults(w.ctx, []store.TestCase{tried}) })
		refused("after the tests", "risk")
		results, err := r.CheckGates(w.ctx, project, second.ID, wire.Production, true)
		if err != nil || len(results) != 4 || results[0].Passed != true || results[3].Passed {
			w.Errorf("gates %+v, %v", results, err)
		}
		gates.MaxRisk = wire.RiskHigh
		if err := r.SetGates(w.ctx, project, wire.Production, gates); err != nil {
			w.Fatal(err)
		}
		if _, err := r.Deploy(w.ctx, project, second.ID, wire.Production, "", ""); err != nil {
			w.Errorf("through open gates: %v", err)
		}
		// The way back is open whatever the gates say.
		now = now.Add(-time.Minute)
		if _, err := r.Rollback(w.ctx, project, second.ID, wire.Production, "", ""); err != nil {
			w.Errorf("rollback during a freeze: %v", err)
		}
		if _, err := r.Deploy(w.ctx, project, second.ID, wire.Staging, "", ""); err != nil {
			w.Errorf("an environment without gates: %v", err)
		}
	})
}

// meddling has recorded evaluations, and does something else while they are read: the gates are being passed then.
type meddling struct {
	replayer

	meanwhile func()
}

func (m meddling) Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]release.Recorded, error) {
	m.meanwhile()
	return m.replayer.Recent(ctx, projectID, verdict, limit)
}

// Gates that became stricter while a deployment passed them hold for it, and the risk is that against what is active in the end.
func TestGatesThatChangeWhileTheyArePassed(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "unheard of")
		first := w.snapshot("first")
		w.create("A-2", "password")
		second := w.snapshot("second")
		w.create("A-3", "token")
		third := w.snapshot("third")
		evaluations := replayer{&recorded{id: "one", text: "nothing", verdict: rule.Allow}}
		plain := w.over(evaluations)
		risky := wire.Gates{MaxRisk: wire.RiskCritical}
		set := func(g wire.Gates) {
			w.Helper()
			if err := plain.SetGates(w.ctx, project, wire.Production, g); err != nil {
				w.Fatal(err)
			}
		}
		deploy := func(id string, once func()) (passages int, err error) {
			r := release.New(release.Config{Store: release.Store{Updater: w.store, Jobs: w.store.Jobs, Releases: w.store.Releases, Rules: w.store.Rules, Runs: w.store.Runs, TestCases: w.store.TestCases}, Views: w.views, Now: time.Now, Replayer: meddling{evaluations, func() {
				if passages++; passages == 1 { // of each passage's two readings, by verdict
					once()
				}
			}}})
			_, err = r.Deploy(w.ctx, project, id, wire.Production, "", "")
			return passages, err
		}
		if _, err := plain.Deploy(w.ctx, project, first.ID, wire.Production, "", ""); err != nil {
			w.Fatal(err)
		}
		set(risky)
		once, err := deploy(second.ID, func() {})
		if err != nil {
			w.Fatal(err)
		}
		stricter := risky
		stricter.Approvals = 1
		_, err = deploy(third.ID, func() { set(stricter) })
		w.code(err, rule.CodeConflict, "a deployment while an approval came to be needed")
		frozen := risky
		frozen.Freezes = []wire.Freeze{{From: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}}
		set(risky)
		_, err = deploy(third.ID, func() { set(frozen) })
		w.code(err, rule.CodeConflict, "a deployment while a freeze began")
		set(risky)
		if history, err := w.store.Releases.Deployments(w.ctx, project, "production"); err != nil || len(history) != 2 {
			w.Errorf("refused deployments leave %d steps, %v", len(history), err)
		}
		again, err := deploy(third.ID, func() {
			if _, err := plain.Rollback(w.ctx, project, second.ID, wire.Production, "", ""); err != nil {
				w.Error(err)
			}
		})
		if err != nil || again != 2*once {
			w.Errorf("with another active snapshot, evaluations were read %d times, and %d times without: %v", again, once, err)
		}
	})
}

// A gate that has looked at nothing has not passed: no test case, no evaluation that could be replayed.
func TestGatesThatLookAtNothing(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "unheard of")
		first := w.snapshot("first")
		same := w.snapshot("the same rules")
		w.create("A-2", "password")
		second := w.snapshot("second")
		none := w.over(nil)
		check := func(r *release.Releases, id string, passed bool, detail string) {
			w.Helper()
			results, err := r.CheckGates(w.ctx, project, id, wire.Production, true)
			if err != nil || len(results) != 1 || results[0].Passed != passed || !strings.Contains(results[0].Detail, detail) {
				w.Errorf("gates %+v, %v; want passed=%v with %q", results, err, passed, detail)
			}
		}
		set := func(g wire.Gates) {
			w.Helper()
			if err := none.SetGates(w.ctx, project, wire.Production, g); err != nil {
				w.Fatal(err)
			}
		}
		set(wire.Gates{TestsPass: true})
		check(none, first.ID, false, "no confirmed test case")
		_, err := none.Deploy(w.ctx, project, first.ID, wire.Production, "", "")
		w.code(err, rule.CodeConflict, "deploying what no test case looks at")

		set(wire.Gates{MaxRisk: wire.RiskCritical})
		check(none, first.ID, true, "no other snapshot is active")
		if _, err := none.Deploy(w.ctx, project, first.ID, wire.Production, "", ""); err != nil {
			w.Fatal(err)
		}
		check(none, same.ID, true, "the rules are those of the active snapshot")
		check(none, second.ID, false, "no recorded evaluation could be replayed")
		check(w.over(replayer{&recorded{id: "one", text: "nothing", verdict: rule.Allow}}), second.ID, true, "the risk of 1 replayed evaluations is")
	})
}

func TestGatesThatCannotBe(t *testing.T) {
	each(t, func(w *world) {
		now := time.Now()
		for name, g := range map[string]wire.Gates{
			"an unknown risk":         {MaxRisk: "some"},
			"too many approvals":      {Approvals: 11},
			"negative approvals":      {Approvals: -1},
			"a freeze without time":   {Freezes: []wire.Freeze{{From: now, Until: now}}},
			"too many freezes":        {Freezes: make([]wire.Freeze, 51)},
			"a freeze that runs back": {Freezes: []wire.Freeze{{From: now, Until: now.Add(-time.Hour)}}},
		} {
			w.code(w.releases.SetGates(w.ctx, project, wire.Production, g), rule.CodeInvalid, name)
		}
		w.code(w.releases.SetGates(w.ctx, "nowhere", wire.Production, wire.Gates{}), rule.CodeNotFound, "an unknown project")
		_, err := w.releases.Approve(w.ctx, project, "0199f0a0-0000-7000-8000-00000000ffff", "")
		w.code(err, rule.CodeNotFound, "approving an unknown snapshot")
	})
}

func (w *world) update(fn func(store.Tx) error) {
	w.Helper()
	if err := w.store.Update(w.ctx, fn); err != nil {
		w.Fatal(err)
	}
}
