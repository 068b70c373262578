package watch_test

import (
	"fmt"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/watch"
	"tenet/internal/wire"
)

// record is that of an evaluation whose rules a check has decided.
func record(subject string, rules int) *wire.EvaluationRecord {
	rec := &wire.EvaluationRecord{Evaluation: &rule.Evaluation{ProjectID: "p", EvaluationID: "e"}, SubjectHash: subject, Kept: wire.KeepRedacted}
	for i := range rules {
		id := fmt.Sprintf("r%d", i)
		rec.Rules = append(rec.Rules, wire.RecordedRule{RuleID: id, Version: 1, ContentHash: "h"})
		rec.Evaluation.RuleVerdicts = append(rec.Evaluation.RuleVerdicts, rule.RuleVerdict{RuleID: id, RuleVersion: 1, Verdict: rule.Allow, DecidedBy: rule.ByCheck})
	}
	return rec
}

func TestAPartIsPicked(t *testing.T) {
	w := watch.New(watch.Config{Part: 0.01})
	picked, again := 0, 0
	for i := range 20_000 {
		rec := record(fmt.Sprint(i), 1)
		if w.Pick(rec) != nil {
			picked++
			if w.Pick(record(fmt.Sprint(i), 1)) != nil {
				again++
			}
		}
	}
	if picked < 150 || picked > 250 || again != picked {
		t.Errorf("of 20,000 subjects %d are picked, and %d of them again", picked, again)
	}
	for name, edit := range map[string]func(*wire.EvaluationRecord){
		"without the subject": func(rec *wire.EvaluationRecord) { rec.Kept = wire.KeepNone },
		"with personal data":  func(rec *wire.EvaluationRecord) { rec.Personal = &wire.SealedData{} },
		"by the judge":        func(rec *wire.EvaluationRecord) { rec.Evaluation.RuleVerdicts[0].DecidedBy = rule.ByModel },
		"undecided":           func(rec *wire.EvaluationRecord) { rec.Evaluation.RuleVerdicts[0].Verdict = rule.NeedsConfirmation },
	} {
		rec := record("s", 1)
		edit(rec)
		if watch.New(watch.Config{Part: 1}).Pick(rec) != nil {
			t.Errorf("%s: nothing is to be sampled", name)
		}
	}
	if watch.New(watch.Config{}).Pick(record("s", 1)) != nil {
		t.Error("a part of 0 samples nothing")
	}
}
