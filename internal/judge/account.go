package judge

import (
	"slices"

	"tenet/internal/ledger"
	"tenet/internal/rule"
)

// accountOf returns the account of rule i: the units of the subject that a model has seen for it, now or when it gave a stored
// verdict.
func (d *decision) accountOf(i int) ledger.Account {
	l, st := &d.layout, &d.states[i]
	a := ledger.NewAccount(l.subject.Units, l.about)
	for unit, reason := range l.gaps {
		a.Gap(unit, reason)
	}
	stored := st.storedUnits(len(l.units))
	shown := slices.Clone(stored)
	var unanswered []int
	for _, b := range d.batches {
		switch {
		case !slices.Contains(b.members, i):
		case b.answered:
			mark(shown, b.units())
		default:
			unanswered = append(unanswered, b.units()...)
		}
	}
	if slices.Contains(shown, true) {
		a.Examined(rule.ByModel, l.examined(shown)) // also a hunk with one piece shown, and a stored verdict on the other
	}
	if slices.Contains(stored, true) {
		a.Examined(rule.ByCache, l.examined(stored))
	}
	for _, u := range unanswered {
		if id := l.units[u].id; !shown[u] && a.By(id) == "" {
			a.Gap(id, "no model call about it was answered")
		}
	}
	return a
}

// storedUnits reports for each of n units whether a stored verdict covers it.
func (st *ruleState) storedUnits(n int) []bool {
	stored := make([]bool, n)
	if st.whole == nil && st.allowedUnits+len(st.denied) == 0 {
		return stored
	}
	for u := range stored {
		_, asked := slices.BinarySearch(st.need, u)
		stored[u] = st.whole != nil || !asked
	}
	return stored
}

func mark(shown []bool, units []int) {
	for _, u := range units {
		shown[u] = true
	}
}

// examined returns the units of the subject that are wholly in the units of the layout that were shown: a hunk with all its
// pieces, a file's name with any piece of the file, and with any of all what is on top of every part.
func (l *layout) examined(shown []bool) *ledger.Set {
	set := ledger.NewSet(l.subject.Len())
	for i := range l.units {
		if u := &l.units[i]; shown[i] {
			set.Add(u.id)
			if u.file >= 0 {
				set.Add(l.subject.Name(u.file))
			}
		}
	}
	for i := range l.units {
		if u := &l.units[i]; !shown[i] && (u.file < 0 || u.id != l.subject.Name(u.file)) {
			set.Remove(u.id)
		}
	}
	if !set.Empty() {
		for _, unit := range l.onTop {
			set.Add(unit)
		}
	}
	return set
}
