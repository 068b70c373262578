package release

import (
	"context"
	"fmt"
	"reflect"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// MaxDiff is how many rules of each kind a page of a difference lists at most; all are counted.
const MaxDiff = 1000

// comparer compares snapshots. It is safe for concurrent use.
type comparer struct {
	releases store.ReleaseReader
	rules    store.RuleReader
	live     LiveViews
	kept     differences
}

// Diff compares two snapshots of a project, of which either may be [wire.LiveRules], and returns a page of the rules that differ.
func (r *comparer) Diff(ctx context.Context, projectID, from, to string, q wire.DiffQuery) (wire.Difference, error) {
	out := wire.Difference{From: from, To: to, Added: []wire.RuleNote{}, Removed: []wire.RuleNote{}, Modified: []wire.RuleModified{}}
	d, err := r.difference(ctx, projectID, from, to)
	if err != nil {
		return out, err
	}
	names, err := named(ctx, r.releases, projectID, []store.Deployment{{SnapshotID: from}, {SnapshotID: to}})
	if err != nil {
		return out, err
	}
	out.FromName, out.ToName = names[from], names[to]
	out.RulesAdded, out.RulesRemoved, out.RulesModified = len(d.added), len(d.removed), len(d.after)
	out.Relationships, out.Federation = d.relationships, d.federation
	page := func(change string, refs []store.VersionRef) []store.VersionRef {
		if q.Change != "" && q.Change != change {
			return nil
		}
		rest := refs[min(q.Offset, len(refs)):]
		out.Truncated = out.Truncated || len(rest) > q.Limit
		return rest[:min(q.Limit, len(rest))]
	}
	if out.Added, err = r.notes(ctx, projectID, page("added", d.added)); err != nil {
		return out, err
	}
	if out.Removed, err = r.notes(ctx, projectID, page("removed", d.removed)); err != nil {
		return out, err
	}
	out.Modified, err = r.modified(ctx, projectID, page("modified", d.before), page("modified", d.after))
	return out, err
}

// notes names rules.
func (r *comparer) notes(ctx context.Context, projectID string, refs []store.VersionRef) ([]wire.RuleNote, error) {
	rules, err := r.rules.AtVersions(ctx, projectID, refs)
	out := make([]wire.RuleNote, 0, len(refs))
	for _, ref := range refs {
		if one, ok := rules[ref.RuleID]; ok {
			out = append(out, noteOf(&one))
		}
	}
	return out, err
}

func noteOf(r *rule.Rule) wire.RuleNote {
	return wire.RuleNote{RuleID: r.ID, Slug: r.Slug, Version: r.Version, Statement: r.Statement, Severity: r.Severity, Status: r.Status}
}

// modified returns how rules differ between two lists of their versions, which are in one order.
func (r *comparer) modified(ctx context.Context, projectID string, before, after []store.VersionRef) ([]wire.RuleModified, error) {
	out := make([]wire.RuleModified, 0, len(after))
	err := r.eachPair(ctx, projectID, before, after, func(_ int, x, y *rule.Rule) {
		out = append(out, wire.RuleModified{RuleNote: noteOf(y), FromVersion: x.Version, Fields: rule.Diff(*x, *y)})
	})
	return out, err
}

// eachPair calls a function with the two versions of each rule of two lists.
func (r *comparer) eachPair(ctx context.Context, projectID string, before, after []store.VersionRef, do func(i int, x, y *rule.Rule)) error {
	old, err := r.rules.AtVersions(ctx, projectID, before)
	if err != nil {
		return err
	}
	now, err := r.rules.AtVersions(ctx, projectID, after)
	if err != nil {
		return err
	}
	for i, ref := range after {
		x, okX := old[ref.RuleID]
		y, okY := now[ref.RuleID]
		if !okX || !okY {
			return rule.Errorf(rule.CodeInternal, "rule %s of a snapshot is not stored in the version that the snapshot names", ref.RuleID)
		}
		do(i, &x, &y)
	}
	return nil
}

// difference returns how two snapshots differ. Snapshots never change, so that it is worked out once.
func (r *comparer) difference(ctx context.Context, projectID, from, to string) (*difference, error) {
	a, err := r.side(ctx, projectID, from)
	if err != nil {
		return nil, err
	}
	b, err := r.side(ctx, projectID, to)
	if err != nil {
		return nil, err
	}
	s := r.kept.slot(projectID + " " + a.key + " " + b.key)
	s.making.Lock()
	defer s.making.Unlock()
	if s.made != nil {
		return s.made, nil
	}
	d, err := r.work(ctx, projectID, a, b)
	if err != nil {
		return nil, err
	}
	s.made = d
	return d, nil
}

// side is one of two things that are compared.
type side struct {
	key      string // names its content
	manifest func() (*Manifest, error)
}

// side finds a snapshot, or the live rules.
func (r *comparer) side(ctx context.Context, projectID, id string) (side, error) {
	if id != wire.LiveRules {
		found, err := r.releases.Named(ctx, projectID, []string{id})
		if err == nil && len(found) == 0 {
			err = rule.NotFound("snapshot", id)
		}
		return side{id, func() (*Manifest, error) {
			_, m, err := manifestOf(ctx, r.releases, projectID, id)
			return m, err
		}}, err
	}
	view, err := r.live.View(ctx, projectID)
	if err != nil {
		return side{}, err
	}
	return side{fmt.Sprint(wire.LiveRules, view.Version()), func() (*Manifest, error) {
		m, _, _ := list(view)
		return m, nil
	}}, nil
}

// work compares two manifests, and the rules whose versions differ: one that was changed and changed back has new versions but is the same.
func (r *comparer) work(ctx context.Context, projectID string, from, to side) (*difference, error) {
	a, err := from.manifest()
	if err != nil {
		return nil, err
	}
	b, err := to.manifest()
	if err != nil {
		return nil, err
	}
	d := compare(a, b)
	d.federation = !reflect.DeepEqual(a.Federation, b.Federation)
	before, after := d.before, d.after
	d.before, d.after = nil, nil
	for at := 0; at < len(after); at += MaxDiff {
		end := min(at+MaxDiff, len(after))
		err := r.eachPair(ctx, projectID, before[at:end], after[at:end], func(i int, x, y *rule.Rule) {
			if len(rule.Diff(*x, *y)) > 0 {
				d.before, d.after = append(d.before, before[at+i]), append(d.after, after[at+i])
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// difference is how two manifests differ.
type difference struct {
	added, removed []store.VersionRef
	before, after  []store.VersionRef // of rules in both whose versions differ, in one order
	relationships  int
	federation     bool
}

// compare walks two manifests side by side; their items are in order of rule id.
func compare(a, b *Manifest) *difference {
	c := &difference{}
	i, k := 0, 0
	for i < len(a.Items) || k < len(b.Items) {
		switch {
		case k == len(b.Items) || (i < len(a.Items) && a.Items[i].RuleID < b.Items[k].RuleID):
			c.removed = append(c.removed, store.VersionRef(a.Items[i]))
			i++
		case i == len(a.Items) || b.Items[k].RuleID < a.Items[i].RuleID:
			c.added = append(c.added, store.VersionRef(b.Items[k]))
			k++
		default:
			if a.Items[i].Version != b.Items[k].Version {
				c.before, c.after = append(c.before, store.VersionRef(a.Items[i])), append(c.after, store.VersionRef(b.Items[k]))
			}
			i, k = i+1, k+1
		}
	}
	type edge struct {
		from, to string
		kind     rule.RelationKind
		weakens  bool
	}
	count := map[edge]int{}
	for _, rel := range a.Relationships {
		count[edge{rel.FromID, rel.ToID, rel.Kind, rel.AllowWeakening}]--
	}
	for _, rel := range b.Relationships {
		count[edge{rel.FromID, rel.ToID, rel.Kind, rel.AllowWeakening}]++
	}
	for _, n := range count {
		c.relationships += max(n, -n)
	}
	return c
}
