package federation

import (
	"tenet/internal/rule"
)

// Diff holds the changes that a node makes to the rules that hold at its parent.
type Diff struct {
	NodeID   string
	ParentID *string
	// Added are the rules that the node brings in, Overrides those that it puts in the place of others.
	Added     []*rule.Rule
	Overrides []Override
	// Inherited counts the rules that hold at the node because they hold at its parent.
	Inherited int
}

// Override is a rule and the one above that it replaces.
type Override struct{ Parent, Child *rule.Rule }

// DiffOf compares the set of a node with its parent's.
func DiffOf(src Source, set *Set) Diff {
	d := Diff{NodeID: set.NodeID}
	if n, ok := src.Federation().Node(set.NodeID); ok {
		d.ParentID = n.ParentID
	}
	for i := range set.Entries {
		e := &set.Entries[i]
		switch {
		case e.Inherited, e.above && e.Overrides == "":
			d.Inherited++
		case e.Overrides != "":
			parent, ok := src.Rule(e.Overrides)
			if !ok {
				parent = &rule.Rule{ID: e.Overrides}
			}
			d.Overrides = append(d.Overrides, Override{parent, e.Rule})
		default:
			d.Added = append(d.Added, e.Rule)
		}
	}
	return d
}
