// Package catalog is the life of rules: creating, revising, approving and retiring them, their relationships and
// projects, and import and export. Every change is one transaction that makes a new version, raises the corpus version
// and leaves an entry in the audit chain.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// Views gives and refreshes the corpus views of projects; corpus.Live is one.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
	Refresh(ctx context.Context, projectID string) (*corpus.View, error)
}

// Cases keeps the test cases of rule files with their rules.
type Cases interface {
	// Import does that as part of the transaction in which the rules are written.
	Import(ctx context.Context, tx store.Tx, projectID string, cases []rule.FileCase) (rule.CaseChanges, error)
}

// Catalog keeps rules.
type Catalog struct {
	store       store.Store
	views       Views
	cases       Cases
	now         func() time.Time
	attachments attachQueue
	changed     func(ctx context.Context, tx store.Tx, projectID string) error
}

// New makes a catalog.
func New(s store.Store, views Views, cases Cases, now func() time.Time) *Catalog {
	return &Catalog{store: s, views: views, cases: cases, now: now}
}

// OnChange lets fn take part in the transaction of every change of rules, relationships and the federation, so that work can be asked
// for that follows from it. An error of fn undoes the change. It is called before the catalog is used.
func (c *Catalog) OnChange(fn func(ctx context.Context, tx store.Tx, projectID string) error) {
	c.changed = fn
}

// instant is the current time as it is stored.
func (c *Catalog) instant() time.Time { return c.now().UTC().Truncate(time.Microsecond) }

// Page is a part of a list. Page counts from 1.
type Page struct{ Page, Size int }

// Offset is how many items come before the page.
func (p Page) Offset() int { return (p.Page - 1) * p.Size }

