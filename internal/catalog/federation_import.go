package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// maxAttachments is how many rules the nodes of one file may have attached in all.
const maxAttachments = 200_000

// nodesImport is the import of a file's federation inside a transaction, after its rules are written. All of it is planned and
// checked in memory before anything is written: the tree afterwards is a tree like any other.
type nodesImport struct {
	im     *importing
	before *corpus.View // as it was before the import
	rules  *overlay     // as they are after it
	after  *federation.Tree
	plans  []*nodePlan // parents before their children
	byID   map[string]*nodePlan
	made   map[string]*nodePlan // new ones by parent and name
	gone   []*federation.Node   // deepest first
	room   int                  // attachments that the file may still hold
	errs   rule.Problems
}

// nodePlan is what the file leads to for one node.
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

// overlay is the rules of a view with some of them changed.
type overlay struct {
	view         *corpus.View
	byID, bySlug map[string]*rule.Rule
}

func newOverlay(view *corpus.View, changed []rule.Rule) *overlay {
	o := &overlay{view: view, byID: make(map[string]*rule.Rule, len(changed)), bySlug: map[string]*rule.Rule{}}
	for i := range changed {
		r := &changed[i]
		o.byID[r.ID] = r
		if r.Slug != "" && r.Status != rule.Retired {
			o.bySlug[r.Slug] = r
		}
	}
	return o
}

func (o *overlay) rule(id string) (*rule.Rule, bool) {
	if r, ok := o.byID[id]; ok {
		return r, true
	}
	return o.view.Rule(id)
}

// get finds a rule by id or slug, as [corpus.View.Get] does.
func (o *overlay) get(ref string) (*rule.Rule, bool) {
	if r, ok := o.rule(strings.ToLower(ref)); ok {
		return r, true
	}
	if r, ok := o.bySlug[ref]; ok {
		return r, true
	}
	e, ok := o.view.Get(ref)
	if !ok || o.byID[e.Rule.ID] != nil { // it has given up the slug
		return nil, false
	}
	return e.Rule, true
}

// federate makes the nodes be as the file says, or only plans it. known is the corpus before the import.
func (im *importing) federate(ctx context.Context, known *corpus.View, nodes []FileNode) error {
	ni := &nodesImport{
		im: im, before: known, rules: newOverlay(known, im.changed), byID: map[string]*nodePlan{}, made: map[string]*nodePlan{},
		room: maxAttachments,
	}
	ni.walk(ctx, nodes, nil, "federation", "")
	if err := ni.errs.Err("the federation of the file is invalid; nothing was imported"); err != nil {
		return err
	}
	ni.settle()
	if err := ni.check(); err != nil {
		return err
	}
	if err := ni.write(ctx); err != nil {
		return err
	}
	im.result.Federation = ni.effects()
	for _, p := range ni.plans {
		im.attached = append(im.attached, p.attach...)
		im.detached = append(im.detached, p.detach...)
	}
	return nil
}

