package probe_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"tenet/internal/judge/probe"
	"tenet/internal/rule"
)

// TestAReaderOfTheFormsAnswersEveryProbe solves many probes of each style from the statement and the planted lines.
func TestAReaderOfTheFormsAnswersEveryProbe(t *testing.T) {
	statements := map[string]bool{}
	for _, style := range []probe.Style{probe.Camel, probe.Snake, probe.Fields, probe.Prose} {
		for i := range 300 {
			random := sha256.Sum256(fmt.Append(nil, style, i))
			for _, want := range []rule.Verdict{rule.Allow, rule.Deny} {
				p := probe.New(style, want, random[:])
				statements[p.Statement] = true
				text := strings.Join(p.Lines, "\n")
				m, broken, ok := probe.Solve(p.Statement, "12| +"+text+"\n13| +other = 1\n")
				if !ok || m != p.Modality || (broken != "") != (want == rule.Deny) {
					t.Fatalf("%q with %q: solved as %v %q %v, want %s", p.Statement, text, m, broken, ok, want)
				}
				if broken != "" && !p.Passed(rule.Deny, []string{broken}) || broken == "" && !p.Passed(rule.Allow, nil) {
					t.Errorf("%q: the right answer %q does not pass", p.Statement, broken)
				}
				if p.Passed(rule.NeedsConfirmation, []string{text}) || p.Passed(rule.Deny, []string{"elsewhere"}) || p.Passed(rule.Deny, nil) {
					t.Errorf("%q: a wrong answer passes", p.Statement)
				}
			}
		}
	}
	if len(statements) < 1100 { // of 1,200 draws
		t.Errorf("only %d different statements", len(statements))
	}
}

func TestASampleOfTheCorpusIsAProbe(t *testing.T) {
	s := probe.Sample{Modality: rule.MustNot, Statement: "Print secrets.", Breaks: "print(secret)\n", Keep: "send(secret)"}
	if p := s.Probe(rule.Deny); !p.Passed(rule.Deny, []string{"print(secret)"}) || p.Passed(rule.Allow, nil) {
		t.Errorf("got %+v", p)
	}
	if p := s.Probe(rule.Allow); !p.Passed(rule.Allow, nil) || p.Lines[0] != "send(secret)" {
		t.Errorf("got %+v", p)
	}
}
