package ledger

import (
	"fmt"
	"maps"
	"slices"

	"tenet/internal/rule"
)

// Over returns the account over the units of a larger subject, where the unit u of this one has the number numbers[u].
func (a *Account) Over(units *Units, numbers []int) Account {
	move := func(s *Set) *Set {
		if s == nil {
			return nil
		}
		out := NewSet(units.Len())
		for unit := range s.All {
			if unit < len(numbers) {
				out.Add(numbers[unit])
			}
		}
		return out
	}
	out := Account{units: units, about: move(a.about)}
	for e := range a.examinations {
		out.Examined(e.by, move(e.units))
	}
	for unit, reason := range a.gaps {
		if unit < len(numbers) {
			out.Gap(numbers[unit], reason)
		}
	}
	return out
}

// maxCovered bounds the unexamined units that a coverage lists.
const maxCovered = 100

// Cover sums accounts up. A unit counts as examined if some rule has it examined and no rule misses it; an account without any
// examination, whose verdict says why nothing could decide, makes a unit unexamined only if no other has examined it. All accounts
// are over units.
func Cover(c *rule.Coverage, units *Units, accounts ...Account) {
	examined, missed, unseen := NewSet(units.Len()), NewSet(units.Len()), NewSet(units.Len())
	reasons := map[int]string{}
	for i := range accounts {
		a := &accounts[i]
		if a.about == nil {
			continue
		}
		for w := range a.about.words {
			missing := a.missing(w)
			if a.count > 0 {
				missed.words[w] |= missing
				examined.words[w] |= a.about.words[w] &^ missing
			}
			unseen.words[w] |= a.about.words[w] & units.unseen.word(w)
		}
		maps.Copy(reasons, a.gaps)
	}
	for unit := range reasons {
		if !examined.Has(unit) {
			missed.Add(unit)
		}
	}
	if examined.Empty() && missed.Empty() {
		if units.Len() > 0 {
			c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: "all", Reason: "no check and no model has looked at the subject"})
		}
		return
	}
	hidden := map[string]bool{} // files with units that are not examined
	open := func(unit int) bool {
		u := units.At(unit)
		return missed.Has(unit) || u.Unseen != "" || !examined.Has(unit) && (u.Kind == Text && u.Bytes > 0 || u.Kind == Action || u.Kind == Facts)
	}
	for unit := range units.list {
		u := units.At(unit)
		switch {
		case open(unit):
			hidden[u.Path] = true
		case u.Kind == Text:
			c.HunksExamined++
			c.BytesExamined += u.Bytes
		default:
			c.BytesExamined += u.Bytes
		}
	}
	for unit := range units.list {
		if u := units.At(unit); u.Kind == Name && !hidden[u.Path] && u.Media == "" {
			c.FilesExamined++
		}
	}
	listUnexamined(c, units, missed, unseen, reasons)
}

// listUnexamined lists the units that some rule misses or that nobody can see, and media, which no rule is about.
func listUnexamined(c *rule.Coverage, units *Units, missed, unseen *Set, reasons map[int]string) {
	more := 0
	add := func(part, reason string) {
		switch u := (rule.Unexamined{Part: part, Reason: reason}); {
		case slices.Contains(c.Unexamined, u):
		case len(c.Unexamined) == maxCovered:
			more++
		default:
			c.Unexamined = append(c.Unexamined, u)
		}
	}
	for unit := range units.list {
		switch u := units.At(unit); {
		case u.Media != "":
			add(u.Path, "it is "+u.Media+", which rules about text do not concern")
		case unseen.Has(unit):
			add(u.Path, u.Unseen)
		case missed.Has(unit) && u.Unseen == "":
			why := reasons[unit]
			if why == "" {
				why = unexplained
			}
			add(u.String(), why)
		}
	}
	if more > 0 {
		c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: fmt.Sprintf("%d more", more), Reason: "not examined either"})
	}
}
