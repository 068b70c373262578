package catalog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// ImportOptions are the options of an import.
type ImportOptions struct {
	// CreateOnly refuses rules that exist already instead of updating them.
	CreateOnly bool
	// Prune retires the rules of the project that the file does not name.
	Prune bool
	// DryRun returns the changes without making them.
	DryRun bool
	// Permission lets guarded rules end at federation nodes.
	Permission rule.Permission
}

// Import creates and updates rules from a file: all of them, or none. Rules are matched by id or slug; a rule with
// neither is always new. Errors name the rule by its place in the file, its slug and the field.
func (c *Catalog) Import(ctx context.Context, projectID string, f *wire.RuleFile, o ImportOptions) (*rule.ImportResult, error) {
	inputs, wrong, err := prepare(f, &o)
	if err != nil {
		return nil, err
	}
	uncompiled := compileAll(inputs)
	latest, err := c.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	var result *rule.ImportResult
	err = c.changes.RunApart(ctx, projectID, func(ch *change.Change) error {
		im := c.newImport(ch, o)
		im.wrong = wrong
		im.prunes = o.Prune && f.Rules != nil
		if f.Federation != nil {
			if im.before, err = ch.Before(ctx, latest); err != nil {
				return err
			}
		}
		if err := im.run(ctx, inputs, uncompiled, f); err != nil {
			return err
		}
		result = im.result
		result.Notices = strangeNames(latest, slices.Concat(im.changed, im.proposed))
		if o.DryRun || !im.changes() {
			return change.ErrUndo
		}
		return im.note(ctx)
	})
	return result, err
}

func (c *Catalog) newImport(ch *change.Change, o ImportOptions) *importing {
	return &importing{
		Change: ch, c: c, o: o, before: new(corpus.View),
		result: &rule.ImportResult{DryRun: o.DryRun, Changes: []rule.ImportChange{}, Federation: []rule.NodeChange{}},
	}
}

// prepare joins defaults and finds what is wrong with the file itself: wrong is reported with all that is wrong with its rules and cases, err at
// once, since without rules there is nothing else to say.
func prepare(f *wire.RuleFile, o *ImportOptions) (inputs []wire.RuleInput, wrong, err error) {
	if len(f.Rules) > MaxImport {
		return nil, nil, rule.Errorf(rule.CodeTooLarge, "the file holds %d rules; at most %d are allowed in one import", len(f.Rules), MaxImport)
	}
	if len(f.Cases) > MaxImport {
		return nil, nil, rule.Errorf(rule.CodeTooLarge, "the file holds %d test cases; at most %d are allowed in one import", len(f.Cases), MaxImport)
	}
	var p rule.Problems
	o.Permission.Check(&p, "rules may end somewhere")
	if f.Federation == nil && len(f.Cases) == 0 && (f.Rules == nil || (len(f.Rules) == 0 && !o.Prune)) {
		p.Add("rules", "are missing; the file holds no rules")
		return nil, nil, p.Err("the rule file is invalid")
	}
	if !isGeneral(f.Defaults) {
		p.Add("defaults", "must not have id, slug, statement or relationships: they belong to one rule")
	}
	inputs = inputsOf(f, &p)
	for i, in := range f.Rules {
		if o.Prune && len(keys(in)) == 0 {
			p.Add(fmt.Sprintf("rules[%d].slug", i), "is missing; rules that are applied need a slug or id to be found again")
		}
	}
	return inputs, p.Err("the rule file is invalid; nothing was imported"), nil
}

// inputsOf returns the rules of a file with its defaults, and reports those that share an id or a slug.
func inputsOf(f *wire.RuleFile, p *rule.Problems) []wire.RuleInput {
	inputs := make([]wire.RuleInput, len(f.Rules))
	seen := map[string]int{}
	for i, in := range f.Rules {
		inputs[i] = withDefaults(f, in)
		for _, key := range keys(in) {
			if first, ok := seen[key]; ok {
				p.Add(fmt.Sprintf("rules[%d]", i), "has the same id or slug %q as rules[%d]", key, first)
			}
			seen[key] = i
		}
	}
	return inputs
}

// keys returns the id and slug by which an input is matched.
func keys(in wire.RuleInput) []string {
	var out []string
	if in.ID != "" {
		out = append(out, strings.ToLower(in.ID))
	}
	if in.Slug != nil && *in.Slug != "" {
		out = append(out, *in.Slug)
	}
	return out
}

