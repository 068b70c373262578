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
	"tenet/internal/auth"
	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// ImportOptions tell how to import.
type ImportOptions struct {
	// CreateOnly refuses rules that exist already instead of updating them.
	CreateOnly bool
	// Prune retires the rules of the project that the file does not name.
	Prune bool
	// DryRun tells what would happen and changes nothing.
	DryRun bool
}

// errDryRun rolls an import back.
var errDryRun = errors.New("dry run")

// Import creates and updates rules from a file: all of them, or none. Rules are matched by id or slug; a rule with
// neither is always new. Errors name the rule by its place in the file, its slug and the field.
func (c *Catalog) Import(ctx context.Context, projectID string, f *File, o ImportOptions) (*rule.ImportResult, error) {
	inputs, err := prepare(f, o)
	if err != nil {
		return nil, err
	}
	uncompiled := compileAll(inputs)
	known := new(corpus.View)
	if f.Federation != nil {
		if known, err = c.views.View(ctx, projectID); err != nil {
			return nil, err
		}
	}
	var result *rule.ImportResult
	err = c.change(ctx, projectID, func(tx store.Tx, project rule.Project, cv int64) error {
		im := c.newImport(ctx, tx, project, cv, o)
		if f.Federation != nil {
			if im.known, err = known.Follow(ctx, tx, project.ID); err != nil {
				return err
			}
		}
		im.prunes = o.Prune && f.Rules != nil
		if err := im.run(ctx, inputs, uncompiled, f); err != nil {
			return err
		}
		result = im.result
		if o.DryRun || !im.changes() {
			return errDryRun
		}
		return im.note(ctx)
	})
	if errors.Is(err, errDryRun) {
		return result, nil
	}
	return result, err
}

func (c *Catalog) newImport(ctx context.Context, tx store.Tx, project rule.Project, cv int64, o ImportOptions) *importing {
	return &importing{
		c: c, tx: tx, project: project, cv: cv, o: o, who: auth.ActorFrom(ctx).Name, known: new(corpus.View),
		result: &rule.ImportResult{DryRun: o.DryRun, Changes: []rule.ImportChange{}, Federation: []rule.NodeChange{}},
	}
}

// prepare joins defaults and finds what is wrong with the file itself.
func prepare(f *File, o ImportOptions) ([]Input, error) {
	if len(f.Rules) > MaxImport {
		return nil, rule.Errorf(rule.CodeTooLarge, "the file holds %d rules; at most %d are allowed in one import", len(f.Rules), MaxImport)
	}
	if len(f.Cases) > MaxImport {
		return nil, rule.Errorf(rule.CodeTooLarge, "the file holds %d test cases; at most %d are allowed in one import", len(f.Cases), MaxImport)
	}
	var p rule.Problems
	if f.Federation == nil && len(f.Cases) == 0 && (f.Rules == nil || (len(f.Rules) == 0 && !o.Prune)) {
		p.Add("rules", "are missing; the file holds no rules")
		return nil, p.Err("the rule file is invalid")
	}
	if !f.Defaults.isGeneral() {
		p.Add("defaults", "must not have id, slug, statement or relationships: they belong to one rule")
	}
	inputs := make([]Input, len(f.Rules))
	seen := map[string]int{}
	for i, in := range f.Rules {
		inputs[i] = f.withDefaults(in)
		for _, key := range keys(in) {
			if first, ok := seen[key]; ok {
				p.Add(fmt.Sprintf("rules[%d]", i), "has the same id or slug %q as rules[%d]", key, first)
			}
			seen[key] = i
		}
		if o.Prune && len(keys(in)) == 0 {
			p.Add(fmt.Sprintf("rules[%d].slug", i), "is missing; rules that are applied need a slug or id to be found again")
		}
	}
	return inputs, p.Err("the rule file is invalid")
}

