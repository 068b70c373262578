// Package conflict finds rules that contradict each other, as they are created and changed, raises alerts about them, and stores the
// decisions of people. It compares rules that are near each other in the corpus view, by the tests of package contradict and, if one
// is configured, by a model.
//
// A conflict is suggested until a reviewer confirms it, which makes a CONFLICTS_WITH relationship, or rejects it. A rejected one comes
// back only after one of the rules has changed. It is closed when a rule is retired or superseded, or the contradiction has ended.
package conflict

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/conflict/contradict"
	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/llm"
	"tenet/internal/norm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// States are the states of a conflict, in the order they are shown in.
var States = []string{store.ConflictSuggested, store.ConflictConfirmed, store.ConflictRejected, store.ConflictClosed}

// Store is the part of the database that this package uses.
type Store struct {
	store.Updater
	Conflicts store.ConflictReader
	Rules     store.RuleReader
}

// Config sets up [New]. Store, Views, Queue, Logger and Now are required.
type Config struct {
	Store  Store
	Views  corpus.LiveViews
	Queue  job.Queue // of the jobs that Find does
	Logger *slog.Logger
	Now    func() time.Time
	// Model compares near rules in which the tests find nothing; nil without a model.
	Model llm.Model
	// Embedder makes the vectors of rules that have none yet; with nil, near rules are found by words and by existing vectors.
	Embedder llm.Embedder
	// Raise raises an alert in the transaction of its cause, unless one is open for the rule; nil means no alerts.
	Raise func(ctx context.Context, tx store.Tx, a rule.Alert) error
	// Settle resolves an open alert of a type and rule because its condition has ended; nil means no alerts.
	Settle func(ctx context.Context, tx store.Tx, projectID string, t rule.AlertType, ruleID, note string) error
	// MaxOfRule and MaxOfProject bound the suggested conflicts; 0 means the constants of these names.
	MaxOfRule, MaxOfProject int
}

// Conflicts finds and stores the conflicts of rules.
type Conflicts struct {
	cfg      Config
	redactor *redact.Redactor
	cleared  cleared
}

// New makes Conflicts.
func New(cfg Config) *Conflicts {
	cfg.MaxOfRule, cfg.MaxOfProject = cmp.Or(cfg.MaxOfRule, MaxOfRule), cmp.Or(cfg.MaxOfProject, MaxOfProject)
	return &Conflicts{cfg: cfg, redactor: redact.New()}
}

// Filter selects conflicts; empty fields select everything.
type Filter struct {
	State         string
	Rule          string // id or slug of either rule
	FoundBy       string
	MinConfidence float64
	SeverityMin   rule.Severity // of either rule
	Text          string        // in either statement or slug, or the reason, in any letter case
}

// List returns a page of conflicts, newest first, how many match, and how many contradictions of the rule that was asked for, or else of the project, are
// left out because of the bounds; not_found for an unknown rule.
func (b *Conflicts) List(ctx context.Context, projectID string, f Filter, offset, limit int) (list []wire.Conflict, total, leftOut int, err error) {
	view, err := b.cfg.Views.View(ctx, projectID)
	if err != nil {
		return nil, 0, 0, err
	}
	q := store.ConflictFilter{ProjectID: projectID, FoundBy: f.FoundBy, MinConfidence: f.MinConfidence, SeverityMin: f.SeverityMin, Text: f.Text, Offset: offset, Limit: limit}
	if f.State != "" {
		q.States = []string{f.State}
	}
	if f.Rule != "" {
		e, ok := view.Get(f.Rule)
		if !ok {
			return nil, 0, 0, rule.NotFound("rule", f.Rule)
		}
		q.RuleID = e.Rule.ID
	}
	stored, total, err := b.cfg.Store.Conflicts.Find(ctx, q)
	if err != nil {
		return nil, 0, 0, err
	}
	list = make([]wire.Conflict, len(stored))
	for i := range stored {
		list[i] = shown(view, &stored[i])
	}
	leftOut, err = b.cfg.Store.Conflicts.LeftOut(ctx, projectID, q.RuleID)
	return list, total, leftOut, err
}

// Get returns a conflict, or not_found.
func (b *Conflicts) Get(ctx context.Context, projectID, id string) (wire.Conflict, error) {
	c, err := b.cfg.Store.Conflicts.Get(ctx, projectID, id)
	if err != nil {
		return wire.Conflict{}, err
	}
	view, err := b.cfg.Views.View(ctx, projectID)
	return shown(view, &c), err
}

// Open returns the conflicts of a rule that are suggested or confirmed, oldest first.
func (b *Conflicts) Open(ctx context.Context, projectID, ruleID string) ([]store.Conflict, error) {
	all, err := b.cfg.Store.Conflicts.OfRules(ctx, projectID, []string{ruleID})
	out := all[:0]
	for i := range all {
		if isOpen(&all[i]) {
			out = append(out, all[i])
		}
	}
	return out, err
}

