package hierarchy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// maxAttachments is how many rules the nodes of one file may have attached in all.
const maxAttachments = 200_000

// Limits of one import.
const (
	maxNodes  = 20_000
	maxErrors = 200 // that it reports
)

// nodesImport is the import of a file's federation inside a transaction, after its rules are written. It plans and checks all of it
// in memory before it writes anything: the tree afterwards keeps the laws of any other.
type nodesImport struct {
	ch    *change.Change
	now   time.Time
	prune bool
	// permission lets guarded rules end somewhere; dryRun asks for the effects only.
	permission rule.Permission
	dryRun     bool
	before     *corpus.View // as it was before the import
	rules      *overlay     // as they are after it
	after      *federation.Tree
	plans      []*nodePlan // parents before their children
	// planned has the plans by node id, and those of new nodes by the parent's id and their name, too.
	planned map[string]*nodePlan
	gone    []*federation.Node // nodes to delete, the deepest first
	room    int                // attachments that the file may still hold
	errs    rule.Problems
}

// nodePlan is the plan for one node of the file.
type nodePlan struct {
	path, field string
	existing    *federation.Node // nil for a new node
	next        rule.Node
	fields      []rule.FieldChange
	wanted      map[string]rule.Attachment // by rule id
	attach      []rule.Attachment
	detach      []rule.Attachment
}

func (p *nodePlan) id() string { return p.next.ID }

// changed reports whether the import does anything to the node.
func (p *nodePlan) changed() bool {
	return p.existing == nil || len(p.fields)+len(p.attach)+len(p.detach) > 0
}

func (p *nodePlan) moved() bool { return p.existing != nil && p.existing.Parent() != p.next.Parent() }

// Federation is the tree after the import.
func (ni *nodesImport) Federation() *federation.Tree { return ni.after }

// Rule finds a rule as it is after the import.
func (ni *nodesImport) Rule(id string) (*rule.Rule, bool) { return ni.rules.rule(id) }

// Guarded lists the rules that the weakening guard protects, as they are after the import.
func (ni *nodesImport) Guarded() iter.Seq[*rule.Rule] { return ni.rules.guarded() }

// Rules lists all rules as they are after the import.
func (ni *nodesImport) Rules() iter.Seq[*rule.Rule] { return ni.rules.all() }

// guard finds the rules in force that end somewhere, and refuses the import if guarded ones do without permission.
func (ni *nodesImport) guard() (*rule.Silenced, error) {
	c := federation.Change{
		Before: state{ni.before, ni.before.Federation()}, After: ni, Rules: slices.Collect(maps.Keys(ni.rules.byID)), Now: ni.now, By: ni.ch.By,
	}
	silenced := c.Losses().Silenced()
	if ni.dryRun {
		return silenced, nil
	}
	for _, plan := range ni.plans {
		if plan.next.OwnRulesOnly && (plan.existing == nil || !plan.existing.OwnRulesOnly) {
			p := counting(&ni.ch.Project, rule.Permission{AllowWeakening: true})
			if err := ni.alone(p.Refuse("with own_rules_only, the CRITICAL and HIGH rules that no node has do not hold at %s and below it", plan.path)); err != nil {
				return silenced, err
			}
		}
	}
	return silenced, ni.alone(guard(&c, silenced, counting(&ni.ch.Project, ni.permission)))
}

// alone adds to the error about a weakening, in a project that demands two people, how it is made: a file has no approval.
func (ni *nodesImport) alone(err error) error {
	if !ni.ch.Project.TwoPerson || !errors.Is(err, rule.ErrWeakening) {
		return err
	}
	return rule.Errorf(rule.CodeConflict, "%s. In this project another person must approve that: make this change alone, with tenet nodes or in the console, not by a file",
		strings.TrimSuffix(err.Error(), "; "+rule.ErrWeakening.Error()))
}

