package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/change"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// errWaits ends a change of a rule that a revision has been stored for instead.
var errWaits = errors.New("the change waits for the approval of a second person")

// maxPending bounds the revisions of one project that wait at a time: no reviewer reads more, and each is held whole.
const maxPending = 10_000

// waits reports whether a change of what a rule says must wait for a second person.
func waits(project rule.Project, s rule.Status) bool {
	return project.TwoPerson && (s == rule.Approved || s == rule.Effective)
}

// proposal is a change of a rule in force that is to wait.
type proposal struct {
	current, next rule.Rule
	// relationships are those that would go out from the rule; nil leaves them as they are.
	relationships []wire.RelationshipInput
	before        []wire.RelationshipInput // those that go out now, if relationships is not nil
	note          string
}

// changes lists the fields that the proposal changes.
func (p *proposal) changes() []rule.FieldChange {
	list := rule.Diff(p.current, p.next)
	if p.relationships != nil {
		list = append(list, rule.FieldChange{Field: "relationships", Before: marshalled(p.before), After: marshalled(p.relationships)})
	}
	return list
}

func marshalled(list []wire.RelationshipInput) json.RawMessage {
	b, err := json.Marshal(list)
	if err != nil {
		panic("catalog: relationships must encode as JSON: " + err.Error())
	}
	return b
}

// propose stores a revision that waits for a second person, in place of those of the same author that wait. The same proposal again
// changes nothing: it returns the waiting revision, and false.
func propose(ctx context.Context, ch *change.Change, p *proposal) (rule.Revision, bool, error) {
	if err := mayBeProposed(ctx, ch, p); err != nil {
		return rule.Revision{}, false, err
	}
	own, _, err := ch.Tx.Revisions.List(ctx, ch.Project.ID,
		store.RevisionFilter{RuleIDs: []string{p.current.ID}, State: rule.RevisionPending, Author: ch.By}, 0, maxPending)
	if err != nil {
		return rule.Revision{}, false, err
	}
	for i := range own {
		if own[i].BaseVersion == p.current.Version && len(rule.Diff(own[i].Rule, p.next)) == 0 && sameWanted(own[i].Relationships, p.relationships) {
			return own[i].Revision, false, nil
		}
	}
	if err := decideAll(ctx, ch, own, rule.RevisionReplaced, ""); err != nil {
		return rule.Revision{}, false, err
	}
	if _, waiting, err := ch.Tx.Revisions.List(ctx, ch.Project.ID, store.RevisionFilter{State: rule.RevisionPending}, 0, 0); err != nil || waiting >= maxPending {
		return rule.Revision{}, false, errors.Join(err, rule.Errorf(rule.CodeConflict,
			"%d revisions of project %q wait already; approve, reject or withdraw some", waiting, ch.Project.ID))
	}
	r := store.Revision{
		ProjectID: ch.Project.ID, Rule: p.next, Relationships: p.relationships,
		Revision: rule.Revision{
			RuleID: p.current.ID, Slug: p.current.Slug, State: rule.RevisionPending, BaseVersion: p.current.Version,
			Severity: higher(p.current.Severity, p.next.Severity), Author: ch.By, At: ch.At, Note: p.note, Changes: p.changes(), Weakens: p.next.Loosens(&p.current),
		},
	}
	r.Rule.Version, r.Rule.AuthoredBy, r.Rule.ChangeNote = p.current.Version+1, ch.By, p.note
	if r.Number, err = ch.Tx.Revisions.Insert(ctx, r); err != nil {
		return rule.Revision{}, false, err
	}
	return r.Revision, true, noteRevision(ctx, ch, "revision proposed", &r)
}

func higher(a, b rule.Severity) rule.Severity {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}

// mayBeProposed refuses what nobody could approve, and a revision that demands less of what is CRITICAL or HIGH without saying why.
func mayBeProposed(ctx context.Context, ch *change.Change, p *proposal) error {
	if p.next.Slug != "" && p.next.Slug != p.current.Slug {
		switch other, err := ch.Tx.Rules.Get(ctx, ch.Project.ID, p.next.Slug); {
		case err == nil && other.ID != p.current.ID:
			return rule.Errorf(rule.CodeConflict, "the slug %q belongs to the rule %s; choose another", p.next.Slug, other.ID)
		case err != nil && rule.CodeOf(err) != rule.CodeNotFound:
			return err
		}
	}
	if p.relationships != nil {
		// The relationships are made and the guards of each asked again at the approval; its author learns of a wrong one now.
		for i, w := range p.relationships {
			if _, err := newRelationship(ctx, ch, p.next, w); err != nil {
				return atRelationship(i, err)
			}
		}
	}
	ways := p.next.Loosens(&p.current)
	if len(ways) == 0 || p.current.Severity.Rank() < rule.High.Rank() || strings.TrimSpace(p.note) != "" {
		return nil
	}
	var problems rule.Problems
	problems.Add("change_note", "is missing; the rule is %s and would demand less (%s): say why", p.current.Severity, strings.Join(ways, ", "))
	return problems.Err("the revision is invalid")
}