// importing is one run of an import inside a transaction.
type importing struct {
	*change.Change
	c       *Catalog
	o       ImportOptions
	prunes  bool         // rules that the file does not name are retired
	before  *corpus.View // the corpus before the import, for nodes
	result  *rule.ImportResult
	related bool
	changed []rule.Rule // rules as they are written
	// proposed are rules as revisions propose them. What is in force stays until a second person approves.
	proposed []rule.Rule
	nodes    rule.NodesImport
	wrong    error // what is wrong with the file itself
}

// planned is the plan for one input.
type planned struct {
	in       wire.RuleInput
	existing *rule.Rule
	next     rule.Rule
	changed  []rule.FieldChange
	waits    bool // the change is proposed and waits for a second person
}

// run imports rules and then test cases and the federation, if the file has them: they may name rules that the file brings.
func (im *importing) run(ctx context.Context, inputs []wire.RuleInput, uncompiled []error, f *wire.RuleFile) error {
	if err := im.rules(ctx, inputs, uncompiled, f.Cases); err != nil {
		return err
	}
	if len(f.Cases) > 0 {
		var err error
		if im.result.Cases, err = im.c.cases.Import(ctx, im.Tx, im.Project.ID, f.Cases); err != nil {
			return err
		}
	}
	if f.Federation == nil {
		return nil
	}
	var err error
	if im.nodes, err = im.c.nodes.Import(ctx, im.Change, im.before, im.changed, f.Federation, wire.ImportQuery{
		Prune: im.o.Prune, DryRun: im.o.DryRun,
		WeakeningQuery: wire.WeakeningQuery{AllowWeakening: im.o.Permission.AllowWeakening, Reason: im.o.Permission.Reason},
	}); err != nil {
		return err
	}
	im.result.Federation, im.result.Silenced = im.nodes.Changes, im.nodes.Silenced
	return nil
}

// changes reports whether anything differs from what is stored.
func (im *importing) changes() bool {
	r := im.result
	return len(r.Changes)+len(r.Federation)+r.Cases.Added+r.Cases.Removed > 0 || im.related
}

func (im *importing) rules(ctx context.Context, inputs []wire.RuleInput, uncompiled []error, cases []rule.FileCase) error {
	plan, err := im.plan(ctx, inputs)
	if code := rule.CodeOf(err); err != nil && code != rule.CodeConflict && code != rule.CodeInvalid {
		return err
	}
	invalid := joined(im.wrong, joined(validateAll(plan, uncompiled), err))
	if invalid != nil && len(cases) > 0 {
		planned := make([]rule.Rule, len(plan))
		for i := range plan {
			planned[i] = plan[i].next
		}
		wrong := im.c.cases.Check(ctx, im.Tx, im.Project.ID, cases, planned)
		if code := rule.CodeOf(wrong); wrong != nil && code != rule.CodeInvalid {
			return wrong
		}
		invalid = joined(invalid, wrong)
	}
	if invalid != nil {
		return invalid
	}
	if err := im.relationsWait(ctx, plan); err != nil {
		return err
	}
	if err := im.write(ctx, plan); err != nil {
		return err
	}
	if err := im.relateAll(ctx, plan); err != nil {
		return err
	}
	if err := im.proposeAll(ctx, plan); err != nil {
		return err
	}
	if im.prunes {
		return im.prune(ctx, plan)
	}
	return nil
}

// joined returns an error about fields with those of another one after its own. Either may be nil.
func joined(err, other error) error {
	if err == nil {
		return other
	}
	e, ok := errors.AsType[*rule.Error](err)
	o, also := errors.AsType[*rule.Error](other)
	if !ok || !also {
		return err
	}
	both := *e
	both.Fields = slices.Concat(e.Fields, o.Fields)
	return &both
}

