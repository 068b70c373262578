package release

import (
	"context"
	"reflect"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// MaxDiff is how many rules of each kind a difference lists at most; all are counted.
const MaxDiff = 1000

// Diff compares two snapshots of a project.
func (r *Releases) Diff(ctx context.Context, projectID, from, to string) (wire.Difference, error) {
	_, a, err := manifestOf(ctx, r.store.Releases, projectID, from)
	if err != nil {
		return wire.Difference{}, err
	}
	_, b, err := manifestOf(ctx, r.store.Releases, projectID, to)
	if err != nil {
		return wire.Difference{}, err
	}
	d := wire.Difference{From: from, To: to, Added: []wire.RuleNote{}, Removed: []wire.RuleNote{}, Modified: []wire.RuleModified{}}
	c := compare(a, b)
	d.RulesAdded, d.RulesRemoved, d.Relationships = len(c.added), len(c.removed), c.relationships
	d.Federation = !reflect.DeepEqual(a.Federation, b.Federation)
	d.Truncated = max(len(c.added), len(c.removed)) > MaxDiff
	if d.Added, err = notes(ctx, r.store.Rules, projectID, c.added); err != nil {
		return d, err
	}
	if d.Removed, err = notes(ctx, r.store.Rules, projectID, c.removed); err != nil {
		return d, err
	}
	return d, modified(ctx, r.store.Rules, projectID, c, &d)
}

// notes names the first rules of a list.
func notes(ctx context.Context, from store.RuleReader, projectID string, refs []store.VersionRef) ([]wire.RuleNote, error) {
	refs = refs[:min(len(refs), MaxDiff)]
	rules, err := from.AtVersions(ctx, projectID, refs)
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

// modified fills in the rules whose versions differ. A rule that was changed and changed back has new versions but is the same.
func modified(ctx context.Context, from store.RuleReader, projectID string, c comparison, d *wire.Difference) error {
	before, err := from.AtVersions(ctx, projectID, c.before)
	if err != nil {
		return err
	}
	after, err := from.AtVersions(ctx, projectID, c.after)
	if err != nil {
		return err
	}
	for _, ref := range c.after {
		x, okX := before[ref.RuleID]
		y, okY := after[ref.RuleID]
		if !okX || !okY {
			return rule.Errorf(rule.CodeInternal, "rule %s of a snapshot is not stored in the version that the snapshot names", ref.RuleID)
		}
		fields := rule.Diff(x, y)
		if len(fields) == 0 {
			continue
		}
		d.RulesModified++
		if len(d.Modified) == MaxDiff {
			d.Truncated = true
			continue
		}
		d.Modified = append(d.Modified, wire.RuleModified{RuleNote: noteOf(&y), FromVersion: x.Version, Fields: fields})
	}
	return nil
}

// comparison is how two manifests differ.
type comparison struct {
	added, removed []store.VersionRef
	before, after  []store.VersionRef // of rules in both whose versions differ, in one order
	relationships  int
}

// compare walks two manifests side by side; their items are in order of rule id.
func compare(a, b *Manifest) comparison {
	var c comparison
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
