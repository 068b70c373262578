package release_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/catalog"
	"tenet/internal/corpus"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// recorded is an evaluation of a text: a rule denies it if the text holds the rule's statement. Rules whose statement begins with "model"
// need a model.
type recorded struct {
	id, text string
	verdict  rule.Verdict
	rules    []string
	fault    error
	asked    *atomic.Int64
}

func (r *recorded) ID() string            { return r.id }
func (r *recorded) Verdict() rule.Verdict { return r.verdict }
func (r *recorded) Rules() []string       { return r.rules }

func (r *recorded) Under(_ context.Context, view *corpus.View, asks bool) (*rule.Evaluation, rule.Estimate, error) {
	if r.fault != nil {
		return nil, rule.Estimate{}, r.fault
	}
	out, open := &rule.Evaluation{}, rule.Estimate{}
	for e := range view.All() {
		v := rule.RuleVerdict{RuleID: e.Rule.ID, RuleSlug: e.Rule.Slug, Severity: e.Rule.Severity, Verdict: rule.Allow, Reasoning: "said: " + e.Rule.Statement}
		switch {
		case strings.HasPrefix(e.Rule.Statement, "model") && !asks:
			v.Verdict = rule.NeedsConfirmation
			open.Add(rule.Estimate{Verdicts: 1, Calls: 1, InputTokens: 100})
		case strings.Contains(r.text, e.Rule.Statement):
			v.Verdict = rule.Deny
		}
		if strings.HasPrefix(e.Rule.Statement, "model") && asks {
			r.asked.Add(1)
			out.Cost.Calls++
		}
		out.RuleVerdicts = append(out.RuleVerdicts, v)
	}
	out.OverallVerdict = rule.Overall(out.RuleVerdicts)
	return out, open, nil
}

// replayer has recorded evaluations, newest first.
type replayer []release.Recorded

func (r replayer) Recent(_ context.Context, _ string, verdict rule.Verdict, limit int) ([]release.Recorded, error) {
	var out []release.Recorded
	for _, e := range r {
		if e.Verdict() == verdict && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (w *world) over(records replayer) *release.Releases {
	return release.New(release.Config{Store: release.Store{Updater: w.store, Jobs: w.store.Jobs, Releases: w.store.Releases, Rules: w.store.Rules, Runs: w.store.Runs, TestCases: w.store.TestCases}, Views: w.views, Replayer: records, Now: time.Now})
}

func TestSimulation(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "password")
		w.create("A-2", "token")
		before := w.snapshot("before")
		w.say("A-2", "model of a token")
		w.create("A-3", "secret")
		if err := w.rules.Retire(w.ctx, project, "A-1", 0); err != nil {
			w.Fatal(err)
		}
		after := w.snapshot("after")
		var asked atomic.Int64
		records := replayer{
			&recorded{id: "falls", text: "a password", verdict: rule.Deny, asked: &asked},
			&recorded{id: "rises", text: "a secret", verdict: rule.Allow, asked: &asked},
			&recorded{id: "stays", text: "nothing", verdict: rule.Allow, asked: &asked},
			&recorded{id: "cut", verdict: rule.Deny, fault: rule.Errorf(rule.CodeConflict, "the record holds no subject"), asked: &asked},
			&recorded{id: "broken", verdict: rule.Deny, fault: errors.New("disk on fire"), asked: &asked},
		}
		releases := w.over(records)
		var told atomic.Int64
		s, err := releases.Simulate(w.ctx, project, wire.SimulateRequest{SnapshotID: after.ID, CompareTo: before.ID}, func(done, total int) { told.Store(int64(done*100 + total)) })
		if err != nil {
			w.Fatal(err)
		}
		if s.RulesAdded != 1 || s.RulesRemoved != 1 || s.RulesModified != 1 {
			w.Errorf("%d added, %d removed, %d modified", s.RulesAdded, s.RulesRemoved, s.RulesModified)
		}
		if want := (wire.VerdictChanges{TotalSampled: 3, Changed: 2, AllowToDeny: 1, DenyToAllow: 1}); s.VerdictChanges != want {
			w.Errorf("%+v, want %+v", s.VerdictChanges, want)
		}
		if len(s.NotReplayed) != 2 || told.Load() != 505 {
			w.Errorf("not replayed %+v, told %d", s.NotReplayed, told.Load())
		}
		for _, n := range s.NotReplayed {
			if strings.Contains(n.Reason, "fire") {
				w.Errorf("an internal error is told: %+v", n)
			}
		}
		if s.Cost.Calls != 3 || asked.Load() != 3 || s.CostEstimate.Verdicts != 3 {
			w.Errorf("cost %+v, estimate %+v, asked %d", s.Cost, s.CostEstimate, asked.Load())
		}
		first := s.Examples[0]
		if first.EvaluationID != "falls" || first.RuleSlug != "A-1" || first.Before != rule.Deny || first.After != "" || first.Why == "" {
			w.Errorf("the worst change is %+v", first)
		}
		if s.Confidence == nil || s.Confidence.Of != 3 || s.Confidence.Low <= 0 || s.Confidence.High >= 1 {
			w.Errorf("confidence %+v", s.Confidence)
		}
		if s.RiskLevel != wire.RiskHigh || len(s.RiskReasons) == 0 {
			w.Errorf("risk %s: %v", s.RiskLevel, s.RiskReasons)
		}

		asked.Store(0)
		dry, err := releases.Simulate(w.ctx, project, wire.SimulateRequest{SnapshotID: after.ID, CompareTo: before.ID, DryRun: true}, nil)
		if err != nil || asked.Load() != 0 || dry.CostEstimate.Verdicts != 3 || dry.Cost != (rule.Cost{}) || !dry.DryRun || dry.VerdictChanges.TotalSampled != 0 || len(dry.NotReplayed) != 5 {
			w.Errorf("a dry run asks %d times and estimates %+v, %v", asked.Load(), dry, err)
		}
	})
}