func (im *importing) plan(ctx context.Context, inputs []wire.RuleInput) ([]planned, error) {
	var refs []string
	for _, in := range inputs {
		refs = append(refs, keys(in)...)
	}
	known, err := im.Tx.Rules.GetMany(ctx, im.Project.ID, refs)
	if err != nil {
		return nil, err
	}
	var p rule.Problems
	moves := 0 // that the life cycle does not have
	plan := make([]planned, len(inputs))
	for i, in := range inputs {
		plan[i].in = in
		for _, key := range keys(in) {
			r, ok := known[key]
			if !ok {
				continue
			}
			if plan[i].existing != nil && plan[i].existing.ID != r.ID {
				p.Add(fmt.Sprintf("rules[%d].slug", i), "belongs to another rule (%s) than the id", r.ID)
			}
			plan[i].existing = &r
		}
		switch {
		case plan[i].existing == nil:
			plan[i].next = newRule(im.Change, in)
		case im.o.CreateOnly:
			p.Add(fmt.Sprintf("rules[%d]", i), "%s exists already", plan[i].existing.Label())
		case plan[i].existing.Status == rule.Retired:
			p.Add(fmt.Sprintf("rules[%d]", i), "%s is retired; give the rule a new id or a slug only", plan[i].existing.Label())
		default:
			plan[i].update(im)
		}
		if err := plan[i].mayMove(); err != nil {
			p.AddAll(fmt.Sprintf("rules[%d].status", i), err)
			moves++
			continue
		}
		if err := im.mayTake(&plan[i]); err != nil {
			p.AddAll(fmt.Sprintf("rules[%d].status", i), err)
		}
	}
	err = p.Err("the rule file cannot be imported")
	if e, ok := errors.AsType[*rule.Error](err); ok && moves == p.Len() {
		e.Code = rule.CodeConflict // as a transition answers
	}
	return plan, err
}

// update plans the next version of an existing rule.
func (pl *planned) update(im *importing) {
	next := pl.existing.Clone()
	next.Assign(&pl.in)
	next.ChangeNote = pl.in.ChangeNote
	next.Normalize()
	pl.changed = rule.Diff(*pl.existing, next)
	next.Version, next.UpdatedAt, next.UpdatedBy = pl.existing.Version+1, im.At, im.By
	if next.ContentHash() != pl.existing.ContentHash() {
		next.AuthoredBy = next.UpdatedBy
	}
	pl.next = next
}

// mayMove refuses a change of status that the life cycle does not have. It leaves a status that does not exist to validation, and
// RETIRED to mayTake.
func (pl *planned) mayMove() error {
	to := pl.next.Status
	if len(pl.changed) == 0 || to == pl.existing.Status || to == rule.Retired || !slices.Contains(rule.Statuses, to) {
		return nil
	}
	if from := pl.existing.Status; !rule.CanTransition(from, to) && !rule.Advances(from, to) {
		return rule.Errorf(rule.CodeConflict, "%s is %s, which cannot become %s", pl.existing.Label(), from, to)
	}
	return nil
}

// mayTake keeps to the rules of approval.
func (im *importing) mayTake(pl *planned) error {
	if pl.existing == nil {
		return mayBeBorn(im.Project, pl.next.Status)
	}
	if len(pl.changed) == 0 {
		return nil
	}
	if pl.next.Status != pl.existing.Status {
		if im.Project.TwoPerson {
			return rule.Errorf(rule.CodeConflict, "the project demands approval by a second person; change the status by a transition")
		}
		if im.Project.TestsRequired && pl.next.Status == rule.Effective {
			return rule.Errorf(rule.CodeConflict, "the project demands that test cases pass; change the status by a transition")
		}
		if pl.next.Status == rule.Retired {
			return rule.Errorf(rule.CodeConflict, "a rule is retired by DELETE or by applying a file without it")
		}
	}
	if pl.next.ContentHash() == pl.existing.ContentHash() {
		return nil
	}
	pl.waits = waits(im.Project, pl.existing.Status)
	return mayBeRevised(pl.existing.Status)
}

// compileAll compiles the checks of a file on all cores and returns the errors by input. It takes most of an import's time,
// so it happens before the transaction, which would keep all other writers waiting.
func compileAll(inputs []wire.RuleInput) []error {
	errs := make([]error, len(inputs))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(inputs); i = int(next.Add(1)) - 1 {
				if c := inputs[i].Check; c != nil {
					r := (&rule.Rule{Check: c}).Clone()
					r.Normalize()
					_, errs[i] = check.Compile(r.Check)
				}
			}
		})
	}
	wg.Wait()
	return errs
}

// validateAll reports the errors of the planned rules, in the order of the file. Errors of a rule's own fields come before
// those of compiling its check.
func validateAll(plan []planned, uncompiled []error) error {
	var p rule.Problems
	for i := range plan {
		pl := &plan[i]
		if pl.existing != nil && len(pl.changed) == 0 {
			continue
		}
		err := allWrong(validateFields(&pl.next), uncompiled[i])
		if err == nil {
			continue
		}
		p.AddNamed(fmt.Sprintf("rules[%d]", i), pl.next.Slug, err)
		if p.Len() > maxImportErrors {
			p.Add("rules", "has more errors; these are the first")
			break
		}
	}
	return p.Err("the rule file is invalid; nothing was imported")
}

