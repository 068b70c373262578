package check

import (
	"fmt"
	"slices"

	"tenet/internal/diff"
	"tenet/internal/ledger"
)

// view is the part of a subject that patterns with the same scope are about. Many patterns share one, so that a pattern whose
// literals are absent costs well below a microsecond.
type view struct {
	about, seen *ledger.Set
	texts       []*content
	// missing names what the patterns are about and have not seen; empty if they have seen all.
	missing string
	// added and any say what patterns look at, those for added lines only and the others.
	added, any looked
}

// looked counts the lines and texts that a pattern reads.
type looked struct {
	lines, texts int
	text         string // in words; why there are none if there are none
}

// maxViews bounds the views that an input keeps.
const maxViews = 4_096

// view returns the part of the subject in a scope.
func (in *Input) view(s *scope) *view {
	in.viewsMu.RLock()
	v := in.views[s.key]
	in.viewsMu.RUnlock()
	if v != nil {
		return v
	}
	v = in.newView(s)
	in.viewsMu.Lock()
	defer in.viewsMu.Unlock()
	if len(in.views) < maxViews {
		if in.views == nil {
			in.views = map[string]*view{}
		}
		in.views[s.key] = v
	}
	return v
}

func (in *Input) newView(s *scope) *view {
	units := in.units()
	v := &view{about: ledger.NewSet(units.Len()), seen: ledger.NewSet(units.Len())}
	inScope := make([]bool, len(in.subject.Files))
	for i := range in.subject.Files {
		if inScope[i] = s.wants(&in.subject.Files[i]); inScope[i] {
			in.addAbout(v.about, i)
		}
	}
	for _, t := range in.fileTexts() {
		if inScope[t.file] {
			v.seen.AddRange(units.Hunks(t.file))
			v.texts = append(v.texts, t)
		}
	}
	if s.paths.Empty() {
		v.texts = append(v.texts, in.looseTexts()...)
		loose := units.Of(ledger.Action, ledger.Facts)
		v.about, v.seen = ledger.Union(v.about, loose), ledger.Union(v.seen, loose)
	}
	v.missing = in.missing(v.about, v.seen)
	for _, t := range v.texts {
		v.any.add(len(t.lines))
		v.added.add(t.added)
	}
	nothing := "no lines are added in the files that the pattern looks at"
	switch {
	case len(in.subject.Files) == 0:
		nothing = "the subject has no text that the pattern looks at"
	case !slices.Contains(inScope, true):
		nothing = "no file of the subject is among the paths of the pattern"
	}
	v.any.describe(nothing)
	v.added.describe(nothing)
	return v
}

// addAbout adds the units of a file that a pattern for it is about: the hunks with new lines, and hidden content.
func (in *Input) addAbout(about *ledger.Set, file int) {
	units := in.units()
	from, to := units.Hunks(file)
	for unit := from; unit < to; unit++ {
		if units.At(unit).Bytes > 0 {
			about.Add(unit)
		}
	}
	if hidden := units.Content(file); hidden >= 0 && units.At(hidden).Media == "" && in.subject.Files[file].Change != diff.Deleted {
		about.Add(hidden)
	}
}

func (l *looked) add(lines int) {
	if lines > 0 {
		l.lines += lines
		l.texts++
	}
}

func (l *looked) describe(nothing string) {
	lines, texts := "1 line", "1 text"
	if l.lines > 1 {
		lines = fmt.Sprintf("%d lines", l.lines)
	}
	if l.texts > 1 {
		texts = fmt.Sprintf("%d texts", l.texts)
	}
	if l.text = lines + " of " + texts; l.lines == 0 {
		l.text = nothing
	}
}

// newGrams returns the pieces of all texts that patterns look at.
func (in *Input) newGrams() *grams {
	size := 0
	texts := slices.Concat(in.fileTexts(), in.looseTexts())
	for _, t := range texts {
		size += len(t.body)
		if t.again != nil {
			size += len(t.again.body)
		}
	}
	g := &grams{}
	g.room(size)
	for _, t := range texts {
		g.add(t.body)
		if t.again != nil {
			g.add(t.again.body)
		}
	}
	return g
}
