package modeleval

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Decider decides one rule on one subject, as the service would, without remembering earlier verdicts.
type Decider interface {
	// Model names the model that is asked; empty means none.
	Model() string
	// Prompt names the version of the prompts.
	Prompt() string
	// Decide always gives a verdict.
	Decide(ctx context.Context, s *subject.Subject, r *rule.Rule) (rule.RuleVerdict, rule.Cost)
	// Triage returns for each rule whether it could concern s.
	Triage(ctx context.Context, s *subject.Subject, rules []*rule.Rule) ([]wire.TriageOutcome, rule.Cost)
}

// Options tune a run. Zero fields take the defaults.
type Options struct {
	// Repeat is how often each case is judged; 0 means once.
	Repeat int
	// Others is how many rules of other cases go along with the rule of a case that breaks it when triage is measured; 0 does not
	// measure it.
	Others int
	// Parallel is how many cases are judged at once; 0 means 4.
	Parallel int
	// Journal keeps what was found as the run goes, and what an earlier run has found is not asked again; nil keeps nothing.
	Journal *Journal
	// Progress gets the number of verdicts and triages so far and of all at the start and after each of them, one call after the
	// other; nil gets none.
	Progress func(done, all int)
	// Now is the clock that latencies are taken by; nil means time.Now.
	Now func() time.Time
}

// judgement is one verdict on one case.
type judgement struct {
	verdict rule.Verdict
	by      rule.DecidedBy
	reason  string
	cost    rule.Cost
	took    time.Duration
}

// Run judges all cases and measures what came out. Repeats of a case lie as far apart as they can. The error is that of
// ctx if it ends before all is judged: a part of a run would measure something else. It may be that of writing the journal, too.
func Run(ctx context.Context, d Decider, cases []Case, o Options) (*Report, error) {
	o.Repeat, o.Parallel = max(o.Repeat, 1), max(o.Parallel, 0)
	if o.Parallel == 0 {
		o.Parallel = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	got := make([][]judgement, len(cases))
	for i := range got {
		got[i] = make([]judgement, o.Repeat)
	}
	triaged := newTriages(cases, o.Others)
	all := len(cases)*o.Repeat + len(triaged)
	if o.Progress != nil {
		o.Progress(0, all)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type place struct{ i, n int }
	next := make(chan place)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(o.Parallel, max(1, all)) {
		wg.Go(func() {
			for p := range next {
				var err error
				if p.n < 0 {
					err = o.Journal.triage(ctx, triaged[p.i], func() { triaged[p.i].run(ctx, d) })
				} else {
					c := &cases[p.i]
					got[p.i][p.n], err = o.Journal.judgement(ctx, c, p.n, func() judgement { return judge(ctx, d, c, o.Now) })
				}
				if err != nil {
					stop(fmt.Errorf("writing the journal: %w", err))
				}
				if o.Progress != nil {
					mu.Lock()
					done++
					o.Progress(done, all)
					mu.Unlock()
				}
			}
		})
	}
	give := func(p place) {
		select {
		case next <- p:
		case <-ctx.Done():
		}
	}
	for n := range o.Repeat {
		for i := range cases {
			give(place{i, n})
		}
	}
	for i := range triaged {
		give(place{i, -1})
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	report := measure(d, cases, got)
	report.takeTriage(triaged, o.Others)
	return report, nil
}

func judge(ctx context.Context, d Decider, c *Case, now func() time.Time) judgement {
	start := now()
	v, cost := d.Decide(ctx, c.Subject, c.Rule)
	return judgement{verdict: v.Verdict, by: v.DecidedBy, reason: v.Reasoning, cost: cost, took: now().Sub(start)}
}
