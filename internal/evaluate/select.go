package evaluate

import (
	"context"
	"maps"
	"slices"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// run is one evaluation under way.
type run struct {
	e       *Evaluator
	req     *Request
	subject *subject.Subject
	view    *corpus.View
	// snapshot is the id of the snapshot that the view is of; empty for live rules.
	snapshot string
	// known gives verdicts that need not be found out again; nil knows none.
	known  func(*chosen) (rule.RuleVerdict, bool)
	within *corpus.Within // what holds at the federation node in play; nil without one
	judge  Judge
	// waived finds the waiver that covers a denial; nil knows none.
	waived func(v *rule.RuleVerdict) *rule.AppliedWaiver
	// raw leaves verdicts as checks and judge give them, before modality, enforcement and feedback.
	raw   bool
	start time.Time
	whole part
	// parts are those of rules that concern only some files, by the key of their coverage.
	parts map[string]*part
	sel   selection
	// calls are those the judge has made to models, reused the kept verdicts that it took instead, for the record.
	calls  []judge.Call
	reused []judge.Reused
}

// selection is what rules an evaluation looks at.
type selection struct {
	inScope    int
	selected   int // within max_rules, silenced rules included
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

// selectRules finds the rules that apply, runs the checks of the best ranked, and keeps max_rules of them by urgency. Of
// these, a rule that another one overrides is silenced; one that was cut silences nothing.
func (r *run) selectRules(ctx context.Context) selection {
	query := r.query()
	matches, overridden := r.within.Split(r.view.Applicable(query))
	sel := selection{inScope: len(matches), overridden: orEmpty(overridden)}
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
	sel.selected = len(sel.chosen)
	sel.silence(query)
	for i := range sel.overridden {
		o := &sel.overridden[i]
		o.RuleSlug, o.OverriddenBySlug = r.slug(o.RuleID), r.slug(o.OverriddenBy)
	}
	return sel
}

// slug is the short name of a rule, for those who read the answer; empty if it has none.
func (r *run) slug(id string) string {
	if found, ok := r.view.Rule(id); ok {
		return found.Slug
	}
	return ""
}

// silence takes out the chosen rules that others override. A rule that does not concern the subject overrides nothing.
func (sel *selection) silence(q *corpus.Query) {
	matches := make([]corpus.Match, len(sel.chosen))
	for i := range sel.chosen {
		matches[i] = sel.chosen[i].Match
	}
	by := corpus.Silencers(q, matches, func(i int) bool {
		c := &sel.chosen[i]
		return !c.ran || c.outcome.Result != check.NotConcerned
	})
	kept := make([]chosen, 0, len(sel.chosen))
	for i, c := range sel.chosen {
		if by[i] < 0 {
			kept = append(kept, c)
			continue
		}
		sel.overridden = append(sel.overridden, rule.Overridden{RuleID: c.Rule.ID, OverriddenBy: matches[by[i]].Rule.ID})
	}
	sel.chosen = kept
}

// urgency orders screened rules for the cut; lower comes first. What denies must be told, what is open must be judged
// before an ALLOW may be given, what a check has found kept can be cut with less loss, and shadow rules decide nothing.
func (c *chosen) urgency() int {
	switch {
	case c.Rule.Enforcement == rule.Shadow:
		return 4
	case !c.ran:
		return 1
	case c.outcome.Result == check.Broken && rule.Settle(rule.Deny, c.Rule.Modality, c.Rule.Enforcement) == rule.Deny:
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

// input is what the rule's check looks at: the part of the subject that the rule concerns.
func (r *run) input(e *corpus.Entry) *check.Input { return r.part(e).checked }

// part is a subject without the files that a rule's applies_to leaves out. Rules with the same applies_to share it, since
// preparing it is most of the work.
type part struct {
	subject *subject.Subject
	checked *check.Input
}

func (r *run) part(e *corpus.Entry) *part {
	covers := e.Covers()
	if covers == nil || len(r.subject.Files) == 0 {
		return &r.whole
	}
	if p, ok := r.parts[covers.Key]; ok {
		return p
	}
	p := &r.whole
	if only := r.subject.Only(func(f *subject.File) bool { return covers.File(f.Path, f.OldPath) }); only != r.subject {
		p = &part{only, check.Prepare(only)}
	}
	if r.parts == nil {
		r.parts = map[string]*part{}
	}
	r.parts[covers.Key] = p
	return p
}

// movedIn is the first file that a diff brings from where the rule does not apply to where it does, or nil.
func (r *run) movedIn(e *corpus.Entry) *subject.File {
	covers := e.Covers()
	if covers == nil {
		return nil
	}
	for i := range r.subject.Files {
		if f := &r.subject.Files[i]; f.OldPath != "" && covers.File(f.Path, "") && !covers.File(f.OldPath, "") {
			return f
		}
	}
	return nil
}

// query describes the subject for the selection.
func (r *run) query() *corpus.Query {
	s := r.subject
	q := &corpus.Query{
		Now: r.start, Within: r.within, Scope: s.Scope, Repository: s.Repository, SeverityMin: r.req.SeverityMin, Kinds: s.Kinds,
		AnyKind: s.Empty(), AnyPath: s.Empty(), Beside: s.Action != "" || len(s.Facts) > 0,
	}
	room := maxTermBytes
	take := func(text string) {
		if text != "" && room > 0 {
			q.Terms = append(q.Terms, text)
			room -= len(text)
		}
	}
	take(s.Action)
	for _, name := range slices.Sorted(maps.Keys(s.Facts)) {
		take(name)
		if text, ok := s.Facts[name].(string); ok && len(s.Files) == 0 {
			take(text)
		}
	}
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
