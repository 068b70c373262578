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

// TestProbesWithoutASharedNameDoNotMislead plants the lines of two probes beside each other: each keeps its answer.
func TestProbesWithoutASharedNameDoNotMislead(t *testing.T) {
	for _, style := range []probe.Style{probe.Camel, probe.Snake, probe.Fields, probe.Prose} {
		apart := 0
		for i := range 3_000 {
			random := sha256.Sum256(fmt.Append(nil, style, i))
			other := sha256.Sum256(random[:])
			switch i % 4 { // chance alone rarely draws the same
			case 0:
				copy(other[10:14], random[10:14]) // a name
			case 1:
				copy(other[18:20], random[18:20]) // the number
			}
			deny, allow := probe.New(style, rule.Deny, random[:]), probe.New(style, rule.Allow, other[:])
			if deny.SharesNames(&allow) {
				continue
			}
			apart++
			text := strings.Join(append(deny.Lines, allow.Lines...), "\n")
			if _, broken, _ := probe.Solve(allow.Statement, text); broken != "" {
				t.Errorf("%q is broken by %q, which breaks %q", allow.Statement, broken, deny.Statement)
			}
			if _, broken, _ := probe.Solve(deny.Statement, text); !deny.Passed(rule.Deny, []string{broken}) {
				t.Errorf("%q is broken by %q", deny.Statement, broken)
			}
		}
		if apart < 1_000 {
			t.Errorf("style %d: only %d of 3,000 pairs share no name", style, apart)
		}
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