// keys are what an input can be matched by.
func keys(in Input) []string {
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
	c       *Catalog
	tx      store.Tx
	project rule.Project
	cv      int64
	o       ImportOptions
	who     string
	prunes  bool         // rules that the file does not name are retired
	known   *corpus.View // the corpus before the import; of use only with a federation
	result  *rule.ImportResult
	related bool
	changed []rule.Rule // rules as they are written
	// attached and detached are what the import changes at federation nodes, for the record.
	attached, detached []rule.Attachment
}

// planned is what one input leads to.
type planned struct {
	in       Input
	existing *rule.Rule
	next     rule.Rule
	changed  []rule.FieldChange
}

// run imports rules and then test cases and the federation, if the file has them: they may name rules that the file brings.
func (im *importing) run(ctx context.Context, inputs []Input, uncompiled []error, f *File) error {
	if err := im.rules(ctx, inputs, uncompiled); err != nil {
		return err
	}
	if len(f.Cases) > 0 {
		var err error
		if im.result.Cases, err = im.c.cases.Import(ctx, im.tx, im.project.ID, f.Cases); err != nil {
			return err
		}
	}
	if f.Federation == nil {
		return nil
	}
	return im.federate(ctx, im.known, f.Federation)
}

// changes reports whether anything differs from what is stored.
func (im *importing) changes() bool {
	r := im.result
	return len(r.Changes)+len(r.Federation)+r.Cases.Added+r.Cases.Removed > 0 || im.related
}

func (im *importing) rules(ctx context.Context, inputs []Input, uncompiled []error) error {
	plan, err := im.plan(ctx, inputs)
	if err != nil {
		return err
	}
	if err := validateAll(plan, uncompiled); err != nil {
		return err
	}
	if err := im.write(ctx, plan); err != nil {
		return err
	}
	if err := im.relateAll(ctx, plan); err != nil {
		return err
	}
	if im.prunes {
		return im.prune(ctx, plan)
	}
	return nil
}

func (im *importing) plan(ctx context.Context, inputs []Input) ([]planned, error) {
	var refs []string
	for _, in := range inputs {
		refs = append(refs, keys(in)...)
	}
	known, err := im.tx.Rules(ctx, im.project.ID, refs)
	if err != nil {
		return nil, err
	}
	var p rule.Problems
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
			plan[i].next = im.c.newRule(ctx, im.project.ID, in)
		case im.o.CreateOnly:
			p.Add(fmt.Sprintf("rules[%d]", i), "%s exists already", label(plan[i].existing))
		case plan[i].existing.Status == rule.Retired:
			p.Add(fmt.Sprintf("rules[%d]", i), "%s is retired; give the rule a new id or a slug only", label(plan[i].existing))
		default:
			plan[i].update(im)
		}
		if err := im.mayTake(&plan[i]); err != nil {
			p.AddAll(fmt.Sprintf("rules[%d].status", i), err)
		}
	}
	return plan, p.Err("the rule file cannot be imported")
}

// update plans the next version of an existing rule.
func (pl *planned) update(im *importing) {
	next := clone(*pl.existing)
	pl.in.apply(&next)
	next.Normalize()
	pl.changed = rule.Diff(*pl.existing, next)
	next.Version, next.UpdatedAt, next.UpdatedBy = pl.existing.Version+1, im.c.instant(), im.who
	if next.ContentHash() != pl.existing.ContentHash() {
		next.AuthoredBy = next.UpdatedBy
	}
	pl.next = next
}

// mayTake keeps to the rules of approval.
func (im *importing) mayTake(pl *planned) error {
	if pl.existing == nil {
		return mayBeBorn(im.project, pl.next.Status)
	}
	if len(pl.changed) == 0 {
		return nil
	}
	if pl.next.Status != pl.existing.Status {
		if im.project.TwoPerson {
			return rule.Errorf(rule.CodeConflict, "the project demands approval by a second person; change the status by a transition")
		}
		if im.project.TestsRequired && pl.next.Status == rule.Effective {
			return rule.Errorf(rule.CodeConflict, "the project demands that test cases pass; change the status by a transition")
		}
		if pl.next.Status == rule.Retired {
			return rule.Errorf(rule.CodeConflict, "a rule is retired by DELETE or by applying a file without it")
		}
	}
	return mayBeRevised(im.project, pl.existing.Status)
}

