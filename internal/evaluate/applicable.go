package evaluate

import (
	"context"
	"slices"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// ApplicableQuery asks which rules would apply. Empty fields leave open what they describe.
type ApplicableQuery struct {
	ProjectID  string
	View       *corpus.View // whose rules may apply instead of the live ones, such as a snapshot's; nil for those
	FilePaths  []string
	Repository string
	Scope      string
	NodeID     string // as in [Request]
	// Kinds are the kinds of a subject without files; empty for one of any kind. FilePaths are left out then.
	Kinds []subject.Kind
}

// Applying finds the rules that apply. Nothing is evaluated.
type Applying struct {
	views corpus.Views
	now   func() time.Time
	uses  useCache
	texts *corpus.Texts
	// checks compiles the checks of rules, for [Applying.Explain].
	checks *check.Cache
}

// maxTexts bounds the memory, in bytes, for the texts of rules that apply.
const maxTexts = 32 << 20

func newApplying(views corpus.Views, checks *check.Cache, now func() time.Time) Applying {
	return Applying{
		views: views, now: now, checks: checks,
		texts: corpus.NewTexts(maxTexts, func(b []byte, r *rule.Rule) []byte { return wire.AppendJSON(b, r, false) }),
	}
}

// Applicable returns the rules that apply, best ranked first, MAY and INFO rules included. They must not be changed.
func (a *Applying) Applicable(ctx context.Context, q ApplicableQuery) ([]*rule.Rule, error) {
	matches, err := a.listed(ctx, q)
	rules := make([]*rule.Rule, len(matches))
	for i, m := range matches {
		rules[i] = m.Rule
	}
	return rules, err
}

// ApplicableTexts is [Applying.Applicable] with the JSON of each rule, not escaped for HTML. It must not be changed.
func (a *Applying) ApplicableTexts(ctx context.Context, q ApplicableQuery) ([][]byte, error) {
	matches, err := a.listed(ctx, q)
	texts := make([][]byte, len(matches))
	for i, m := range matches {
		texts[i] = a.texts.Of(m.Entry)
	}
	return texts, err
}

// listed finds the rules that apply and are not overridden.
func (a *Applying) listed(ctx context.Context, q ApplicableQuery) ([]corpus.Match, error) {
	query, matches, err := a.applicable(ctx, q, true)
	if err != nil {
		return nil, err
	}
	silencers, _ := corpus.Silencers(query, matches, func(int) bool { return true })
	listed := matches[:0]
	for i, m := range matches {
		if silencers[i] < 0 {
			listed = append(listed, m)
		}
	}
	return listed, nil
}

// applicable finds the rules that apply, also those that others override; MAY and INFO rules only if withContext is true.
func (a *Applying) applicable(ctx context.Context, q ApplicableQuery, withContext bool) (*corpus.Query, []corpus.Match, error) {
	view, query, err := a.query(ctx, &q)
	if err != nil {
		return nil, nil, err
	}
	query.Context = withContext
	matches, _ := query.Within.Split(view.Applicable(query))
	return query, matches, nil
}

// query returns the rules that the question is about, and the selection among them.
func (a *Applying) query(ctx context.Context, q *ApplicableQuery) (*corpus.View, *corpus.Query, error) {
	var p rule.Problems
	q.Scope, q.Repository = cleanScope(&p, q.Scope), cleanRepository(&p, q.Repository)
	if err := p.Err("the question is invalid"); err != nil {
		return nil, nil, err
	}
	view := q.View
	if view == nil {
		var err error
		if view, err = a.views.View(ctx, q.ProjectID); err != nil {
			return nil, nil, err
		}
	}
	now := a.now()
	nodeID, err := limitNode(ctx, view, q.NodeID, q.Repository)
	if err != nil {
		return nil, nil, err
	}
	q.NodeID = nodeID
	within, err := withinNode(view, q.NodeID, q.Repository, now)
	if err != nil {
		return nil, nil, err
	}
	query := corpus.Query{
		Now: now, Scope: q.Scope, Repository: q.Repository, Within: within,
		AnyKind: len(q.FilePaths) == 0, AnyPath: len(q.FilePaths) == 0, Paths: q.FilePaths, Terms: q.FilePaths,
		Kinds: []subject.Kind{subject.CodeChange},
	}
	if len(q.Kinds) > 0 {
		query.Kinds, query.AnyKind, query.AnyPath, query.Beside, query.Paths, query.Terms = q.Kinds, false, false, true, nil, nil
		query.AnyTool = slices.Contains(q.Kinds, subject.ToolCall)
	}
	return view, &query, nil
}