// sameWanted reports whether two lists of relationships demand the same.
func sameWanted(a, b []wire.RelationshipInput) bool {
	return (a == nil) == (b == nil) && slices.Equal(a, b)
}

// decideAll ends the waiting of revisions.
func decideAll(ctx context.Context, ch *change.Change, list []store.Revision, to rule.RevisionState, note string) error {
	for i := range list {
		r := &list[i]
		r.State, r.DecidedAt, r.DecidedBy, r.Decision = to, &ch.At, ch.By, note
		if err := ch.Tx.Revisions.Decide(ctx, *r); err != nil {
			return err
		}
		if err := noteRevision(ctx, ch, "revision "+string(to), r); err != nil {
			return err
		}
	}
	return nil
}

// dropRevisions drops the revisions that wait of rules that have ended.
func dropRevisions(ctx context.Context, ch *change.Change, ruleIDs []string) error {
	if len(ruleIDs) == 0 {
		return nil
	}
	list, _, err := ch.Tx.Revisions.List(ctx, ch.Project.ID, store.RevisionFilter{RuleIDs: ruleIDs, State: rule.RevisionPending}, 0, maxPending)
	if err != nil {
		return err
	}
	return decideAll(ctx, ch, list, rule.RevisionDropped, "the rule has ended")
}

// noteRevision records a step of a revision. The proposed rule is in the record of its proposal, and in that of its approval as the new version.
func noteRevision(ctx context.Context, ch *change.Change, action string, r *store.Revision) error {
	switch r.State {
	case rule.RevisionPending:
		ch.Event(rule.EventRevisionProposed, &r.Rule, r.Revision)
	case rule.RevisionRejected:
		ch.Event(rule.EventRevisionRejected, &r.Rule, r.Revision)
	case rule.RevisionApproved, rule.RevisionWithdrawn, rule.RevisionReplaced, rule.RevisionDropped:
	}
	body := map[string]any{"action": action, "revision": r.Revision}
	if r.State == rule.RevisionPending {
		body["proposed"] = r.Rule
	}
	return ch.Note(ctx, audit.KindRule, body)
}

// Revisions decides on the revisions of rules.
type Revisions struct{ c *Catalog }

// NewRevisions returns the Revisions of the rules of a catalog, which has them looked at by r from then on.
func NewRevisions(c *Catalog, r Reviewing) *Revisions {
	c.reviewing = r
	return &Revisions{c: c}
}

