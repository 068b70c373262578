package evaluate

import (
	"context"
	"slices"
	"sync"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// selection holds the rules of an evaluation.
type selection struct {
	inScope    int
	chosen     []chosen // without those that others override and those set aside
	aside      []aside
	overridden []rule.Overridden
	// notAsked are the places of the rules that only a model can decide, beyond max_rules.
	notAsked []int
	// silencers are the rules that override others because they may concern the subject.
	silencers map[string]bool
	// triagedOut counts the rules that triage has ruled out.
	triagedOut int
}

// chosen is a rule that applies, with the outcome of its check, if the check has run.
type chosen struct {
	corpus.Match
	program *check.Program
	fault   error // the check does not compile
	outcome check.Outcome
	ran     bool
}

// selectRules finds the rules that apply, best ranked first, runs all of their checks, and takes out the rules that others
// override.
func (r *run) selectRules(ctx context.Context) error {
	return through(ctx, r.match, r.runChecks, noticing(r), r.silence)
}

// match finds the rules that apply, best ranked first.
func (r *run) match(context.Context) error {
	r.query = queryOf(r)
	matches, overridden := r.within.Split(r.view.Applicable(r.query))
	r.room = takeRoom(len(matches))
	r.sel = selection{inScope: len(matches), overridden: orEmpty(overridden), chosen: r.room.chosen}
	for i := range matches {
		r.sel.chosen[i].Match = matches[i]
	}
	return nil
}

// room is memory for the rules of an evaluation, which the next evaluation uses again: it is most of what one would allocate.
type room struct {
	chosen   []chosen         // all that apply
	listed   []chosen         // those that are not set aside, and those that the answer lists nevertheless
	aside    []aside          // the others
	accounts []ledger.Account // of the listed
}

// maxRoom bounds the rules for which memory is kept.
const maxRoom = 1000

var rooms = sync.Pool{New: func() any { return new(room) }}

// takeRoom returns empty room for n rules.
func takeRoom(n int) *room {
	out, _ := rooms.Get().(*room)
	out.chosen = slices.Grow(out.chosen[:0], n)[:n]
	return out
}

// leaveRoom gives the room of an evaluation that has been answered to others. A model that was asked may still answer.
func leaveRoom(r *run) {
	if r.room == nil || cap(r.room.chosen) > maxRoom || len(r.open)+len(r.sel.notAsked)+r.sel.triagedOut > 0 {
		return
	}
	clear(r.room.chosen)
	clear(r.room.listed[:cap(r.room.listed)])
	clear(r.room.aside[:cap(r.room.aside)])
	clear(r.room.accounts[:cap(r.room.accounts)])
	rooms.Put(r.room)
	r.room, r.sel, r.accounts = nil, selection{}, nil
}

// silence takes out the rules that others override, and names both.
func (r *run) silence(context.Context) error {
	r.notices = append(r.notices, r.sel.silence(r.query)...)
	slug := func(id string) string {
		if found, ok := r.view.Rule(id); ok {
			return found.Slug
		}
		return ""
	}
	for i := range r.sel.overridden {
		o := &r.sel.overridden[i]
		o.RuleSlug, o.OverriddenBySlug = slug(o.RuleID), slug(o.OverriddenBy)
	}
	return nil
}

// silence takes out the rules that others override, and returns a notice for each that a weaker rule would have overridden. A rule that
// does not concern the subject overrides nothing.
func (sel *selection) silence(q *corpus.Query) []string {
	related := 0
	for i := range sel.chosen {
		related += len(sel.chosen[i].Relationships)
	}
	if related == 0 {
		return nil
	}
	matches := make([]corpus.Match, len(sel.chosen))
	for i := range sel.chosen {
		matches[i] = sel.chosen[i].Match
	}
	by, refused := corpus.Silencers(q, matches, func(i int) bool {
		c := &sel.chosen[i]
		return !c.ran || c.outcome.Result != check.NotConcerned
	})
	if !slices.ContainsFunc(by, func(silencer int) bool { return silencer >= 0 }) {
		return refusedNotices(matches, refused)
	}
	remaining := make([]chosen, 0, len(sel.chosen))
	sel.silencers = map[string]bool{}
	for i, c := range sel.chosen {
		if by[i] < 0 {
			remaining = append(remaining, c)
			continue
		}
		sel.silencers[matches[by[i]].Rule.ID] = true
		sel.overridden = append(sel.overridden, rule.Overridden{RuleID: c.Rule.ID, OverriddenBy: matches[by[i]].Rule.ID})
	}
	sel.chosen = remaining
	return refusedNotices(matches, refused)
}

// runChecks runs the checks of the chosen rules, each on the part of the subject that its rule concerns.
func (r *run) runChecks(ctx context.Context) error {
	all := r.sel.chosen
	r.e.cfg.Checks.Compiled(len(all), func(i int) *rule.Check { return all[i].Rule.Check }, func(i int, p *check.Program, fault error) {
		all[i].program, all[i].fault = p, fault
	})
	var checks []*rule.Check // that are not compiled yet
	var places []int
	for i := range all {
		if c := &all[i]; c.program == nil && c.fault == nil && c.Rule.Check != nil {
			checks, places = append(checks, c.Rule.Check), append(places, i)
		}
	}
	if len(checks) > 0 {
		programs, faults := r.e.cfg.Checks.GetAll(checks)
		for k, i := range places {
			all[i].program, all[i].fault = programs[k], faults[k]
		}
	}
	for i := range r.sel.chosen {
		if c := &r.sel.chosen[i]; c.program != nil {
			c.outcome, c.ran = c.program.Run(ctx, r.part(c.Entry).checked), true
		}
	}
	return nil
}

// toolOf returns the tool of a tool call; nil for other subjects.
func toolOf(s *subject.Subject) *corpus.Tool {
	if !s.Is(subject.ToolCall) {
		return nil
	}
	return toolIn(s.Facts)
}

// toolIn returns the tool that the facts of a tool call name.
func toolIn(facts map[string]any) *corpus.Tool {
	var t corpus.Tool
	t.Server, _ = facts["server"].(string)
	t.Name, _ = facts["tool"].(string)
	return &t
}

// queryOf describes the subject for the selection.
func queryOf(r *run) *corpus.Query {
	s := r.subject
	q := &corpus.Query{
		Now: r.start, Within: r.within, Scope: s.Scope, Repository: s.Repository, SeverityMin: r.req.SeverityMin, Kinds: s.Kinds,
		AnyKind: s.Empty(), AnyPath: s.Empty(), Tool: toolOf(s), Beside: s.Action != "" || len(s.Facts) > 0,
	}
	for i := range s.Files {
		f := &s.Files[i]
		q.Paths = append(q.Paths, f.Path)
		q.Paths = append(q.Paths, f.Others...)
		if f.NamesFolder() {
			for _, path := range append([]string{f.Path}, f.Others...) {
				q.Paths = append(q.Paths, path+"/")
			}
		}
		if f.OldPath != "" {
			q.Paths = append(q.Paths, f.OldPath)
		}
	}
	q.Terms, q.Concepts, q.Few = termsOf(s), func() []string { return conceptsOf(s) }, r.req.MaxRules
	return q
}
