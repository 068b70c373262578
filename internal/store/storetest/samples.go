package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testSamples(t *testing.T, f *fixture) {
	made := 0
	put := func(project, ruleID string, kind store.SampleKind, said, judged rule.Verdict) store.Sample {
		t.Helper()
		made++
		s := store.Sample{
			ProjectID: project, EvaluationID: "e" + string(rune('0'+made)), RuleID: ruleID, Kind: kind, RuleVersion: 2, ContentHash: "h", Said: said, Judged: judged,
			At: at.Add(time.Duration(made) * time.Hour),
		}
		f.update(func(tx store.Tx) error { return tx.Samples.Put(f.ctx, s) })
		return s
	}
	f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("q")) })
	put("p", "r1", store.SampledCheck, rule.Allow, rule.Allow)
	put("p", "r1", store.SampledCheck, rule.Allow, rule.Allow)
	missed := put("p", "r1", store.SampledCheck, rule.Allow, rule.Deny)
	put("p", "r2", store.SampledTriage, store.SaidRuledOut, rule.NeedsConfirmation)
	other := put("p", "r2", store.SampledTriage, store.SaidRuledOut, rule.Deny)
	put("q", "r1", store.SampledCheck, rule.Deny, rule.Allow)
	missed.RuleVersion = 3
	f.update(func(tx store.Tx) error { return tx.Samples.Put(f.ctx, missed) }) // again: it takes the place

	counts, err := f.s.Samples.Count(f.ctx, "p", "", at)
	want := []store.SampleCount{
		{Kind: store.SampledCheck, Said: rule.Allow, Judged: rule.Allow, Count: 2}, {Kind: store.SampledCheck, Said: rule.Allow, Judged: rule.Deny, Count: 1},
		{Kind: store.SampledTriage, Said: store.SaidRuledOut, Judged: rule.Deny, Count: 1}, {Kind: store.SampledTriage, Said: store.SaidRuledOut, Judged: rule.NeedsConfirmation, Count: 1},
	}
	if diff := cmp.Diff(want, counts); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if counts, err := f.s.Samples.Count(f.ctx, "p", "r2", at.Add(5*time.Hour)); err != nil || len(counts) != 1 || counts[0].Count != 1 {
		t.Errorf("of one rule since a time: %+v, %v", counts, err)
	}
	list, err := f.s.Samples.Disputed(f.ctx, "p", "", at, 10)
	if diff := cmp.Diff([]store.Sample{other, missed}, list); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if list, err := f.s.Samples.Disputed(f.ctx, "p", "r1", at, 10); err != nil || len(list) != 1 {
		t.Errorf("of one rule: %+v, %v", list, err)
	}
	if list, err := f.s.Samples.Disputed(f.ctx, "p", "", at, 1); err != nil || len(list) != 1 {
		t.Errorf("at most one: %+v, %v", list, err)
	}
	if n, err := f.s.Samples.Number(f.ctx, "p", at.Add(4*time.Hour)); n != 2 || err != nil {
		t.Errorf("%d samples, %v", n, err)
	}
}
