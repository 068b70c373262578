package oracletest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Bounds of the time of a test run. make fuzz has none: it sets the number of draws, such as CHECKS=20000 for an hour.
const (
	longest  = 6 * time.Second
	shortest = 2 * time.Second
)

// oracle compares verdicts on diffs with what the tools make of the diffs.
type oracle struct {
	*repository
	*pipeline
	// compared counts diffs with an evaluation, refused those without, broken the rules that outcomes break.
	compared, refused, broken int
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	var rules []rule.Rule
	for _, l := range laws {
		rules = append(rules, l.rule)
	}
	return &oracle{repository: newRepository(t), pipeline: newPipeline(t, honest(), rules...)}
}

// compare judges a diff and returns, a line each, the rules that it breaks and that are ALLOW. An error is one of the file system.
func (o *oracle) compare(s *sample) (wrong []string, err error) {
	evaluation, refusal := o.judge(subject.Input{Diff: s.diff})
	if refusal != nil {
		o.refused++
		return nil, nil
	}
	o.compared++
	outcomes, err := o.outcomes(s)
	if err != nil {
		return nil, err
	}
	verdicts := verdictsOf(evaluation)
	for _, l := range laws {
		for _, out := range outcomes {
			why := l.breaks(out)
			if why == "" {
				continue
			}
			o.broken++
			reasoning := "it does not apply"
			if v := verdicts[l.rule.Slug]; v != nil {
				if v.Verdict != rule.Allow {
					break
				}
				reasoning = "it is ALLOW: " + v.Reasoning
			}
			wrong = append(wrong, fmt.Sprintf("%s: %s; by %s, %s", l.rule.Slug, reasoning, out.by, why))
			break
		}
	}
	return wrong, nil
}

// try draws a change, and compares several diffs of it, sound and damaged ones.
func (o *oracle) try(t *rapid.T) {
	d := drawer{t}
	before := d.tree()
	after := d.change(before)
	for range 4 {
		s, err := d.sample(o.repository, before, after)
		if err != nil || s.diff == "" { // a tool that does not take its options, or this pair of folders
			continue
		}
		o.hold(t, s)
		if len(s.before) == 1 && !d.one("sound", 3) {
			damaged := sample{how: "damaged: " + s.how, diff: d.damage(s.diff), before: s.before, after: s.after, lossy: true, strips: []string{"1"}}
			o.hold(t, &damaged)
		}
	}
}

// hold fails the test if a diff is ALLOW for a rule that it breaks.
func (o *oracle) hold(t *rapid.T, s *sample) {
	wrong, err := o.compare(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(wrong) > 0 {
		t.Fatalf("%s\n%s\nKeep the diff in testdata/found:\n%s", strings.Join(wrong, "\n"), s.how, s.diff)
	}
}

// TestGitIsTheOracle draws repositories, changes and diffs of them.
func TestGitIsTheOracle(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	limit := longest
	if testing.Short() {
		limit = shortest
	}
	begin := time.Now()
	proptest.Check(t, func(rt *rapid.T) {
		if os.Getenv("RAPID_CHECKS") == "" && time.Since(begin) > limit {
			return
		}
		o.try(rt)
	})
	t.Logf("%d diffs compared, %d refused, %d broken rules, in %v", o.compared, o.refused, o.broken, time.Since(begin))
	if o.compared < 20 || o.broken < o.compared {
		t.Errorf("%d diffs were compared, which broke %d rules; most break several", o.compared, o.broken)
	}
}
