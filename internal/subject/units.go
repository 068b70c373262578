package subject

import (
	"encoding/json"

	"tenet/internal/diff"
	"tenet/internal/ledger"
)

// Units are the units of a subject for the ledger, with their numbers by place.
type Units struct {
	*ledger.Units
	subject               *Subject
	action, intent, facts int
	names                 []int // by file; its hunks follow, then its content
}

// Units returns the units of the subject: the action, the facts, and for each file its name, its hunks, and the content that no
// hunk shows.
func (s *Subject) Units() *Units {
	u := &Units{subject: s, action: -1, intent: -1, facts: -1, names: make([]int, len(s.Files))}
	n := 3
	for i := range s.Files {
		n += 2 + len(s.Files[i].Hunks)
	}
	list := make([]ledger.Unit, 0, n)
	if s.Action != "" {
		u.action = len(list)
		list = append(list, ledger.Unit{Kind: ledger.Action, Bytes: len(s.Action)})
	}
	if s.Intent != "" {
		u.intent = len(list)
		list = append(list, ledger.Unit{Kind: ledger.Intent})
	}
	if len(s.Facts) > 0 {
		u.facts = len(list)
		list = append(list, ledger.Unit{Kind: ledger.Facts, Bytes: factsSize(s.Facts)})
	}
	for i := range s.Files {
		f := &s.Files[i]
		u.names[i] = len(list)
		list = append(list, ledger.Unit{Kind: ledger.Name, Path: f.Path})
		for k := range f.Hunks {
			list = append(list, textUnit(f, &f.Hunks[k]))
		}
		if hidden := f.Hidden(); hidden != "" || f.Media != "" {
			list = append(list, ledger.Unit{Kind: ledger.Content, Path: f.Path, Unseen: hidden, Media: f.Media})
		}
	}
	u.Units = ledger.NewUnits(list)
	return u
}

func textUnit(f *diff.File, h *diff.Hunk) ledger.Unit {
	u := ledger.Unit{Kind: ledger.Text, Path: f.Path}
	for i := range h.Lines {
		if l := &h.Lines[i]; l.Op != diff.OpDelete {
			u.Bytes += len(l.Text) + 1
			if u.To = l.New; u.From == 0 {
				u.From = l.New
			}
		}
	}
	return u
}

func factsSize(facts map[string]any) int {
	b, err := json.Marshal(facts)
	if err != nil {
		return 0
	}
	return len(b)
}

// Size returns the [Subject.Size] of the subject, from its units.
func (u *Units) Size() Size {
	size := Size{Files: len(u.names)}
	for i := range u.Len() {
		unit := u.At(i)
		size.Bytes += unit.Bytes
		if unit.Kind == ledger.Text {
			size.Hunks++
		}
	}
	return size
}

// Action returns the number of the action; -1 without one.
func (u *Units) Action() int { return u.action }

// Intent returns the number of the intent; -1 without one.
func (u *Units) Intent() int { return u.intent }

// Facts returns the number of the facts; -1 without any.
func (u *Units) Facts() int { return u.facts }

// Name returns the number of a file's name.
func (u *Units) Name(file int) int { return u.names[file] }

// Hunk returns the number of a hunk of a file.
func (u *Units) Hunk(file, hunk int) int { return u.names[file] + 1 + hunk }

// Hunks returns the numbers of the hunks of a file: from up to, but not including, to.
func (u *Units) Hunks(file int) (from, to int) {
	from = u.names[file] + 1
	return from, from + len(u.subject.Files[file].Hunks)
}

// After returns the number after the last unit of a file.
func (u *Units) After(file int) int {
	if file+1 < len(u.names) {
		return u.names[file+1]
	}
	return u.Len()
}

// Content returns the number of the content of a file that no hunk shows; -1 if its hunks show all.
func (u *Units) Content(file int) int {
	_, to := u.Hunks(file)
	if next := to; next < u.Len() && u.At(next).Kind == ledger.Content {
		return next
	}
	return -1
}