// List returns a page of the revisions of a project, those proposed first before others, and their total; only those of a rule if
// ref is not empty, and in a state if that is not empty.
func (s *Revisions) List(ctx context.Context, projectID, ref string, state rule.RevisionState, p rule.Page) ([]wire.RevisionDetail, int, error) {
	f := store.RevisionFilter{State: state}
	if ref != "" {
		r, err := s.c.Get(ctx, projectID, ref)
		if err != nil {
			return nil, 0, err
		}
		f.RuleIDs = []string{r.ID}
	} else if _, err := s.c.store.Projects.Get(ctx, projectID); err != nil {
		return nil, 0, err
	}
	view, err := s.c.views.View(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	list, total, err := s.c.store.Revisions.List(ctx, projectID, f, p.Offset(), p.Size)
	out := make([]wire.RevisionDetail, len(list))
	for i := range list {
		out[i] = wire.RevisionDetail{Revision: list[i].Revision, Rule: list[i].Rule}
		s.c.review(view, &out[i].Revision, &out[i].Rule)
	}
	return out, total, err
}

// Approve puts a waiting revision into force as the next version of its rule. The error is not_found without it, and conflict if it does not
// wait any more, if its rule has changed since, if the caller is its author, or if the project's test cases do not pass on it.
func (s *Revisions) Approve(ctx context.Context, projectID, ref string, number int, note string) (rule.Rule, error) {
	if err := validNote(note); err != nil {
		return rule.Rule{}, err
	}
	tried, err := s.try(ctx, projectID, ref, number)
	if err != nil {
		return rule.Rule{}, err
	}
	var result rule.Rule
	err = s.c.changes.Run(ctx, projectID, func(ch *change.Change) error {
		current, r, err := waiting(ctx, ch.Tx, projectID, ref, number)
		if err != nil {
			return err
		}
		if err := mayBeApproved(ctx, ch, &current, &r, tried); err != nil {
			return err
		}
		next := r.Rule.Clone()
		next.Status, next.UpdatedAt, next.UpdatedBy = current.Status, ch.At, ch.By
		if err := ch.Tx.Rules.Update(ctx, ch.Version, []rule.Rule{next}); err != nil {
			return err
		}
		if _, err := relateAs(ctx, ch, next, r.Relationships); err != nil {
			return err
		}
		r.State, r.DecidedAt, r.DecidedBy, r.Decision, r.Version = rule.RevisionApproved, &ch.At, ch.By, strings.TrimSpace(note), next.Version
		if err := ch.Tx.Revisions.Decide(ctx, r); err != nil {
			return err
		}
		result = next
		ch.Event(rule.EventRevisionApproved, &next, r.Revision)
		return ch.Note(ctx, audit.KindRule, map[string]any{
			"action": "revision approved", "rule": next, "before_version": current.Version, "changed": rule.Diff(current, next), "revision": r.Revision,
		})
	})
	return result, err
}

// mayBeApproved refuses an approval that the life of the rule, the demands of the project or the laws of rules do not allow.
func mayBeApproved(ctx context.Context, ch *change.Change, current *rule.Rule, r *store.Revision, tried *trial) error {
	switch {
	case ch.Project.TwoPerson && r.Author == ch.By:
		return rule.Errorf(rule.CodeConflict, "project %q demands approval by a second person; %s proposed this revision", ch.Project.ID, ch.By)
	case r.BaseVersion != current.Version:
		return rule.Errorf(rule.CodeConflict, "revision %d changes version %d of the rule, which is at version %d now; rebase it: its author proposes the change again on that version",
			r.Number, r.BaseVersion, current.Version)
	case current.Status != rule.Approved && current.Status != rule.Effective:
		return rule.Errorf(rule.CodeConflict, "the rule is %s now, and can be revised directly; withdraw or reject the revision", current.Status)
	}
	if err := validate(&r.Rule); err != nil {
		return err
	}
	if ch.Project.TestsRequired && current.Status == rule.Effective {
		if tried != nil && tried.hash == r.Rule.ContentHash() {
			return tried.err(ch.Project.ID)
		}
		return testsPass(ctx, ch.Tx, &r.Rule)
	}
	return nil
}

// Reject ends the waiting of a revision of another person: it never comes into force. The error is as in [Revisions.Approve]; a note is needed.
func (s *Revisions) Reject(ctx context.Context, projectID, ref string, number int, note string) (rule.Revision, error) {
	if strings.TrimSpace(note) == "" {
		var p rule.Problems
		p.Add("note", "is missing; say to the author why the revision is rejected")
		return rule.Revision{}, p.Err("the rejection is invalid")
	}
	return s.end(ctx, projectID, ref, number, rule.RevisionRejected, note, func(ch *change.Change, r *store.Revision) error {
		if ch.Project.TwoPerson && r.Author == ch.By {
			return rule.Errorf(rule.CodeConflict, "%s proposed this revision, and may withdraw it", ch.By)
		}
		return nil
	})
}

// Withdraw ends the waiting of a revision of the caller's own; conflict for somebody else's.
func (s *Revisions) Withdraw(ctx context.Context, projectID, ref string, number int, note string) (rule.Revision, error) {
	return s.end(ctx, projectID, ref, number, rule.RevisionWithdrawn, note, func(ch *change.Change, r *store.Revision) error {
		if r.Author != ch.By {
			return rule.Errorf(rule.CodeConflict, "%s proposed this revision; only its author withdraws it, others reject it", r.Author)
		}
		return nil
	})
}

// Decline ends the waiting of a revision: its author withdraws it, and others reject it. Errors are as in [Revisions.Reject].
func (s *Revisions) Decline(ctx context.Context, projectID, ref string, number int, note string) (rule.Revision, error) {
	current, err := s.c.Get(ctx, projectID, ref)
	if err != nil {
		return rule.Revision{}, err
	}
	r, err := s.c.store.Revisions.Get(ctx, projectID, current.ID, number)
	if err != nil {
		return rule.Revision{}, err
	}
	if r.Author == auth.ActorFrom(ctx).Name {
		return s.Withdraw(ctx, projectID, ref, number, note)
	}
	return s.Reject(ctx, projectID, ref, number, note)
}

func (s *Revisions) end(ctx context.Context, projectID, ref string, number int, to rule.RevisionState, note string,
	allowed func(*change.Change, *store.Revision) error,
) (rule.Revision, error) {
	if err := validNote(note); err != nil {
		return rule.Revision{}, err
	}
	var ended rule.Revision
	err := s.c.changes.Run(ctx, projectID, func(ch *change.Change) error {
		_, r, err := waiting(ctx, ch.Tx, projectID, ref, number)
		if err != nil {
			return err
		}
		if err := allowed(ch, &r); err != nil {
			return err
		}
		list := []store.Revision{r}
		err = decideAll(ctx, ch, list, to, strings.TrimSpace(note))
		ended = list[0].Revision
		return err
	})
	return ended, err
}

// waiting returns a rule and a revision of it that waits; conflict if it does not wait any more.
func waiting(ctx context.Context, tx store.Tx, projectID, ref string, number int) (rule.Rule, store.Revision, error) {
	current, err := tx.Rules.Get(ctx, projectID, ref)
	if err != nil {
		return current, store.Revision{}, err
	}
	r, err := tx.Revisions.Get(ctx, projectID, current.ID, number)
	if err == nil && r.State != rule.RevisionPending {
		err = rule.Errorf(rule.CodeConflict, "revision %d of the rule is %s already", number, r.State)
	}
	return current, r, err
}

func validNote(note string) error {
	var p rule.Problems
	if len(note) > rule.MaxRationale {
		p.Add("note", "has %d bytes; at most %d are allowed", len(note), rule.MaxRationale)
	}
	return p.Err("the decision is invalid")
}
