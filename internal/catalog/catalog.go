// Package catalog is the life of rules: creating, revising, approving and retiring them, their relationships and
// projects, and import and export. Every change is one transaction that makes a new version, raises the corpus version
// and leaves an entry in the audit chain.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Cases keeps the test cases of rule files with their rules.
type Cases interface {
	// Import does that as part of the transaction in which the rules are written.
	Import(ctx context.Context, tx store.Tx, projectID string, cases []rule.FileCase) (rule.CaseChanges, error)
	// Check returns what Import would find wrong with cases if the project also had the planned rules.
	Check(ctx context.Context, tx store.Tx, projectID string, cases []rule.FileCase, planned []rule.Rule) error
}

// Nodes imports and exports the federation nodes of rule files; hierarchy.Hierarchy does.
type Nodes interface {
	Import(ctx context.Context, ch *change.Change, before *corpus.View, written []rule.Rule, nodes []wire.FileNode, o wire.ImportQuery) (rule.NodesImport, error)
	Export(*corpus.View) []wire.FileNode
}

// Catalog keeps rules.
type Catalog struct {
	store   Store
	views   corpus.Views
	changes *change.Changes
	cases   Cases
	nodes   Nodes
	now     func() time.Time

	reviewing Reviewing
}

// Store has the parts of the database that a catalog uses.
type Store struct {
	store.Updater
	Projects  store.ProjectReader
	Rules     store.RuleReader
	Revisions store.RevisionReader
}

// New returns a Catalog. cases may be nil if no imported file has test cases, and nodes if none has federation nodes.
func New(s Store, views corpus.Views, changes *change.Changes, cases Cases, nodes Nodes, now func() time.Time) *Catalog {
	return &Catalog{store: s, views: views, changes: changes, cases: cases, nodes: nodes, now: now}
}

// List returns a page of a project's rules in an order, and how many match.
func (c *Catalog) List(ctx context.Context, projectID string, f corpus.Filter, o corpus.Order, p rule.Page) ([]rule.Rule, int, error) {
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	entries, total := view.Sorted(f, o, p.Offset(), p.Size)
	rules := make([]rule.Rule, len(entries))
	for i, e := range entries {
		rules[i] = *e.Rule
	}
	return rules, total, nil
}

// Get returns a rule by id or slug.
func (c *Catalog) Get(ctx context.Context, projectID, ref string) (rule.Rule, error) {
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return rule.Rule{}, err
	}
	if e, ok := view.Get(ref); ok {
		return *e.Rule, nil
	}
	return rule.Rule{}, rule.NotFound("rule", ref)
}

// Versions returns a page of a rule's versions, newest first, and their total.
func (c *Catalog) Versions(ctx context.Context, projectID, ref string, p rule.Page) ([]rule.Rule, int, error) {
	r, err := c.Get(ctx, projectID, ref)
	if err != nil {
		return nil, 0, err
	}
	return c.store.Rules.Versions(ctx, projectID, r.ID, p.Offset(), p.Size)
}

// Version returns one version of a rule.
func (c *Catalog) Version(ctx context.Context, projectID, ref string, version int) (rule.Rule, error) {
	r, err := c.Get(ctx, projectID, ref)
	if err != nil {
		return rule.Rule{}, err
	}
	return c.store.Rules.Version(ctx, projectID, r.ID, version)
}

// Create makes a rule from an input. Its status is DRAFT unless the input says otherwise; in a project that demands two
// people it cannot be born approved.
func (c *Catalog) Create(ctx context.Context, projectID string, in wire.RuleInput) (rule.Rule, error) {
	return c.create(ctx, projectID, in, func(store.Tx, rule.Rule) error { return nil })
}

// create makes a rule and calls also in the same transaction.
func (c *Catalog) create(ctx context.Context, projectID string, in wire.RuleInput, also func(store.Tx, rule.Rule) error) (rule.Rule, error) {
	var made rule.Rule
	err := c.changes.Run(ctx, projectID, func(ch *change.Change) error {
		r := newRule(ch, in)
		if err := validate(&r); err != nil {
			return err
		}
		if err := mayBeBorn(ch.Project, r.Status); err != nil {
			return err
		}
		if err := ch.Tx.Rules.Insert(ctx, ch.Version, []rule.Rule{r}); err != nil {
			return err
		}
		if _, err := relate(ctx, ch, r, in.Relationships); err != nil {
			return err
		}
		if err := noteRule(ctx, ch, "created", nil, r); err != nil {
			return err
		}
		made = r
		return also(ch.Tx, r)
	})
	return made, err
}