// maxImportErrors bounds how many errors an import reports.
const maxImportErrors = 200

func (im *importing) write(ctx context.Context, plan []planned) error {
	var created, updated []rule.Rule
	for _, pl := range plan {
		change := rule.ImportChange{RuleID: pl.next.ID, Version: pl.next.Version, Slug: pl.next.Slug, Statement: pl.next.Statement, Fields: pl.changed}
		switch {
		case pl.existing == nil:
			created = append(created, pl.next)
			change.Action = "create"
		case pl.waits:
			continue
		case len(pl.changed) > 0:
			updated = append(updated, pl.next)
			change.Action = "update"
		default:
			im.result.Unchanged++
			continue
		}
		im.result.Changes = append(im.result.Changes, change)
	}
	im.result.Created, im.result.Updated = len(created), len(updated)
	for i := range plan {
		pl := &plan[i]
		if !pl.waits && pl.next.Status == rule.Review && (pl.existing == nil || pl.existing.Status != rule.Review) {
			im.Event(rule.RuleSubmitted, &pl.next, pl.next)
		}
	}
	im.changed = slices.Concat(created, updated)
	if err := im.Tx.Rules.Update(ctx, im.Version, updated); err != nil {
		return err
	}
	return im.Tx.Rules.Insert(ctx, im.Version, created)
}

func (im *importing) relateAll(ctx context.Context, plan []planned) error {
	for i := range plan {
		pl := &plan[i]
		if pl.in.Relationships == nil || pl.waits {
			continue
		}
		changed, err := relate(ctx, im.Change, pl.next, pl.in.Relationships)
		im.related = im.related || changed
		if rule.CodeOf(err) == rule.CodeInvalid {
			var p rule.Problems
			p.AddNamed(fmt.Sprintf("rules[%d]", i), pl.next.Slug, err)
			return p.Err("the rule file is invalid; nothing was imported")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prune retires the rules that the plan does not name.
func (im *importing) prune(ctx context.Context, plan []planned) error {
	named := map[string]bool{}
	for _, pl := range plan {
		named[pl.next.ID] = true
	}
	var retired []rule.Rule
	_, err := im.Tx.Rules.Changes(ctx, im.Project.ID, 0, func(s store.RuleState) error {
		r := s.Rule
		if named[r.ID] || r.Status == rule.Retired || r.Status == rule.Superseded {
			return nil
		}
		r.Status, r.Version = rule.Retired, r.Version+1
		r.UpdatedAt, r.UpdatedBy, r.ChangeNote = im.At, im.By, "not in the applied file"
		retired = append(retired, r)
		im.result.Changes = append(im.result.Changes, rule.ImportChange{
			Action: "retire", RuleID: r.ID, Version: r.Version, Slug: r.Slug, Statement: r.Statement,
		})
		return nil
	})
	if err != nil {
		return err
	}
	im.result.Retired = len(retired)
	im.changed = append(im.changed, retired...)
	if err := im.Tx.Rules.Update(ctx, im.Version, retired); err != nil {
		return err
	}
	ids := make([]string, len(retired))
	for i := range retired {
		ids[i] = retired[i].ID
	}
	return dropRevisions(ctx, im.Change, ids)
}

func (im *importing) note(ctx context.Context) error {
	type noted struct {
		RuleID  string `json:"rule_id"`
		Version int    `json:"version"`
		Action  string `json:"action"`
	}
	rules := make([]noted, len(im.result.Changes))
	for i, ch := range im.result.Changes {
		rules[i] = noted{RuleID: ch.RuleID, Version: ch.Version, Action: ch.Action}
	}
	body := map[string]any{
		"created": im.result.Created, "updated": im.result.Updated, "proposed": im.result.Proposed, "retired": im.result.Retired, "rules": rules,
		"nodes": im.result.Federation, "attached": im.nodes.Attached, "detached": im.nodes.Detached,
	}
	if im.result.Silenced != nil {
		body["silenced"] = im.result.Silenced
	}
	if im.o.Permission.AllowWeakening {
		body["allow_weakening"], body["reason"] = true, im.o.Permission.Reason
	}
	return im.Note(ctx, audit.KindImport, body)
}