// walk plans nodes and, below them, their children.
func (ni *nodesImport) walk(ctx context.Context, nodes []FileNode, parent *nodePlan, field, path string) {
	for i := range nodes {
		in := &nodes[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		p := ni.match(ctx, in, parent, at, strings.TrimPrefix(path+"/"+strings.TrimSpace(in.Name), "/"))
		if p == nil {
			continue
		}
		ni.fill(p, in, parent)
		ni.want(ctx, p, in, at)
		ni.walk(ctx, in.Children, p, at+".children", p.path)
	}
}

// match finds what a node of the file stands for: one that is planned already, one that exists, or a new one.
func (ni *nodesImport) match(ctx context.Context, in *FileNode, parent *nodePlan, field, path string) *nodePlan {
	id, tree := strings.ToLower(in.ID), ni.before.Federation()
	if id != "" && !rule.IsID(id) {
		ni.errs.Add(field+".id", "%s: must be a UUID", path)
		return nil
	}
	if len(ni.plans) >= MaxImport {
		if len(ni.plans) == MaxImport {
			ni.errs.Add("federation", "holds more than %d nodes", MaxImport)
		}
		return nil
	}
	var existing *federation.Node
	above := ""
	if parent != nil {
		above = parent.id()
	}
	name := above + "\n" + strings.TrimSpace(in.Name)
	switch {
	case id != "":
		existing, _ = tree.Node(id)
	case parent == nil || parent.existing != nil:
		for _, n := range tree.Children(above) {
			if n.Name != strings.TrimSpace(in.Name) {
				continue
			}
			if existing != nil {
				ni.errs.Add(field+".name", "%s: there are several nodes of this name; say which by its id", path)
				return nil
			}
			existing, _ = tree.Node(n.ID)
		}
	}
	if existing != nil {
		id = existing.ID
	} else if id == "" {
		if p, ok := ni.made[name]; ok {
			return p
		}
		id = audit.NewID()
	}
	if p, ok := ni.byID[id]; ok {
		if p.next.Parent() != above {
			ni.errs.Add(field, "%s: the node stands in two places of the file", path)
			return nil
		}
		return p
	}
	now, who := ni.im.c.instant(), auth.ActorFrom(ctx).Name
	p := &nodePlan{path: path, field: field, existing: existing, wanted: map[string]rule.Attachment{}}
	if existing != nil {
		p.next = *existing.Node
	} else {
		p.next = rule.Node{ID: id, ProjectID: ni.im.project.ID, CreatedAt: now, CreatedBy: who, UpdatedAt: now, UpdatedBy: who}
	}
	ni.plans, ni.byID[id] = append(ni.plans, p), p
	if existing == nil {
		ni.made[name] = p
	}
	return p
}

// fill sets the fields of a node that the file has.
func (ni *nodesImport) fill(p *nodePlan, in *FileNode, parent *nodePlan) {
	p.next.Name = in.Name
	set(&p.next.Description, in.Description)
	set(&p.next.DefaultScope, in.DefaultScope)
	if in.Repositories != nil {
		p.next.Repositories = slices.Clone(in.Repositories)
	}
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

// want notes the attachments that a node is to have.
func (ni *nodesImport) want(ctx context.Context, p *nodePlan, in *FileNode, field string) {
	now, who := ni.im.c.instant(), auth.ActorFrom(ctx).Name
	attach := func(field string, o FileOverride) {
		if ni.room--; ni.room < 0 {
			if ni.room == -1 {
				ni.errs.Add("federation", "attaches more than %d rules", maxAttachments)
			}
			return
		}
		in := AttachInput{Rule: o.Rule, Overrides: o.InsteadOf, AllowWeakening: o.AllowWeakening, Reason: o.Reason}
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
			NodeID: p.id(), RuleID: r.ID, AllowWeakening: in.AllowWeakening, Reason: in.Reason, CreatedAt: now, CreatedBy: who,
		}
		if in.Overrides != "" {
			target, ok := ni.rules.get(in.Overrides)
			if !ok {
				ni.errs.Add(field, "%s: there is no rule %q", p.path, in.Overrides)
				return
			}
			a.OverrideID = &target.ID
		}
		if had, twice := p.wanted[a.RuleID]; twice && had.Override() != a.Override() {
			ni.errs.Add(field, "%s: the rule %s is attached in two ways", p.path, in.Rule)
			return
		}
		p.wanted[a.RuleID] = a
	}
	for i, ref := range in.Rules {
		attach(fmt.Sprintf("%s.rules[%d]", field, i), FileOverride{Rule: ref})
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

// settle compares the plans with what there is, and makes the tree afterwards.
func (ni *nodesImport) settle() {
	tree := ni.before.Federation()
	var nodes []store.NodeState
	var attached []store.AttachmentState
	for _, p := range ni.plans {
		p.settle(ni.im.o.Prune, ni.rules)
		if p.existing != nil {
			if p.fields = rule.NodeDiff(*p.existing.Node, p.next); len(p.fields) > 0 {
				p.next.UpdatedAt, p.next.UpdatedBy = ni.im.c.instant(), ni.im.who
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
	if ni.im.o.Prune {
		for _, n := range tree.Nodes() {
			if ni.byID[n.ID] == nil {
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
			case ok || (prune && known && !over(r)):
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
			err := validateNode(&p.next)
			if err == nil {
				err = ni.after.MayStand(&p.next)
			}
			if err == nil {
				err = ni.after.Taken(&p.next)
			}
			if err = ni.named(p, err); err != nil {
				return err
			}
		}
		for i := range p.attach {
			r, _ := ni.Rule(p.attach[i].RuleID)
			if err := ni.named(p, federation.MayOverride(ni, &p.attach[i], r)); err != nil {
				return err
			}
		}
		if ni.errs.Len() > maxImportErrors {
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
		if e, ok := errors.AsType[*rule.Error](err); ok {
			for i := range e.Fields {
				e.Fields[i].Message = p.path + ": " + e.Fields[i].Message
			}
		}
		ni.errs.AddAll(p.field, err)
		return nil
	default:
		return rule.Errorf(code, "%s: %w", p.path, err)
	}
}

func (ni *nodesImport) write(ctx context.Context) error {
	tx, project, cv := ni.im.tx, ni.im.project.ID, ni.im.cv
	for _, p := range ni.plans {
		switch {
		case p.existing == nil:
			if err := tx.InsertNodes(ctx, project, cv, []rule.Node{p.next}); err != nil {
				return err
			}
		case len(p.fields) > 0:
			if err := tx.UpdateNode(ctx, project, cv, p.next); err != nil {
				return err
			}
		}
	}
	for _, p := range ni.plans {
		for _, a := range p.detach {
			if err := tx.RemoveAttachment(ctx, project, cv, a.NodeID, a.RuleID); err != nil {
				return err
			}
		}
		if err := tx.InsertAttachments(ctx, project, cv, p.attach); err != nil {
			return err
		}
	}
	for _, n := range ni.gone {
		if err := tx.RemoveNode(ctx, project, cv, n.ID); err != nil {
			return err
		}
	}
	return nil
}