// Draft returns a rule in its normal form without storing it. The error is the one that [Catalog.Create] would give for what the rule says.
func Draft(in wire.RuleInput) (rule.Rule, error) {
	r := rule.Rule{ID: in.ID, Version: 1}
	r.Assign(&in)
	r.Normalize()
	return r, validate(&r)
}

// newRule makes version 1 of a rule.
func newRule(ch *change.Change, in wire.RuleInput) rule.Rule {
	r := rule.Rule{
		ID: cmp.Or(in.ID, audit.NewID()), ProjectID: ch.Project.ID, Version: 1,
		CreatedAt: ch.At, CreatedBy: ch.By, UpdatedAt: ch.At, UpdatedBy: ch.By, AuthoredBy: ch.By,
	}
	r.Assign(&in)
	r.ChangeNote = in.ChangeNote
	r.Normalize()
	return r
}

// mayBeBorn refuses rules that would be in force without a second person's approval.
func mayBeBorn(project rule.Project, s rule.Status) error {
	if project.TwoPerson && s != rule.Draft && s != rule.Review {
		return rule.Errorf(rule.CodeConflict,
			"project %q demands approval by a second person: create the rule as DRAFT and let somebody else approve it", project.ID)
	}
	if project.TestsRequired && s == rule.Effective {
		return rule.Errorf(rule.CodeConflict,
			"project %q demands that test cases pass: create the rule as DRAFT, give it test cases, run them, and then make it EFFECTIVE", project.ID)
	}
	if s == rule.Superseded || s == rule.Retired {
		return rule.Errorf(rule.CodeInvalid, "a new rule cannot have the status %s", s)
	}
	return nil
}

// Revise changes what a rule says, by edit, and makes a new version. ifVersion, if not 0, must be the current version.
// An edit that changes nothing makes no version. Where two people must agree to a rule in force, a change of what verdicts depend on waits
// for the second: the result is the rule as it is in force, with the revision as Pending. The reason of why becomes the change note; its permission is
// needed to let a rule in force that the weakening guard protects demand less.
func (c *Catalog) Revise(ctx context.Context, projectID, ref string, ifVersion int, why rule.Permission, edit func(*rule.Rule) error) (rule.Rule, error) {
	var pending *store.Revision
	result, err := c.revise(ctx, projectID, ref, ifVersion, "revised", func(ch *change.Change, r *rule.Rule) (err error) {
		pending, err = edited(ctx, ch, r, why, edit)
		return err
	})
	if err != nil || pending == nil {
		return result, err
	}
	result.Pending = &pending.Revision
	view, err := c.views.View(ctx, projectID)
	if err == nil {
		c.review(view, result.Pending, &pending.Rule)
	}
	return result, err
}

// edited edits a rule within a change of it. The error is errWaits, with the revision, where the edit waits for a second person.
func edited(ctx context.Context, ch *change.Change, r *rule.Rule, why rule.Permission, edit func(*rule.Rule) error) (*store.Revision, error) {
	before := r.Clone()
	if err := edit(r); err != nil {
		return nil, err
	}
	r.Normalize()
	if err := validate(r); err != nil {
		return nil, err
	}
	if len(rule.Diff(before, *r)) == 0 {
		return nil, change.ErrUndo
	}
	if r.ContentHash() != before.ContentHash() {
		if err := mayBeRevised(r.Status); err != nil {
			return nil, err
		}
		if waits(ch.Project, r.Status) {
			made, _, err := propose(ctx, ch, &proposal{current: before, next: *r, note: why.Reason})
			if err != nil {
				return nil, err
			}
			return &store.Revision{Revision: made, Rule: *r}, errWaits
		}
		if err := mayWeaken(&before, r, why); err != nil {
			return nil, err
		}
		r.AuthoredBy = ch.By
	}
	r.ChangeNote = why.Reason
	return nil, nil
}