func isOpen(c *store.Conflict) bool {
	return c.State == store.ConflictSuggested || c.State == store.ConflictConfirmed
}

func shown(view *corpus.View, c *store.Conflict) wire.Conflict {
	one, _ := view.Rule(c.RuleID)
	other, _ := view.Rule(c.OtherID)
	return shownWith(c, one, other)
}

// shownWith is a conflict with its rules as they are given; nil for one that the view does not have yet.
func shownWith(c *store.Conflict, one, other *rule.Rule) wire.Conflict {
	out := wire.Conflict{
		ID: c.ID, ProjectID: c.ProjectID, State: c.State, Rule: sideOf(one, c.RuleID), Other: sideOf(other, c.OtherID), FoundBy: c.FoundBy,
		Reason: c.Reason, Confidence: c.Confidence, DetectedAt: c.DetectedAt, DecidedAt: c.DecidedAt, DecidedBy: c.DecidedBy, Note: c.Note,
		RelationshipID: c.RelationshipID,
	}
	if one != nil && other != nil && c.State != store.ConflictClosed {
		marks := contradict.Marks(one, other)
		out.Rule.Pieces, out.Other.Pieces = pieces(one.Statement, marks[0]), pieces(other.Statement, marks[1])
	}
	return out
}

// sideOf is one rule of a conflict. Rules are never deleted, so that a view has all but those made a moment ago elsewhere, which are nil.
func sideOf(r *rule.Rule, id string) wire.ConflictSide {
	if r == nil {
		return wire.ConflictSide{ID: id, Pieces: []wire.TextPiece{}}
	}
	return wire.ConflictSide{
		ID: id, Slug: r.Slug, Version: r.Version, Statement: r.Statement, Modality: r.Modality, Severity: r.Severity, Status: r.Status,
		Pieces: pieces(r.Statement, nil),
	}
}

// pieces divides a statement into pieces by the spans that clash, which are in order and apart.
func pieces(statement string, clash []norm.Span) []wire.TextPiece {
	out := make([]wire.TextPiece, 0, 2*len(clash)+1)
	add := func(text string, clash bool) {
		if text != "" {
			out = append(out, wire.TextPiece{Text: text, Clash: clash})
		}
	}
	at := 0
	for _, s := range clash {
		add(statement[at:s.From], false)
		add(statement[s.From:s.To], true)
		at = s.To
	}
	add(statement[at:], false)
	return out
}

// instant is the current time as it is stored.
func (b *Conflicts) instant() time.Time { return rule.Instant(b.cfg.Now()) }

// maxNote bounds the note of a decision, in characters.
const maxNote = 2000

// Confirm confirms a suggested conflict, and makes a CONFLICTS_WITH relationship unless the rules have one. To confirm it again
// changes nothing. The error is conflict if it has been rejected or closed or a rule is no longer current, not_found without it.
func (b *Conflicts) Confirm(ctx context.Context, projectID, id, note string) (wire.Conflict, error) {
	return b.decide(ctx, projectID, id, note, store.ConflictConfirmed)
}

// Reject records that two rules do not contradict each other: they are not suggested again until one of them changes. To reject
// again changes nothing. Errors are as of [Conflicts.Confirm].
func (b *Conflicts) Reject(ctx context.Context, projectID, id, note string) (wire.Conflict, error) {
	return b.decide(ctx, projectID, id, note, store.ConflictRejected)
}

// Reopen takes back the rejection of a conflict: it is suggested again. To reopen a suggested one changes nothing. The error is conflict
// if it has been confirmed or closed or a rule is no longer as it was rejected with, not_found without it.
func (b *Conflicts) Reopen(ctx context.Context, projectID, id string) (wire.Conflict, error) {
	var opened store.Conflict
	err := b.cfg.Store.Update(ctx, func(tx store.Tx) error {
		c, err := tx.Conflicts.Get(ctx, projectID, id)
		opened = c
		if err != nil || c.State == store.ConflictSuggested {
			return err
		}
		if c.State != store.ConflictRejected {
			return rule.Errorf(rule.CodeConflict, "the conflict is %s; only a rejected one can be opened again", c.State)
		}
		rules, err := tx.Rules.GetMany(ctx, projectID, []string{c.RuleID, c.OtherID})
		if err != nil {
			return err
		}
		for id, hash := range map[string]string{c.RuleID: c.RuleHash, c.OtherID: c.OtherHash} {
			if r, ok := rules[id]; !ok || !current(&r) || r.ContentHash() != hash {
				return rule.Errorf(rule.CodeConflict, "a rule of the conflict has changed since it was rejected; the server compares them again")
			}
		}
		c.State, c.DecidedAt, c.DecidedBy, c.Note = store.ConflictSuggested, nil, "", ""
		if err := tx.Conflicts.Update(ctx, c); err != nil {
			return err
		}
		if err := b.raise(ctx, tx, &c, rules); err != nil {
			return err
		}
		opened = c
		return audit.Append(ctx, tx, projectID, audit.Record{
			Kind: audit.KindConflict, At: b.instant(), Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(map[string]any{
				"action": "reopened", "conflict_id": c.ID, "rule_id": c.RuleID, "other_rule_id": c.OtherID,
			}),
		})
	})
	if err != nil {
		return wire.Conflict{}, err
	}
	view, err := b.cfg.Views.Refresh(context.WithoutCancel(ctx), projectID)
	return shown(view, &opened), err
}