func TestSimulationsThatCannotBe(t *testing.T) {
	each(t, func(w *world) {
		a, b := w.snapshot("a"), w.snapshot("b")
		r := w.over(nil)
		for name, tt := range map[string]struct {
			q    wire.SimulateRequest
			want rule.Code
		}{
			"with itself":       {wire.SimulateRequest{SnapshotID: a.ID, CompareTo: a.ID}, rule.CodeInvalid},
			"with nothing":      {wire.SimulateRequest{SnapshotID: a.ID}, rule.CodeInvalid},
			"with an unknown":   {wire.SimulateRequest{SnapshotID: a.ID, CompareTo: "0199f0a0-0000-7000-8000-00000000ffff"}, rule.CodeNotFound},
			"of an unknown":     {wire.SimulateRequest{SnapshotID: "0199f0a0-0000-7000-8000-00000000ffff", CompareTo: a.ID}, rule.CodeNotFound},
			"a negative sample": {wire.SimulateRequest{SnapshotID: a.ID, CompareTo: b.ID, SampleSize: -1}, rule.CodeInvalid},
			"a huge sample":     {wire.SimulateRequest{SnapshotID: a.ID, CompareTo: b.ID, SampleSize: 1001}, rule.CodeInvalid},
		} {
			_, err := r.Simulate(w.ctx, project, tt.q, nil)
			w.code(err, tt.want, name)
		}
		s, err := r.Simulate(w.ctx, project, wire.SimulateRequest{SnapshotID: a.ID, CompareTo: b.ID}, nil)
		if err != nil || s.VerdictChanges != (wire.VerdictChanges{}) || s.RiskLevel != wire.RiskNone || s.Confidence != nil {
			w.Errorf("equal snapshots without records: %+v, %v", s, err)
		}
	})
}

// A rule that is seldom judged, and a verdict that is seldom given, must be in the sample too.
func TestSamplesAreStratified(t *testing.T) {
	each(t, func(w *world) {
		a := w.snapshot("a")
		rare := w.create("RARE", "rare")
		b := w.snapshot("b")
		var records replayer
		for i := range 400 {
			records = append(records, &recorded{id: fmt.Sprint("common", i), verdict: rule.Allow, rules: []string{"common"}})
		}
		records = append(records,
			&recorded{id: "rare rule", text: "rare", verdict: rule.Allow, rules: []string{"common", rare.ID}},
			&recorded{id: "rare verdict", text: "rare", verdict: rule.NeedsConfirmation, rules: []string{"common"}})
		simulate := func(seed uint64) *wire.Simulation {
			s, err := w.over(records).Simulate(w.ctx, project, wire.SimulateRequest{SnapshotID: b.ID, CompareTo: a.ID, SampleSize: 6, Seed: seed}, nil)
			if err != nil {
				w.Fatal(err)
			}
			return s
		}
		for seed := range uint64(5) {
			s := simulate(seed)
			var ids []string
			for _, e := range s.Examples {
				if e.After == rule.Deny {
					ids = append(ids, e.EvaluationID)
				}
			}
			slices.Sort(ids)
			if s.VerdictChanges.TotalSampled != 6 || !slices.Equal(ids, []string{"rare rule", "rare verdict"}) {
				w.Errorf("seed %d: %d sampled, denied %v", seed, s.VerdictChanges.TotalSampled, ids)
			}
		}
	})
}