// mayWeaken refuses to let a rule in force that the weakening guard protects demand less, or hold in fewer places, unless that is meant.
func mayWeaken(before, after *rule.Rule, why rule.Permission) error {
	if (before.Status != rule.Approved && before.Status != rule.Effective) || !before.Guarded() {
		return nil
	}
	ways := after.Loosens(before)
	switch {
	case len(ways) == 0:
		return nil
	case !why.AllowWeakening:
		return rule.Errorf(rule.CodeConflict, "the rule is %s and in force, and would demand less (%s); if that is meant, say allow_weakening and give a change_note",
			before.Severity, strings.Join(ways, ", "))
	case strings.TrimSpace(why.Reason) == "":
		var p rule.Problems
		p.Add("change_note", "is missing; say why the rule is to demand less (%s)", strings.Join(ways, ", "))
		return p.Err("the revision is invalid")
	}
	return nil
}

func mayBeRevised(s rule.Status) error {
	if s.Ended() {
		return rule.Errorf(rule.CodeConflict, "a %s rule cannot be revised; create a new one", s)
	}
	return nil
}

// Transition moves a rule to another status; conflict where the life cycle does not allow it.
func (c *Catalog) Transition(ctx context.Context, projectID, ref string, ifVersion int, to rule.Status, note string) (rule.Rule, error) {
	known, ok := rule.Parse(string(to), rule.Statuses)
	if !ok {
		var p rule.Problems
		p.Add("to", "is %q; use one of %s", string(to), rule.Names(rule.Statuses))
		return rule.Rule{}, p.Err("the transition is invalid")
	}
	return c.revise(ctx, projectID, ref, ifVersion, "moved to "+string(known), func(ch *change.Change, r *rule.Rule) error {
		if err := mayMove(r.Status, known); err != nil {
			return err
		}
		if ch.Project.TwoPerson && known == rule.Approved && r.AuthoredBy == ch.By {
			return rule.Errorf(rule.CodeConflict, "project %q demands approval by a second person; %s wrote this rule", projectID, ch.By)
		}
		if ch.Project.TestsRequired && known == rule.Effective {
			if err := testsPass(ctx, ch.Tx, r); err != nil {
				return err
			}
		}
		r.Status, r.ChangeNote = known, note
		return nil
	})
}

// mayMove refuses a step that the life cycle does not have.
func mayMove(from, to rule.Status) error {
	if rule.CanTransition(from, to) {
		return nil
	}
	next := rule.NextStatuses(from)
	if len(next) == 0 {
		return rule.Errorf(rule.CodeConflict, "the rule is %s, which is final", from)
	}
	return rule.Errorf(rule.CodeConflict, "the rule is %s; from there it may become %s", from, rule.Names(next))
}

// testsPass refuses a rule without confirmed test cases, or of which not all have passed on what it says now.
func testsPass(ctx context.Context, tx store.Tx, r *rule.Rule) error {
	counts, err := tx.TestCases.Count(ctx, r.ProjectID, []string{r.ID})
	if err != nil {
		return err
	}
	total, passing, hash := 0, 0, r.ContentHash()
	for i := range counts {
		n := &counts[i]
		if !n.Confirmed {
			continue // what a model wrote and nobody stands by proves nothing, and refutes nothing
		}
		total += n.Total
		if n.LastHash == hash {
			passing += n.Passing()
		}
	}
	switch {
	case total == 0:
		return rule.Errorf(rule.CodeConflict, "project %q demands that test cases pass, and the rule has none that a person stands by; add or confirm some and run them", r.ProjectID)
	case passing < total:
		return rule.Errorf(rule.CodeConflict,
			"project %q demands that test cases pass; of %d, %d have passed on what the rule says now: run them, and mend the rule or the cases", r.ProjectID, total, passing)
	}
	return nil
}

// Retire takes a rule out of force for good. It stays readable by its id, and its slug becomes free.
func (c *Catalog) Retire(ctx context.Context, projectID, ref string, ifVersion int) error {
	_, err := c.Transition(ctx, projectID, ref, ifVersion, rule.Retired, "")
	return err
}

