package release

import (
	"context"
	"reflect"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// MaxDiff is how many rules of each kind a difference lists at most; all are counted.
const MaxDiff = 1000

// Difference tells how one snapshot differs from another.
type Difference struct {
	From          string         `json:"from" doc:"The snapshot that is compared with."`
	To            string         `json:"to" doc:"The snapshot that is compared."`
	RulesAdded    int            `json:"rules_added" doc:"Rules that only the second holds."`
	RulesRemoved  int            `json:"rules_removed" doc:"Rules that only the first holds."`
	RulesModified int            `json:"rules_modified" doc:"Rules that both hold, in versions that differ."`
	Relationships int            `json:"relationships_changed" doc:"Relationships that only one of them holds."`
	Federation    bool           `json:"federation_changed" doc:"True if nodes, or what is attached to them, differ."`
	Added         []RuleNote     `json:"added" nullable:"false" doc:"The added rules, the first 1000."`
	Removed       []RuleNote     `json:"removed" nullable:"false" doc:"The removed rules, the first 1000."`
	Modified      []RuleModified `json:"modified" nullable:"false" doc:"The modified rules with what differs, the first 1000."`
	Truncated     bool           `json:"truncated" doc:"True if not all rules are listed."`
}

// RuleNote names a rule.
type RuleNote struct {
	RuleID    string        `json:"rule_id" doc:"The rule."`
	Slug      string        `json:"slug,omitempty" doc:"Its slug."`
	Version   int           `json:"version" doc:"Its version in the snapshot."`
	Statement string        `json:"statement" doc:"What it says."`
	Severity  rule.Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Its severity."`
	Status    rule.Status   `json:"status" enum:"DRAFT,REVIEW,APPROVED,EFFECTIVE,SUPERSEDED,RETIRED" doc:"Its status."`
}

// RuleModified names a rule whose versions differ.
type RuleModified struct {
	RuleNote
	FromVersion int                `json:"from_version" doc:"Its version in the first snapshot."`
	Fields      []rule.FieldChange `json:"fields" nullable:"false" doc:"What differs."`
}

// Diff compares two snapshots of a project.
func (r *Releases) Diff(ctx context.Context, projectID, from, to string) (Difference, error) {
	_, a, err := r.manifest(ctx, projectID, from)
	if err != nil {
		return Difference{}, err
	}
	_, b, err := r.manifest(ctx, projectID, to)
	if err != nil {
		return Difference{}, err
	}
	d := Difference{From: from, To: to, Added: []RuleNote{}, Removed: []RuleNote{}, Modified: []RuleModified{}}
	c := compare(a, b)
	d.RulesAdded, d.RulesRemoved, d.Relationships = len(c.added), len(c.removed), c.relationships
	d.Federation = !reflect.DeepEqual(a.Federation, b.Federation)
	d.Truncated = max(len(c.added), len(c.removed)) > MaxDiff
	if d.Added, err = r.notes(ctx, projectID, c.added); err != nil {
		return d, err
	}
	if d.Removed, err = r.notes(ctx, projectID, c.removed); err != nil {
		return d, err
	}
	return d, r.modified(ctx, projectID, c, &d)
}

// notes names the first rules of a list.
func (r *Releases) notes(ctx context.Context, projectID string, refs []store.VersionRef) ([]RuleNote, error) {
	refs = refs[:min(len(refs), MaxDiff)]
	rules, err := r.store.RulesAt(ctx, projectID, refs)
	out := make([]RuleNote, 0, len(refs))
	for _, ref := range refs {
		if one, ok := rules[ref.RuleID]; ok {
			out = append(out, noteOf(&one))
		}
	}
	return out, err
}

func noteOf(r *rule.Rule) RuleNote {
	return RuleNote{RuleID: r.ID, Slug: r.Slug, Version: r.Version, Statement: r.Statement, Severity: r.Severity, Status: r.Status}
}

// modified fills in the rules whose versions differ. A rule that was changed and changed back has new versions but is the same.
func (r *Releases) modified(ctx context.Context, projectID string, c comparison, d *Difference) error {
	before, err := r.store.RulesAt(ctx, projectID, c.before)
	if err != nil {
		return err
	}
	after, err := r.store.RulesAt(ctx, projectID, c.after)
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
		d.Modified = append(d.Modified, RuleModified{RuleNote: noteOf(&y), FromVersion: x.Version, Fields: fields})
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
	type edge struct{ from, to, kind string }
	count := map[edge]int{}
	for _, rel := range a.Relationships {
		count[edge{rel.FromID, rel.ToID, string(rel.Kind)}]--
	}
	for _, rel := range b.Relationships {
		count[edge{rel.FromID, rel.ToID, string(rel.Kind)}]++
	}
	for _, n := range count {
		c.relationships += max(n, -n)
	}
	return c
}
