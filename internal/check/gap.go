package check

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"tenet/internal/diff"
	"tenet/internal/ledger"
	"tenet/internal/text"
)

// A gap is a part of a subject that nobody can read: content that no hunk shows, a fact that is null. In expressions it is a CEL
// unknown. Functions pass unknowns on; && and || and loops do without them where something else decides. So an expression has a
// result only if it is the same whatever is in the gap.
type gap struct {
	text    string // what is not known and why, such as "a.py: the file is binary"
	units   []int  // of the subject
	unknown *types.Unknown
}

// gaps lists the gaps of one kind. The id of an unknown is the number of its gap, from base up. Gaps beyond maxGaps share the last
// number, since CEL copies the set of numbers with every step of a loop.
type gaps struct {
	base int64
	list []gap
	more int
}

const maxGaps = 32

// Bases of the kinds of gaps.
const (
	contentGaps = (iota + 1) * 100 // content that no hunk shows
	partGaps                       // lines of a file around those that a diff shows
	nameGaps                       // names of a file of which there are several readings
	factGaps                       // facts that are null
	commandGaps                    // commands and arguments that are not known
	caseGap                        // the case of paths; its attributes are the paths
	nameGap                        // the spelling of a repository or scope; its attributes are the reasons
	codeGaps                       // source code that cannot be read for certain
)

// add notes a gap and returns its unknown.
func (g *gaps) add(unit int, format string, args ...any) *types.Unknown {
	if n := len(g.list); n == maxGaps {
		last := &g.list[n-1]
		last.units = append(last.units, unit)
		g.more++
		return last.unknown
	}
	unknown := types.NewUnknown(g.base+int64(len(g.list)), nil)
	g.list = append(g.list, gap{text.Fit(fmt.Sprintf(format, args...), maxShort, "..."), []int{unit}, unknown})
	return unknown
}

// gapOf returns the gap with an id, and how many others share it.
func (in *Input) gapOf(id int64) (found *gap, more int) {
	var g *gaps
	switch id / 100 * 100 {
	case contentGaps:
		g = &in.files().content
	case partGaps:
		g = &in.files().parts
	case nameGaps:
		g = &in.files().names
	case commandGaps:
		g = &in.commands().gaps
	case codeGaps:
		g = &in.codes().gaps
	default:
		g = &in.celFacts().gaps
	}
	n := int(id - g.base)
	if n == maxGaps-1 {
		more = g.more
	}
	return &g.list[n], more
}

// openBy returns the answer of an expression that depends on gaps.
func (in *Input) openBy(u *types.Unknown) answer {
	a := answer{}
	var texts []string
	more := 0
	for _, id := range u.IDs() {
		trails, _ := u.GetAttributeTrails(id)
		switch id {
		case caseGap:
			texts = append(texts, text.Fit(trails[0].Variable(), maxShort, "...")+": it matches a glob only if case is ignored")
			more += len(trails) - 1
			continue
		case nameGap:
			for _, trail := range trails {
				texts = append(texts, trail.Variable())
			}
			continue
		}
		found, others := in.gapOf(id)
		a.gaps = append(a.gaps, found.units...)
		more += others
		if len(texts) < maxNamedGaps {
			texts = append(texts, found.text)
		} else {
			more++
		}
	}
	a.reason = "depends on what is not known: " + strings.Join(texts, "; ")
	if more > 0 {
		a.reason += fmt.Sprintf("; and %d more", more)
	}
	return a
}

const maxNamedGaps = 5 // in one reason

// isNull reports whether a value is that of a fact that is null.
func isNull(v ref.Val) bool {
	u, ok := v.(*types.Unknown)
	if !ok {
		return false
	}
	ids := u.IDs()
	return len(ids) == 1 && ids[0] >= factGaps && ids[0] < commandGaps
}

// nullReason explains a fact that is null.
func nullReason(path factPath) string {
	return fmt.Sprintf("fact %q is null", text.Fit(path.String(), maxShort, "..."))
}

// partial says why the hunks do not show all lines of the new version of a file; it is empty if they do.
func partial(f *diff.File) string {
	if reason := f.Hidden(); reason != "" {
		return reason
	}
	switch f.Change {
	case diff.Whole, diff.Added, diff.Deleted, diff.Renamed, diff.Copied: // it comes from nowhere else, so its hunks have all of it
		return ""
	case diff.Modified, diff.Mode:
	}
	if f.Media != "" || diff.IsEmptyBlob(f.NewBlob) {
		return ""
	}
	return "the diff shows only a part of it; look at the added lines instead"
}

// gapUnit returns the unit of a file that holds its gap.
func (in *Input) gapUnit(file int) int {
	if unit := in.units().Content(file); unit >= 0 {
		return unit
	}
	return in.units().Name(file)
}

// codeUnit returns the unit of a file that its source code is in.
func (in *Input) codeUnit(file int) int {
	if from, to := in.units().Hunks(file); to > from {
		return from
	}
	return in.gapUnit(file)
}

// without returns the units of a set that are not in another one.
func without(set, other *ledger.Set) *ledger.Set {
	out := &ledger.Set{}
	for unit := range set.All {
		if !other.Has(unit) {
			out.Add(unit)
		}
	}
	return out
}