// revise makes the next version of a rule by edit and returns it; the current one if edit returns change.ErrUndo, or errWaits, which keeps
// what edit has stored. A rule that ends takes the revisions that wait with it.
func (c *Catalog) revise(ctx context.Context, projectID, ref string, ifVersion int, action string,
	edit func(*change.Change, *rule.Rule) error,
) (rule.Rule, error) {
	var result rule.Rule
	err := c.changes.Run(ctx, projectID, func(ch *change.Change) error {
		r, err := ch.Tx.Rules.Get(ctx, projectID, ref)
		if err != nil {
			return err
		}
		result = r
		if ifVersion != 0 && ifVersion != r.Version {
			return rule.Errorf(rule.CodePrecondition, "the rule is at version %d, not %d; read it again", r.Version, ifVersion)
		}
		next := r.Clone()
		if err := edit(ch, &next); errors.Is(err, errWaits) {
			return nil
		} else if err != nil {
			return err
		}
		next.Version, next.UpdatedAt, next.UpdatedBy = r.Version+1, ch.At, ch.By
		if err := ch.Tx.Rules.Update(ctx, ch.Version, []rule.Rule{next}); err != nil {
			return err
		}
		result = next
		if next.Status.Ended() {
			if err := dropRevisions(ctx, ch, []string{next.ID}); err != nil {
				return err
			}
		}
		return noteRule(ctx, ch, action, &r, next)
	})
	return result, err
}

// noteRule records a change of a rule; before is nil for a new one.
func noteRule(ctx context.Context, ch *change.Change, action string, before *rule.Rule, after rule.Rule) error {
	if after.Status == rule.Review && (before == nil || before.Status != rule.Review) {
		ch.Event(rule.RuleSubmitted, &after, after)
	}
	body := map[string]any{"action": action, "rule": after}
	if before != nil {
		body["before_version"] = before.Version
		body["changed"] = rule.Diff(*before, after)
	}
	return ch.Note(ctx, audit.KindRule, body)
}

// validate checks all that is needed before a rule may be stored: its own laws, its globs and its check.
func validate(r *rule.Rule) error {
	var uncompiled error
	if r.Check != nil {
		_, uncompiled = check.Compile(r.Check)
	}
	return allWrong(validateFields(r), uncompiled)
}

// allWrong returns an error with all that is wrong with a rule: with its fields, and with its check as the compiler of checks finds. Either may
// be nil. A field that both report is reported once.
func allWrong(fields, uncompiled error) error {
	e, ok := errors.AsType[*rule.Error](fields)
	c, also := errors.AsType[*rule.Error](uncompiled)
	switch {
	case uncompiled == nil, fields != nil && (!ok || !also):
		return fields
	case fields == nil:
		return uncompiled
	}
	both := *e
	both.Fields = slices.Clone(e.Fields)
	for _, f := range c.Fields {
		if !slices.ContainsFunc(e.Fields, func(own rule.FieldError) bool { return own.Field == f.Field }) {
			both.Fields = append(both.Fields, f)
		}
	}
	return &both
}

// validateFields is validate without compiling the check.
func validateFields(r *rule.Rule) error {
	if r.ID != "" && !rule.IsID(r.ID) {
		var p rule.Problems
		p.Add("id", "must be a UUID")
		return p.Err("the rule is invalid")
	}
	if err := r.Validate(); err != nil {
		return err
	}
	var p rule.Problems
	if a := r.AppliesTo; a != nil {
		subject.CheckGlobs(&p, "applies_to.paths", a.Paths)
		subject.CheckGlobs(&p, "applies_to.exclude_paths", a.ExcludePaths)
		subject.CheckRepositories(&p, "applies_to.repositories", a.Repositories)
		for i, k := range a.Kinds {
			if !slices.Contains(subject.Kinds, subject.Kind(k)) {
				p.Add(fmt.Sprintf("applies_to.kinds[%d]", i), "is %q; use one of %s", k, rule.Names(subject.Kinds))
			}
		}
	}
	return p.Err("the rule is invalid")
}