// Import makes the nodes of a project as a file says, as part of a change that has written its rules. before is the corpus before the
// change, and written the rules that it has written. With prune, Import also removes what the file does not name. Without permission it
// is a conflict if guarded rules end somewhere, except in a dry run.
func (h *Hierarchy) Import(ctx context.Context, ch *change.Change, before *corpus.View, written []rule.Rule, nodes []wire.FileNode, o wire.ImportQuery,
) (rule.NodesImport, error) {
	var result rule.NodesImport
	ni := &nodesImport{
		ch: ch, now: h.now(), prune: o.Prune, before: before, rules: newOverlay(before, written), room: maxAttachments,
		planned: map[string]*nodePlan{}, permission: o.Permission(), dryRun: o.DryRun,
	}
	ni.walk(nodes, nil, "federation", "")
	if err := ni.errs.Err("the federation of the file is invalid; nothing was imported"); err != nil {
		return result, err
	}
	ni.settle()
	if err := ni.check(); err != nil {
		return result, err
	}
	var err error
	if result.Silenced, err = ni.guard(); err != nil {
		return result, err
	}
	if err := ni.write(ctx); err != nil {
		return result, err
	}
	result.Changes = ni.effects()
	for _, p := range ni.plans {
		result.Attached = append(result.Attached, p.attach...)
		result.Detached = append(result.Detached, p.detach...)
	}
	return result, nil
}

