package client

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

// Answers are decoded as encoding/json decodes them, whatever a server sends.
func TestAnswersAreDecodedAsByTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"evaluation_id":"e","overall_verdict":"DENY","rule_verdicts":[{"rule_id":"a","verdict":"DENY","concerned":false},{"rule_id":"b"}],"violations":[{"rule_id":"a"}]}`,
		`{"rule_verdicts":[null,{}],"warnings":null,"coverage":{"rules_in_scope":3},"timestamp":"2026-11-23T10:00:00.000001Z"}`,
		`{"Overall_Verdict":"ALLOW","overall_verdict":"DENY","rule_verdicts":[],"rule_verdicts":[{"rule_id":"z","evidence":[{"kind":"quote","line":3}]}],"unknown":{"a":[1]}}`,
		`{"rule_verdicts":[{"rule_id":3}]}`, `{"rule_verdicts":{}}`, `{"rule_verdicts":[{]}`, `{"overall_verdict":"ALLOW"`, `{} {}`, ``, `null`, `[]`,
		"{\"fix_summary\":\"\xff\"}",
	} {
		var want, got rule.Evaluation
		wantErr, gotErr := json.Unmarshal([]byte(body), &want), decode([]byte(body), &got)
		if (wantErr == nil) != (gotErr == nil) {
			t.Errorf("%s: the standard library says %v, decode %v", body, wantErr, gotErr)
		}
		if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
			t.Errorf("%s (-standard +decode):\n%s", body, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"evaluation_id":"e","overall_verdict":"ALLOW","rule_verdicts":[{"rule_id":"a","concerned":false,"evidence":[{"kind":"fact","value":"1"}]}]}`)
	f.Add(`{"rule_verdicts":[null],"RULE_VERDICTS":[{}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		var want, got rule.Evaluation
		if json.Unmarshal([]byte(body), &want) != nil {
			return // decode may leave out what encoding/json has read before the fault
		}
		if err := decode([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	var e rule.Evaluation
	for range 30 {
		e.RuleVerdicts = append(e.RuleVerdicts, rule.RuleVerdict{RuleID: "01a20728-0d7b-7615-9212-5f45e6d52ab8", RuleSlug: "MCP-001", Verdict: rule.Allow, Reasoning: "Its condition does not hold here."})
	}
	body, err := json.Marshal(e)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var into rule.Evaluation
		if err := decode(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}