func (b *Conflicts) decide(ctx context.Context, projectID, id, note, to string) (wire.Conflict, error) {
	if n := len([]rune(note)); n > maxNote {
		var p rule.Problems
		p.Add("note", "has %d characters; at most %d are allowed", n, maxNote)
		return wire.Conflict{}, p.Err("the decision is invalid")
	}
	var decided store.Conflict
	err := b.cfg.Store.Update(ctx, func(tx store.Tx) error {
		c, err := tx.Conflicts.Get(ctx, projectID, id)
		decided = c
		if err != nil || c.State == to {
			return err
		}
		if c.State != store.ConflictSuggested {
			return rule.Errorf(rule.CodeConflict, "the conflict is %s; only a suggested one can be decided", c.State)
		}
		now := b.instant()
		c.State, c.DecidedAt, c.DecidedBy, c.Note = to, &now, auth.ActorFrom(ctx).Name, note
		if to == store.ConflictConfirmed {
			if err := b.relate(ctx, tx, &c); err != nil {
				return err
			}
		}
		if err := tx.Conflicts.Update(ctx, c); err != nil {
			return err
		}
		if err := b.settle(ctx, tx, projectID, c.RuleID); err != nil {
			return err
		}
		decided = c
		return audit.Append(ctx, tx, projectID, audit.Record{
			Kind: audit.KindConflict, At: now, Actor: c.DecidedBy, Body: audit.JSON(map[string]any{
				"action": to, "conflict_id": c.ID, "rule_id": c.RuleID, "other_rule_id": c.OtherID, "reason": c.Reason, "found_by": c.FoundBy,
				"confidence": c.Confidence, "note": note, "relationship_id": c.RelationshipID,
			}),
		})
	})
	if err != nil {
		return wire.Conflict{}, err
	}
	view, err := b.cfg.Views.Refresh(context.WithoutCancel(ctx), projectID)
	return shown(view, &decided), err
}

// relate makes the relationship of a conflict that is confirmed.
func (b *Conflicts) relate(ctx context.Context, tx store.Tx, c *store.Conflict) error {
	rules, err := tx.Rules.GetMany(ctx, c.ProjectID, []string{c.RuleID, c.OtherID})
	if err != nil {
		return err
	}
	for _, r := range rules {
		if !current(&r) {
			return rule.Errorf(rule.CodeConflict, "rule %s is %s; the conflict is about to be closed", r.ID, r.Status)
		}
	}
	rels, err := tx.Rules.Relationships(ctx, c.ProjectID, c.RuleID)
	if err != nil {
		return err
	}
	for _, rel := range rels {
		if rel.Kind == rule.ConflictsWith && (rel.FromID == c.OtherID || rel.ToID == c.OtherID) {
			return nil // a person has made it, and may remove it
		}
	}
	cv, err := tx.Projects.RaiseCorpus(ctx, c.ProjectID)
	if err != nil {
		return err
	}
	rel := rule.Relationship{
		ID: audit.NewID(), FromID: c.RuleID, ToID: c.OtherID, Kind: rule.ConflictsWith, Reason: c.Reason, CreatedAt: *c.DecidedAt, CreatedBy: c.DecidedBy,
	}
	c.RelationshipID = rel.ID
	if err := tx.Rules.InsertRelationship(ctx, c.ProjectID, cv, rel); err != nil {
		return err
	}
	return noteRelationship(ctx, tx, c.ProjectID, "created", c.DecidedBy, *c.DecidedAt, rel)
}

// settle resolves the alert of a rule that brings no conflict any more.
func (b *Conflicts) settle(ctx context.Context, tx store.Tx, projectID, ruleID string) error {
	if b.cfg.Settle == nil {
		return nil
	}
	all, err := tx.Conflicts.OfRules(ctx, projectID, []string{ruleID})
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].RuleID == ruleID && isOpen(&all[i]) {
			return nil
		}
	}
	return b.cfg.Settle(ctx, tx, projectID, rule.ConflictDetected, ruleID, "the rule is in no conflict any more that it has brought")
}

// current reports whether a rule is, or may come, in force.
func current(r *rule.Rule) bool { return r.Status != rule.Retired && r.Status != rule.Superseded }
