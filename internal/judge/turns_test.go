package judge_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// A project that floods the model slows another at most by half: its calls get places by turns.
func TestAFloodOfOneProjectSlowsAnotherAtMostTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := judgetest.Model(allowAll)
		m.Delay = 500 * time.Millisecond
		j := judge.New(judge.Config{Model: m, Concurrency: 4})
		decide := func(project string, n int) time.Duration {
			rules := newRules(1)
			rules[0].ProjectID, rules[0].Severity = project, rule.Medium
			start := time.Now()
			r := j.Decide(t.Context(), build(t, subject.Input{Action: fmt.Sprintf("pay %d to %s", n, project)}), rules)
			if r.Verdicts[0].Verdict != rule.Allow {
				t.Errorf("%s: %+v", project, r.Verdicts[0])
			}
			return time.Since(start)
		}
		alone := decide("quiet", 0)
		var flood sync.WaitGroup
		for n := range 100 {
			flood.Go(func() { decide("flood", n) })
		}
		synctest.Wait()
		time.Sleep(alone / 4)
		for n := 1; n <= 3; n++ {
			if took := decide("quiet", n); took > 2*alone {
				t.Errorf("beside a flood a decision took %v, alone %v", took, alone)
			}
		}
		flood.Wait()
	})
}