// compileAll compiles the checks of a file on all cores and returns the errors by input. It takes most of an import's time,
// so it happens before the transaction, which would keep all other writers waiting.
func compileAll(inputs []Input) []error {
	errs := make([]error, len(inputs))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(inputs); i = int(next.Add(1)) - 1 {
				if c := inputs[i].Check; c != nil {
					r := rule.Rule{Check: cloneCheck(c)}
					r.Normalize()
					_, errs[i] = check.Compile(r.Check)
				}
			}
		})
	}
	wg.Wait()
	return errs
}

// validateAll reports what is wrong with the planned rules, in the order of the file. A rule whose own fields are wrong is
// told that first: its check may not even be complete.
func validateAll(plan []planned, uncompiled []error) error {
	var p rule.Problems
	for i := range plan {
		pl := &plan[i]
		if pl.existing != nil && len(pl.changed) == 0 {
			continue
		}
		err := validateFields(&pl.next)
		if err == nil {
			err = uncompiled[i]
		}
		if err == nil {
			continue
		}
		addNamed(&p, i, pl.next.Slug, err)
		if p.Len() > maxImportErrors {
			p.Add("rules", "has more errors; these are the first")
			break
		}
	}
	return p.Err("the rule file is invalid; nothing was imported")
}

// addNamed notes the errors of one rule, by its place in the file and its slug.
func addNamed(p *rule.Problems, i int, slug string, err error) {
	if slug != "" {
		if e, ok := errors.AsType[*rule.Error](err); ok {
			for j := range e.Fields {
				e.Fields[j].Message = slug + ": " + e.Fields[j].Message
			}
		}
	}
	p.AddAll(fmt.Sprintf("rules[%d]", i), err)
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
	im.changed = slices.Concat(created, updated)
	if err := im.tx.UpdateRules(ctx, im.cv, updated); err != nil {
		return err
	}
	return im.tx.InsertRules(ctx, im.cv, created)
}

func (im *importing) relateAll(ctx context.Context, plan []planned) error {
	for i, pl := range plan {
		if pl.in.Relationships == nil {
			continue
		}
		changed, err := im.c.relate(ctx, im.tx, im.cv, im.project, pl.next, pl.in.Relationships)
		im.related = im.related || changed
		if rule.CodeOf(err) == rule.CodeInvalid {
			var p rule.Problems
			addNamed(&p, i, pl.next.Slug, err)
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
	_, err := im.tx.Changes(ctx, im.project.ID, 0, func(s store.RuleState) error {
		r := s.Rule
		if named[r.ID] || r.Status == rule.Retired || r.Status == rule.Superseded {
			return nil
		}
		r.Status, r.Version = rule.Retired, r.Version+1
		r.UpdatedAt, r.UpdatedBy, r.ChangeNote = im.c.instant(), auth.ActorFrom(ctx).Name, "not in the applied file"
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
	return im.tx.UpdateRules(ctx, im.cv, retired)
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
	return audit.Append(ctx, im.tx, im.project.ID, audit.Record{
		Kind: audit.KindImport, At: im.c.instant(), Actor: auth.ActorFrom(ctx).Name,
		Body: audit.JSON(map[string]any{
			"created": im.result.Created, "updated": im.result.Updated, "retired": im.result.Retired, "rules": rules,
			"nodes": im.result.Federation, "attached": im.attached, "detached": im.detached,
		}),
	})
}

// label names a rule for people.
func label(r *rule.Rule) string {
	if r.Slug != "" {
		return r.Slug
	}
	return r.ID
}