// walk plans nodes and, below them, their children.
func (ni *nodesImport) walk(nodes []wire.FileNode, parent *nodePlan, field, path string) {
	for i := range nodes {
		in := &nodes[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		p := ni.match(in, parent, at, strings.TrimPrefix(path+"/"+strings.TrimSpace(in.Name), "/"))
		if p == nil {
			continue
		}
		ni.fill(p, in, parent)
		ni.want(p, in, at)
		ni.walk(in.Children, p, at+".children", p.path)
	}
}

// match returns the plan for a node of the file: one that it has already, or a new one, for an existing node or one to create. It
// returns nil for a node that is wrong.
func (ni *nodesImport) match(in *wire.FileNode, parent *nodePlan, field, path string) *nodePlan {
	id, above := strings.ToLower(in.ID), ""
	if parent != nil {
		above = parent.id()
	}
	if id != "" && !rule.IsID(id) {
		ni.errs.Add(field+".id", "%s: must be a UUID", path)
		return nil
	}
	if len(ni.plans) >= maxNodes {
		if len(ni.plans) == maxNodes {
			ni.errs.Add("federation", "holds more than %d nodes", maxNodes)
		}
		return nil
	}
	found := ni.find(id, strings.TrimSpace(in.Name), parent)
	if len(found) > 1 {
		ni.errs.Add(field+".name", "%s: there are several nodes of this name; say which by its id", path)
		return nil
	}
	p := &nodePlan{path: path, field: field, wanted: map[string]rule.Attachment{}}
	name := above + "\n" + strings.TrimSpace(in.Name) // is no id
	key := cmp.Or(id, name)
	if len(found) == 1 {
		p.existing, p.next, key = found[0], *found[0].Node, found[0].ID
	}
	if had, ok := ni.planned[key]; ok {
		if had.next.Parent() != above {
			ni.errs.Add(field, "%s: the node is in two places of the file", path)
			return nil
		}
		return had
	}
	if p.existing == nil {
		at, by := ni.ch.At, ni.ch.By
		p.next = rule.Node{ID: cmp.Or(id, audit.NewID()), ProjectID: ni.ch.Project.ID, CreatedAt: at, CreatedBy: by, UpdatedAt: at, UpdatedBy: by}
		ni.planned[name] = p
	}
	ni.plans, ni.planned[p.id()] = append(ni.plans, p), p
	return p
}

// find returns the existing nodes that have an id or, without one, a name below a parent.
func (ni *nodesImport) find(id, name string, parent *nodePlan) (found []*federation.Node) {
	tree, above := ni.before.Federation(), ""
	if parent != nil {
		above = parent.id()
	}
	ids := []string{id}
	if id == "" {
		ids = nil
		for _, n := range tree.Children(above) {
			if n.Name == name {
				ids = append(ids, n.ID)
			}
		}
	}
	for _, id := range ids {
		if n, ok := tree.Node(id); ok {
			found = append(found, n)
		}
	}
	return found
}

// fill sets the fields of a node that the file has.
func (ni *nodesImport) fill(p *nodePlan, in *wire.FileNode, parent *nodePlan) {
	p.next.Name = in.Name
	rule.Set(&p.next.Description, in.Description)
	rule.Set(&p.next.DefaultScope, in.DefaultScope)
	if in.Repositories != nil {
		p.next.Repositories = slices.Clone(in.Repositories)
	}
	ni.fillOwnRules(p, in)
	p.next.ParentID = nil
	if parent != nil {
		above := parent.id()
		p.next.ParentID = &above
	}
	switch {
	case in.Level != "":
		p.next.Level = in.Level
	case p.next.Level != "":
	case parent == nil:
		p.next.Level = rule.LevelOrganization
	default:
		if i := slices.Index(rule.Levels, parent.next.Level); i >= 0 && i+1 < len(rule.Levels) {
			p.next.Level = rule.Levels[i+1]
		}
	}
	p.next.Normalize()
}

// fillOwnRules sets whether a node has only its own rules. The reason in the file is the permission.
func (ni *nodesImport) fillOwnRules(p *nodePlan, in *wire.FileNode) {
	if in.OwnRulesOnly == nil {
		return
	}
	if *in.OwnRulesOnly && !p.next.OwnRulesOnly {
		p.next.OwnRulesSince, p.next.OwnRulesBy = &ni.ch.At, ni.ch.By
	}
	p.next.OwnRulesOnly, p.next.OwnRulesReason = *in.OwnRulesOnly, in.OwnRulesReason
}

// want notes the attachments that a node is to have.
func (ni *nodesImport) want(p *nodePlan, in *wire.FileNode, field string) {
	attach := func(field string, o wire.FileOverride) {
		if ni.room--; ni.room < 0 {
			if ni.room == -1 {
				ni.errs.Add("federation", "attaches more than %d rules", maxAttachments)
			}
			return
		}
		in := AttachInput{Rule: o.Rule, Overrides: o.InsteadOf, Permission: rule.Permission{AllowWeakening: o.AllowWeakening, Reason: o.Reason}}
		if err := in.validate(); err != nil {
			ni.errs.AddAll(field, err)
			return
		}
		r, ok := ni.rules.get(in.Rule)
		if !ok || r.Status == rule.Retired {
			ni.errs.Add(field, "%s: there is no rule %q", p.path, in.Rule)
			return
		}
		a := rule.Attachment{
			NodeID: p.id(), RuleID: r.ID, AllowWeakening: in.AllowWeakening, Reason: in.Reason, CreatedAt: ni.ch.At, CreatedBy: ni.ch.By,
		}
		if in.Overrides != "" {
			target, ok := ni.rules.get(in.Overrides)
			if !ok {
				ni.errs.Add(field, "%s: there is no rule %q", p.path, in.Overrides)
				return
			}
			a.OverrideID = &target.ID
		}
		if n, ok := ni.before.Federation().Node(a.NodeID); !ok || n.Attachment(a.RuleID) == nil || n.Attachment(a.RuleID).Override() != a.Override() {
			a.AllowWeakening = counting(&ni.ch.Project, in.Permission).AllowWeakening // what is attached so already has been approved
		}
		if had, twice := p.wanted[a.RuleID]; twice && had.Override() != a.Override() {
			ni.errs.Add(field, "%s: the rule %s is attached in two ways", p.path, in.Rule)
			return
		}
		p.wanted[a.RuleID] = a
	}
	for i, ref := range in.Rules {
		attach(fmt.Sprintf("%s.rules[%d]", field, i), wire.FileOverride{Rule: ref})
	}
	for i, o := range in.Overrides {
		at := fmt.Sprintf("%s.overrides[%d]", field, i)
		if o.InsteadOf == "" {
			ni.errs.Add(at, "%s: instead_of is missing; list the rule under rules to override nothing", p.path)
			continue
		}
		attach(at, o)
	}
}

// settle compares the plans with the existing nodes, and makes the tree after the import.
func (ni *nodesImport) settle() {
	tree := ni.before.Federation()
	var nodes []store.NodeState
	var attached []store.AttachmentState
	for _, p := range ni.plans {
		p.settle(ni.prune, ni.rules)
		if p.existing != nil {
			if p.fields = rule.NodeDiff(*p.existing.Node, p.next); len(p.fields) > 0 {
				p.next.UpdatedAt, p.next.UpdatedBy = ni.ch.At, ni.ch.By
			}
		}
		if p.existing == nil || len(p.fields) > 0 {
			nodes = append(nodes, store.NodeState{Node: p.next})
		}
		for _, a := range p.detach {
			attached = append(attached, store.AttachmentState{Attachment: a, Removed: true})
		}
		for _, a := range p.attach {
			attached = append(attached, store.AttachmentState{Attachment: a})
		}
	}
	if ni.prune {
		for _, n := range tree.Nodes() {
			if ni.planned[n.ID] == nil {
				ni.gone = append(ni.gone, n)
				nodes = append(nodes, store.NodeState{Node: *n.Node, Removed: true})
			}
		}
		slices.SortStableFunc(ni.gone, func(a, b *federation.Node) int { return len(tree.Chain(b.ID)) - len(tree.Chain(a.ID)) })
	}
	ni.after = tree.Apply(nodes, nil).Apply(nil, attached)
}

// settle finds what to attach and what to remove. What the file does not name is removed only if asked for, and never a rule
// whose life is over: exports do not name those.
func (p *nodePlan) settle(prune bool, rules *overlay) {
	have := map[string]bool{}
	if p.existing != nil {
		for _, a := range p.existing.Attached {
			want, ok := p.wanted[a.RuleID]
			r, known := rules.rule(a.RuleID)
			switch {
			case ok && want.Override() == a.Override() && (a.OverrideID == nil || (want.AllowWeakening == a.AllowWeakening && want.Reason == a.Reason)):
				have[a.RuleID] = true
			case ok || (prune && known && !r.Status.Ended()):
				p.detach = append(p.detach, *a)
			}
		}
	}
	for _, a := range p.wanted {
		if !have[a.RuleID] {
			p.attach = append(p.attach, a)
		}
	}
	slices.SortFunc(p.attach, func(a, b rule.Attachment) int { return strings.Compare(a.RuleID, b.RuleID) })
}

// check holds the nodes and overrides that change to the laws of the tree afterwards.
func (ni *nodesImport) check() error {
	for _, p := range ni.plans {
		if p.existing == nil || len(p.fields) > 0 {
			if err := ni.named(p, checkNode(ni.after, &p.next)); err != nil {
				return err
			}
		}
		for i := range p.attach {
			r, _ := ni.Rule(p.attach[i].RuleID)
			if err := ni.named(p, ni.alone(federation.MayOverride(ni, &p.attach[i], r))); err != nil {
				return err
			}
		}
		if ni.errs.Len() > maxErrors {
			break
		}
	}
	return ni.errs.Err("the federation of the file is invalid; nothing was imported")
}

// named notes what is invalid about a node, and returns other errors with its path.
func (ni *nodesImport) named(p *nodePlan, err error) error {
	switch code := rule.CodeOf(err); code {
	case "":
		return nil
	case rule.CodeInvalid:
		ni.errs.AddNamed(p.field, p.path, err)
		return nil
	default:
		return rule.Errorf(code, "%s: %w", p.path, err)
	}
}

func (ni *nodesImport) write(ctx context.Context) error {
	tx, project, cv := ni.ch.Tx, ni.ch.Project.ID, ni.ch.Version
	for _, p := range ni.plans {
		switch {
		case p.existing == nil:
			if err := tx.Federation.InsertNodes(ctx, project, cv, []rule.Node{p.next}); err != nil {
				return err
			}
		case len(p.fields) > 0:
			if err := tx.Federation.UpdateNode(ctx, project, cv, p.next); err != nil {
				return err
			}
		}
	}
	for _, p := range ni.plans {
		for _, a := range p.detach {
			if err := tx.Federation.RemoveAttachment(ctx, project, cv, a.NodeID, a.RuleID); err != nil {
				return err
			}
		}
		if err := tx.Federation.InsertAttachments(ctx, project, cv, p.attach); err != nil {
			return err
		}
	}
	for _, n := range ni.gone {
		if err := tx.Federation.RemoveNode(ctx, project, cv, n.ID); err != nil {
			return err
		}
	}
	return nil
}
