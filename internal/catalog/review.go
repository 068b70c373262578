package catalog

import (
	"context"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/lint"
	"tenet/internal/rule"
)

// Tester tries the test cases of a rule on words that it does not have yet; sandbox.Confirmed does.
type Tester interface {
	// TryConfirmed tries the test cases of r that a person stands by on r as it is given, stores nothing, and returns how many there
	// are and how many have passed.
	TryConfirmed(ctx context.Context, r rule.Rule) (total, passing int, err error)
}

// Reviewing holds the readers of a revision beside people.
type Reviewing struct {
	// Tester tries the test cases before an approval in a project that demands tests. Without one, their last stored results count.
	Tester Tester
	// Contradicts reports whether two rules contradict each other, and why; nil for no comparison.
	Contradicts func(a, b rule.Rule) (reason string, confidence float64, ok bool)
}

// compared is how many rules with words in common a revision is compared with.
const compared = 20

// review adds to a revision that waits what is derived from it and from the rules as they are.
func (c *Catalog) review(view *corpus.View, r *rule.Revision, proposed *rule.Rule) {
	if r.State != rule.RevisionPending {
		return
	}
	current, ok := view.Rule(r.RuleID)
	r.Stale = !ok || current.Version != r.BaseVersion
	r.Findings = lint.Statement(proposed.Statement, proposed.Modality)
	r.Conflicts = nil
	if c.reviewing.Contradicts == nil {
		return
	}
	words := strings.ReplaceAll(proposed.Statement, `"`, " ") // a statement is no query: its quotation marks ask for nothing
	hits, _ := view.Keyword(words, corpus.Filter{Statuses: []rule.Status{rule.Approved, rule.Effective}}, 0, compared)
	for _, h := range hits {
		other := h.Entry.Rule
		if other.ID == r.RuleID {
			continue
		}
		if reason, _, ok := c.reviewing.Contradicts(*proposed, *other); ok {
			r.Conflicts = append(r.Conflicts, rule.RevisionConflict{RuleID: other.ID, Slug: other.Slug, Statement: other.Statement, Reason: reason})
		}
	}
}

// trial is the result of the test cases on the content of a revision.
type trial struct {
	hash           string
	total, passing int
}

func (t *trial) err(projectID string) error {
	switch {
	case t.total == 0:
		return rule.Errorf(rule.CodeConflict, "project %q demands that test cases pass, and the rule has none that a person stands by; add or confirm some", projectID)
	case t.passing < t.total:
		return rule.Errorf(rule.CodeConflict,
			"project %q demands that test cases pass; of %d, %d pass on the revision: change the cases, or reject it", projectID, t.total, t.passing)
	}
	return nil
}

// try tries the test cases on a revision before the transaction that approves it, since a model may be asked; nil if nobody demands it.
func (s *Revisions) try(ctx context.Context, projectID, ref string, number int) (*trial, error) {
	project, err := s.c.store.Projects.Get(ctx, projectID)
	if err != nil || !project.TestsRequired || s.c.reviewing.Tester == nil {
		return nil, err
	}
	current, err := s.c.Get(ctx, projectID, ref)
	if err != nil {
		return nil, err
	}
	r, err := s.c.store.Revisions.Get(ctx, projectID, current.ID, number)
	if err != nil || r.State != rule.RevisionPending || r.BaseVersion != current.Version || current.Status != rule.Effective {
		return nil, err // the transaction refuses it
	}
	t := &trial{hash: r.Rule.ContentHash()}
	t.total, t.passing, err = s.c.reviewing.Tester.TryConfirmed(ctx, r.Rule)
	return t, err
}
