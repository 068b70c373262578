package evaluate

import (
	"context"
	"slices"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// run is one evaluation under way.
type run struct {
	e       *Evaluator
	req     *Request
	subject *subject.Subject
	view    *corpus.View
	start   time.Time
	checked *check.Input
	// narrowed are the inputs of rules that concern only some files, by the key of their coverage.
	narrowed map[string]*check.Input
	sel      selection
	judged   *judged
}

// selection is what rules an evaluation looks at.
type selection struct {
	inScope    int
	chosen     []chosen
	overridden []rule.Overridden
}

// chosen is a selected rule with the outcome of its check, if the check has run.
type chosen struct {
	corpus.Match
	program *check.Program
	fault   error // the check does not compile
	outcome check.Outcome
	ran     bool
}

// screened is how many of the best-ranked rules have their checks run before max_rules cuts. Checks take microseconds,
// so a violation that a check can see is not cut off by a rank that did not foresee it.
const screened = 256

// maxTermBytes is how much of the subject's text is used to rank rules.
const maxTermBytes = 16 << 10

// selectRules finds the rules that apply, runs the checks of the best ranked, and keeps max_rules of them: first those
// whose check found the rule broken, then those that are open, then those that are kept, last those that do not concern the
// subject.
func (r *run) selectRules(ctx context.Context) selection {
	matches, overridden := r.view.Applicable(r.query())
	sel := selection{inScope: len(matches), overridden: overridden}
	sel.chosen = make([]chosen, min(len(matches), max(screened, r.req.MaxRules)))
	for i := range sel.chosen {
		c := &sel.chosen[i]
		c.Match = matches[i]
		if c.Rule.Check != nil {
			r.runCheck(ctx, c)
		}
	}
	if len(matches) > r.req.MaxRules {
		slices.SortStableFunc(sel.chosen, func(a, b chosen) int { return a.urgency() - b.urgency() })
	}
	sel.chosen = sel.chosen[:min(len(matches), r.req.MaxRules)]
	return sel
}

// urgency orders screened rules for the cut; lower comes first. What is broken must be told, what is open must be judged
// before an ALLOW may be given, and what a check has found kept can be cut with the least loss.
func (c *chosen) urgency() int {
	switch {
	case !c.ran:
		return 1
	case c.outcome.Result == check.Broken:
		return 0
	case c.outcome.Result == check.NotConcerned:
		return 3
	case c.outcome.Result == check.Kept && c.program.Decides() == rule.Both:
		return 2
	}
	return 1
}

func (r *run) runCheck(ctx context.Context, c *chosen) {
	c.program, c.fault = r.e.cfg.Checks.Get(c.Rule.Check)
	if c.fault == nil {
		c.outcome = c.program.Run(ctx, r.input(c.Entry))
		c.ran = true
	}
}

// input is what the rule's check looks at: the subject, without the files that its applies_to leaves out. Rules with the
// same applies_to share it, since preparing it is most of the work.
func (r *run) input(e *corpus.Entry) *check.Input {
	covers := e.Covers()
	if covers == nil || len(r.subject.Files) == 0 {
		return r.checked
	}
	if in, ok := r.narrowed[covers.Key]; ok {
		return in
	}
	in := r.checked
	if part := r.subject.Only(func(f *subject.File) bool { return covers.File(f.Path, f.OldPath) }); part != r.subject {
		in = check.Prepare(part)
	}
	if r.narrowed == nil {
		r.narrowed = map[string]*check.Input{}
	}
	r.narrowed[covers.Key] = in
	return in
}

// query describes the subject for the selection.
func (r *run) query() *corpus.Query {
	s := r.subject
	q := &corpus.Query{
		Now: r.start, Scope: s.Scope, Repository: s.Repository, SeverityMin: r.req.SeverityMin, Kinds: s.Kinds,
		AnyKind: s.Empty(), AnyPath: s.Empty(),
	}
	room := maxTermBytes
	take := func(text string) {
		if text != "" && room > 0 {
			q.Terms = append(q.Terms, text)
			room -= len(text)
		}
	}
	take(s.Action)
	for name := range s.Facts {
		take(name)
	}
	slices.Sort(q.Terms)
	for i := range s.Files {
		f := &s.Files[i]
		q.Paths = append(q.Paths, f.Path)
		take(f.Path)
		if f.OldPath != "" {
			q.Paths = append(q.Paths, f.OldPath)
		}
	}
	for i := range s.Files {
		for _, h := range s.Files[i].Hunks {
			for _, l := range h.Lines {
				if l.Op == subject.OpAdd {
					take(l.Text)
				}
			}
		}
	}
	return q
}