// List returns a page of a project's rules, in the order they were made, and how many match.
func (c *Catalog) List(ctx context.Context, projectID string, f corpus.Filter, p Page) ([]rule.Rule, int, error) {
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	entries, total := view.List(f, p.Offset(), p.Size)
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

// Versions returns a page of a rule's versions, newest first, and how many there are.
func (c *Catalog) Versions(ctx context.Context, projectID, ref string, p Page) ([]rule.Rule, int, error) {
	r, err := c.Get(ctx, projectID, ref)
	if err != nil {
		return nil, 0, err
	}
	return c.store.RuleVersions(ctx, projectID, r.ID, p.Offset(), p.Size)
}

// Version returns one version of a rule.
func (c *Catalog) Version(ctx context.Context, projectID, ref string, version int) (rule.Rule, error) {
	r, err := c.Get(ctx, projectID, ref)
	if err != nil {
		return rule.Rule{}, err
	}
	return c.store.RuleVersion(ctx, projectID, r.ID, version)
}

// Create makes a rule from an input. Its status is DRAFT unless the input says otherwise; in a project that demands two
// people it cannot be born approved.
func (c *Catalog) Create(ctx context.Context, projectID string, in Input) (rule.Rule, error) {
	return c.create(ctx, projectID, in, func(store.Tx, rule.Rule) error { return nil })
}

// create makes a rule and calls also in the same transaction.
func (c *Catalog) create(ctx context.Context, projectID string, in Input, also func(store.Tx, rule.Rule) error) (rule.Rule, error) {
	var made rule.Rule
	err := c.change(ctx, projectID, func(tx store.Tx, project rule.Project, cv int64) error {
		r := c.newRule(ctx, projectID, in)
		if err := validate(&r); err != nil {
			return err
		}
		if err := mayBeBorn(project, r.Status); err != nil {
			return err
		}
		if err := tx.InsertRules(ctx, cv, []rule.Rule{r}); err != nil {
			return err
		}
		if _, err := c.relate(ctx, tx, cv, project, r, in.Relationships); err != nil {
			return err
		}
		if err := c.noteRule(ctx, tx, "created", nil, r); err != nil {
			return err
		}
		made = r
		return also(tx, r)
	})
	return made, err
}

// newRule makes version 1 of a rule.
func (c *Catalog) newRule(ctx context.Context, projectID string, in Input) rule.Rule {
	now, who := c.instant(), auth.ActorFrom(ctx).Name
	r := rule.Rule{
		ID: in.ID, ProjectID: projectID, Version: 1, CreatedAt: now, CreatedBy: who, UpdatedAt: now, UpdatedBy: who, AuthoredBy: who,
	}
	if r.ID == "" {
		r.ID = audit.NewID()
	}
	in.apply(&r)
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
// An edit that changes nothing makes no version.
func (c *Catalog) Revise(ctx context.Context, projectID, ref string, ifVersion int, note string, edit func(*rule.Rule) error) (rule.Rule, error) {
	return c.revise(ctx, projectID, ref, ifVersion, "revised", func(_ store.Tx, project rule.Project, r *rule.Rule) error {
		before := r.ContentHash()
		wasSlug, wasOwner := r.Slug, r.Owner
		if err := edit(r); err != nil {
			return err
		}
		r.Normalize()
		if err := validate(r); err != nil {
			return err
		}
		if r.ContentHash() == before {
			if r.Slug == wasSlug && r.Owner == wasOwner {
				return errUnchanged
			}
		} else {
			if err := mayBeRevised(project, r.Status); err != nil {
				return err
			}
			r.AuthoredBy = auth.ActorFrom(ctx).Name
		}
		r.ChangeNote = note
		return nil
	})
}

func mayBeRevised(project rule.Project, s rule.Status) error {
	switch {
	case s == rule.Retired || s == rule.Superseded:
		return rule.Errorf(rule.CodeConflict, "a %s rule cannot be revised; create a new one", s)
	case project.TwoPerson && s == rule.Approved:
		return rule.Errorf(rule.CodeConflict, "an APPROVED rule of project %q cannot be revised; move it back to REVIEW first", project.ID)
	case project.TwoPerson && s == rule.Effective:
		return rule.Errorf(rule.CodeConflict,
			"an EFFECTIVE rule of project %q cannot be revised; create a new rule, have it approved, and mark this one SUPERSEDED", project.ID)
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
	return c.revise(ctx, projectID, ref, ifVersion, "moved to "+string(known), func(tx store.Tx, project rule.Project, r *rule.Rule) error {
		if !rule.CanTransition(r.Status, known) {
			next := rule.NextStatuses(r.Status)
			if len(next) == 0 {
				return rule.Errorf(rule.CodeConflict, "the rule is %s, which is final", r.Status)
			}
			return rule.Errorf(rule.CodeConflict, "the rule is %s; from there it may become %s", r.Status, rule.Names(next))
		}
		who := auth.ActorFrom(ctx).Name
		if project.TwoPerson && known == rule.Approved && r.AuthoredBy == who {
			return rule.Errorf(rule.CodeConflict, "project %q demands approval by a second person; %s wrote this rule", project.ID, who)
		}
		if project.TestsRequired && known == rule.Effective {
			if err := testsPass(ctx, tx, r); err != nil {
				return err
			}
		}
		r.Status, r.ChangeNote = known, note
		return nil
	})
}

// testsPass refuses a rule without confirmed test cases, or of which not all have passed on what it says now.
func testsPass(ctx context.Context, tx store.Tx, r *rule.Rule) error {
	counts, err := tx.CountTests(ctx, r.ProjectID, []string{r.ID})
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

// errUnchanged ends a revision that changes nothing.
var errUnchanged = errors.New("unchanged")

func (c *Catalog) revise(ctx context.Context, projectID, ref string, ifVersion int, action string,
	edit func(store.Tx, rule.Project, *rule.Rule) error,
) (rule.Rule, error) {
	var result rule.Rule
	err := c.change(ctx, projectID, func(tx store.Tx, project rule.Project, cv int64) error {
		r, err := tx.Rule(ctx, projectID, ref)
		if err != nil {
			return err
		}
		result = r
		if ifVersion != 0 && ifVersion != r.Version {
			return rule.Errorf(rule.CodePrecondition, "the rule is at version %d, not %d; read it again", r.Version, ifVersion)
		}
		next := clone(r)
		if err := edit(tx, project, &next); err != nil {
			return err
		}
		next.Version, next.UpdatedAt, next.UpdatedBy = r.Version+1, c.instant(), auth.ActorFrom(ctx).Name
		if err := tx.UpdateRules(ctx, cv, []rule.Rule{next}); err != nil {
			return err
		}
		result = next
		return c.noteRule(ctx, tx, action, &r, next)
	})
	if errors.Is(err, errUnchanged) {
		return result, nil
	}
	return result, err
}

// change runs fn in a transaction with the corpus version raised, and shows the result to readers on this node.
func (c *Catalog) change(ctx context.Context, projectID string, fn func(store.Tx, rule.Project, int64) error) error {
	err := c.store.Update(ctx, func(tx store.Tx) error {
		cv, err := tx.RaiseCorpus(ctx, projectID)
		if err != nil {
			return err
		}
		project, err := tx.Project(ctx, projectID)
		if err != nil {
			return err
		}
		if err := fn(tx, project, cv); err != nil || c.changed == nil {
			return err
		}
		return c.changed(ctx, tx, projectID)
	})
	if err != nil {
		return err
	}
	// The change is made even if the caller has gone, so its showing must not depend on the caller either.
	_, err = c.views.Refresh(context.WithoutCancel(ctx), projectID)
	return err
}

func (c *Catalog) noteRule(ctx context.Context, tx store.Tx, action string, before *rule.Rule, after rule.Rule) error {
	body := map[string]any{"action": action, "rule": after}
	if before != nil {
		body["before_version"] = before.Version
		body["changed"] = rule.Diff(*before, after)
	}
	return audit.Append(ctx, tx, after.ProjectID, audit.Record{
		Kind: audit.KindRule, At: after.UpdatedAt, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body),
	})
}

// validate checks all that is needed before a rule may be stored: its own laws, its globs and its check.
func validate(r *rule.Rule) error {
	if err := validateFields(r); err != nil || r.Check == nil {
		return err
	}
	_, err := check.Compile(r.Check)
	return err
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
		globs(&p, "applies_to.paths", a.Paths)
		globs(&p, "applies_to.exclude_paths", a.ExcludePaths)
		globs(&p, "applies_to.repositories", a.Repositories)
		for i, k := range a.Kinds {
			if !slices.Contains(subject.Kinds, subject.Kind(k)) {
				p.Add(fmt.Sprintf("applies_to.kinds[%d]", i), "is %q; use one of %s", k, rule.Names(subject.Kinds))
			}
		}
	}
	return p.Err("the rule is invalid")
}

func globs(p *rule.Problems, field string, list []string) {
	for i, g := range list {
		if _, err := subject.CompileGlobs([]string{g}); err != nil {
			p.Add(fmt.Sprintf("%s[%d]", field, i), "is not a valid glob: %v", err)
		}
	}
}
