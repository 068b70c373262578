package audit

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// BenchmarkFaults looks at entries with the records of evaluations of 20 verdicts, as verification does with a page of them.
func BenchmarkFaults(b *testing.B) {
	verdicts := make([]rule.RuleVerdict, 20)
	for i := range verdicts {
		verdicts[i] = rule.RuleVerdict{
			RuleID: fmt.Sprintf("0197f3c2-7d8e-7abc-9def-%012d", i), RuleSlug: fmt.Sprintf("B-%06d", i), Verdict: rule.Allow, Severity: rule.High,
		}
	}
	entries := make([]store.AuditEntry, verifyPage)
	for i := range entries {
		body, err := json.Marshal(map[string]any{"evaluation": rule.Evaluation{RuleVerdicts: verdicts}, "id": NewID()})
		if err != nil {
			b.Fatal(err)
		}
		entries[i] = entry(Record{ProjectID: "p", Kind: KindEvaluation, At: time.Now(), Actor: "ann", Verdict: "ALLOW", Mode: "enforce", Body: body})
		entries[i].Seq = int64(i + 1)
		entries[i].Hash = Hash(entries[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, faults := range contentFaults(entries, nil) {
			if len(faults) > 0 {
				b.Fatal(faults)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(entries))/b.Elapsed().Seconds(), "entries/s")
	raw, _ := Body(entries[0])
	b.ReportMetric(float64(len(raw)), "bytes")
}
