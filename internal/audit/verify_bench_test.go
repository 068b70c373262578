package audit

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// BenchmarkFaults looks at entries with the records of evaluations of 20 verdicts, as verification does: each processor with a page of them.
func BenchmarkFaults(b *testing.B) {
	entries := make([]store.AuditEntry, verifyPage)
	for i := range entries {
		entries[i] = entry(Record{ProjectID: "p", Kind: KindEvaluation, At: time.Now(), Actor: "ann", Verdict: "ALLOW", Mode: "enforce", Body: TypicalBody(b, i)})
		entries[i].Seq = int64(i + 1)
		entries[i].Hash = Hash(entries[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		var all sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			all.Go(func() {
				x := examiners.Get().(*examiner) //nolint:forcetypeassert // it holds nothing else
				defer examiners.Put(x)
				p := &page{entries: entries, examined: make(chan struct{})}
				x.look(p)
				for _, faults := range p.faults {
					if len(faults) > 0 {
						b.Error(faults)
					}
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.N*len(entries)*runtime.GOMAXPROCS(0))/b.Elapsed().Seconds(), "entries/s")
	raw, _ := Body(entries[0])
	b.ReportMetric(float64(len(raw)), "bytes")
	b.ReportMetric(float64(len(entries[0].Body)), "stored-bytes")
}

// TypicalBody returns the record of an evaluation of a payment by 20 rules, which another n makes differ. It is as long as such records are, and compresses as well.
func TypicalBody(tb testing.TB, n int) []byte {
	tb.Helper()
	return BodyOf(tb, n, 20)
}

// BodyOf is [TypicalBody] with a number of rules.
func BodyOf(tb testing.TB, n, rules int) []byte {
	tb.Helper()
	verdicts, versions := make([]rule.RuleVerdict, rules), make([]wire.RecordedRule, rules)
	for i := range verdicts {
		verdicts[i] = rule.RuleVerdict{
			RuleID: fmt.Sprintf("0197f3c2-%04x-7abc-%04x-%012x", i*2749%65536, 0x8000+i*977%16384, uint64(i+1)*0x9e3779b97f4a7c15>>16), RuleSlug: fmt.Sprintf("B-%06d", 2*i), //nolint:gosec // small
			RuleStatement: fmt.Sprintf("In unit %d, %s above %d must be approved by a second person before it is carried out (rule %d).", i%50,
				[]string{"a payment", "a refund", "a discount", "a contract", "an order", "a write-off", "a loan", "a gift"}[i%8], 1000+i, i),
			RuleVersion: 1, Severity: rule.High, Modality: rule.Must, Enforcement: rule.Enforce, Verdict: rule.Allow, DecidedBy: rule.ByCheck, Confidence: 1,
			Reasoning: fmt.Sprintf("the check holds: facts.amount <= %d || facts.approvals >= 2", 1000+i), Concerned: true,
		}
		versions[i] = wire.RecordedRule{RuleID: verdicts[i].RuleID, Version: 1, ContentHash: BodyHash([]byte{byte(i)})}
	}
	body, err := json.Marshal(wire.EvaluationRecord{
		Evaluation:  &rule.Evaluation{EvaluationID: NewID(), ProjectID: "p", OverallVerdict: rule.Allow, RuleVerdicts: verdicts, CorpusVersion: 1},
		Subject:     wire.RecordedSubject{Facts: map[string]any{"amount": 500 + n%400, "approvals": n % 3, "reference": fmt.Sprintf("P-%d", n), "currency": "EUR"}},
		SubjectHash: BodyHash(fmt.Append(nil, n)), MaxRules: 20, SeverityMin: rule.Medium, Rules: versions,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}