func TestRisk(t *testing.T) {
	each(t, func(w *world) {
		w.create("A-1", "password")
		before := w.snapshot("before")
		if _, err := w.rules.Revise(w.ctx, project, "A-1", 0, rule.Permission{}, func(r *rule.Rule) error { r.Severity = rule.Critical; return nil }); err != nil {
			w.Fatal(err)
		}
		critical := w.snapshot("critical")
		w.say("A-1", "passphrase")
		loosened := w.snapshot("loosened")
		w.create("A-2", "unheard of")
		added := w.snapshot("added")
		revised := func(name string, change func(*rule.Rule)) wire.Snapshot {
			if _, err := w.rules.Revise(w.ctx, project, "A-1", 0, rule.Permission{AllowWeakening: true, Reason: "to try what follows"}, func(r *rule.Rule) error { change(r); return nil }); err != nil {
				w.Fatal(err)
			}
			return w.snapshot(name)
		}
		shadow := revised("shadow", func(r *rule.Rule) { r.Enforcement = rule.Shadow })
		elsewhere := revised("elsewhere", func(r *rule.Rule) {
			r.Enforcement, r.AppliesTo = rule.Enforce, &rule.AppliesTo{Paths: []string{"x/**"}}
		})
		ending := revised("ending", func(r *rule.Rule) {
			r.AppliesTo = nil
			r.EffectivePeriod.Until = new(time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC))
		})
		quiet := make(replayer, 100)
		for i := range quiet {
			quiet[i] = &recorded{id: fmt.Sprint(i), text: "nothing", verdict: rule.Allow}
		}
		one := func(text string, v rule.Verdict) replayer {
			return append(replayer{&recorded{id: "one", text: text, verdict: v}}, quiet[1:]...)
		}
		for name, tt := range map[string]struct {
			from, to wire.Snapshot
			records  replayer
			want     wire.Risk
		}{
			"nothing differs":                     {before, before, quiet, ""},
			"rules differ, no verdict does":       {loosened, added, quiet, wire.RiskLow},
			"a critical rule goes into shadow":    {added, shadow, quiet, wire.RiskHigh},
			"a critical rule comes out of it":     {shadow, added, quiet, wire.RiskLow},
			"a critical rule holds elsewhere":     {added, elsewhere, quiet[:1], wire.RiskHigh},
			"a critical rule will end":            {added, ending, quiet, wire.RiskHigh},
			"a critical rule ends no longer":      {ending, added, quiet, wire.RiskLow},
			"a critical rule denies no longer":    {critical, loosened, one("password", rule.Deny), wire.RiskCritical},
			"a critical rule allows no longer":    {loosened, critical, one("password", rule.Allow), wire.RiskHigh},
			"nothing replayed, critical modified": {critical, loosened, nil, wire.RiskHigh},
			"nothing replayed, a rule added":      {loosened, added, nil, wire.RiskMedium},
		} {
			s, err := w.over(tt.records).Simulate(w.ctx, project, wire.SimulateRequest{SnapshotID: tt.to.ID, CompareTo: tt.from.ID, SampleSize: 100}, nil)
			if tt.want == "" {
				w.code(err, rule.CodeInvalid, name)
				continue
			}
			if err != nil || s.RiskLevel != tt.want {
				w.Errorf("%s: %s %v, %v; want %s", name, s.RiskLevel, s.RiskReasons, err, tt.want)
			}
		}
	})
}

// A CRITICAL rule that demands less counts, however many rules change before it.
func TestRiskOfManyChanges(t *testing.T) {
	each(t, func(w *world) {
		const n = release.MaxDiff + 5
		file := &wire.RuleFile{}
		for i := range n {
			file.Rules = append(file.Rules, wire.RuleInput{Slug: new(fmt.Sprintf("R-%04d", i)), Statement: "Say please.", Severity: rule.Critical, Status: rule.Effective})
		}
		write := func() string {
			if _, err := w.rules.Import(w.ctx, project, file, catalog.ImportOptions{}); err != nil {
				w.Fatal(err)
			}
			return w.snapshot("s").ID
		}
		first := write()
		for i := range file.Rules {
			file.Rules[i].Statement = "Say please and thanks."
		}
		second := write()
		last, err := w.rules.Get(w.ctx, project, "R-0000")
		if err != nil {
			w.Fatal(err)
		}
		for i := range file.Rules { // the rule that a list of the differences ends before
			if one, err := w.rules.Get(w.ctx, project, *file.Rules[i].Slug); err != nil || one.ID > last.ID {
				last = one
			}
		}
		for i := range file.Rules {
			file.Rules[i].Statement = "Say please, thanks and hello."
			if *file.Rules[i].Slug == last.Slug {
				file.Rules[i].Severity = rule.Low
			}
		}
		third := write()
		w.releases = w.over(nil)
		for _, c := range []struct {
			to   string
			want int
		}{{second, 0}, {third, 1}} {
			s, err := w.releases.Simulate(w.ctx, project, wire.SimulateRequest{SnapshotID: c.to, CompareTo: first}, nil)
			if err != nil {
				w.Fatal(err)
			}
			less := slices.ContainsFunc(s.RiskReasons, func(r string) bool { return strings.Contains(r, "CRITICAL rules are removed or demand less") })
			if s.RulesModified != n || less != (c.want > 0) {
				w.Errorf("%d modified, %v", s.RulesModified, s.RiskReasons)
			}
		}
		d, err := w.releases.Diff(w.ctx, project, first, third, wire.DiffQuery{Limit: 10, Offset: release.MaxDiff})
		if err != nil || d.RulesModified != n || len(d.Modified) != 5 || d.Truncated {
			w.Errorf("the last page: %d of %d, %v", len(d.Modified), d.RulesModified, err)
		}
	})
}
