// Package ledger holds the law of ALLOW: a rule allows a subject only if every unit of the subject that the rule is about was
// examined. It is the only package that turns a finding into the verdict ALLOW.
//
// A subject has units: the action, the facts, and for each file its name, each of its hunks, and the content that no hunk shows.
// For each rule, an [Account] notes which units the rule is about, and who has examined which of them. [Account.Decide] gives
// the verdict: a finding that the rule is kept becomes ALLOW if no unit is missing, else NEEDS_CONFIRMATION with the missing
// units by name.
//
// The law, which the tests of this package check on random accounts:
//
//   - ALLOW implies that every unit that the rule is about is examined.
//   - A unit that says why nobody can examine it ([Unit.Unseen]) is never examined, except by a person who has approved the subject
//     without it ([Account.Approve]).
//   - Taking an examination away, or adding a unit, never turns another verdict into ALLOW.
package ledger

import (
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Kind is the kind of a unit.
type Kind uint8

// Kinds of units.
const (
	Action  Kind = iota + 1 // the action in words
	Intent                  // what the author says about the subject; only models are asked about it
	Facts                   // all facts
	Name                    // names, mode and kind of change of a file
	Text                    // the lines of one hunk
	Content                 // what a file brings that no hunk shows
)

// Unit is one thing of a subject that a rule can be about.
type Unit struct {
	Kind Kind
	// Path is that of the file; empty for action and facts.
	Path string
	// From and To are the first and the last line of a hunk in the new file; 0 for a hunk without such lines.
	From, To int
	// Bytes is the size of the unit in new lines, each with one byte for its end; 0 for a name.
	Bytes int
	// Unseen says why nobody can examine the unit, such as "its content is not given"; empty for a unit that can be examined.
	Unseen string
	// Media is set for content that is an image, sound, film or font, such as "a PNG image". No rule is about it.
	Media string
}

// String returns the name of the unit for people: the path with the lines of a hunk, "the action" or "the facts".
func (u *Unit) String() string {
	switch {
	case u.Kind == Action:
		return "the action"
	case u.Kind == Intent:
		return "the intent"
	case u.Kind == Facts:
		return "the facts"
	case u.Kind == Text && u.From > 0:
		return fmt.Sprintf("%s:%d-%d", u.Path, u.From, u.To)
	}
	return u.Path
}

// Units are those of one subject, in a fixed order. Nobody changes them; they are safe for concurrent use.
type Units struct {
	list   []Unit
	unseen *Set
	shown  bool // no unit says why nobody can examine it
}

// NewUnits returns units in the order of a list, which nobody may change afterwards.
func NewUnits(list []Unit) *Units {
	us := &Units{list, NewSet(len(list)), true}
	for i := range list {
		if list[i].Unseen != "" {
			us.unseen.Add(i)
			us.shown = false
		}
	}
	return us
}

// Len returns the number of units.
func (us *Units) Len() int { return len(us.list) }

// At returns a unit by its number. It must not be changed.
func (us *Units) At(unit int) *Unit { return &us.list[unit] }

// Of returns the set of the units of some kinds, without those that are media.
func (us *Units) Of(kinds ...Kind) *Set {
	s := NewSet(len(us.list))
	for i := range us.list {
		if us.list[i].Media == "" && slices.Contains(kinds, us.list[i].Kind) {
			s.Add(i)
		}
	}
	return s
}

// All returns the set of all units, without those that are media.
func (us *Units) All() *Set { return us.Of(Action, Intent, Facts, Name, Text, Content) }

// examination notes who has examined which units.
type examination struct {
	by    rule.DecidedBy
	units *Set
}

// Account notes what one rule is about in one subject, and who has examined which part of that. The zero Account is about
// nothing that anybody knows, and never gives an ALLOW. It is not safe for concurrent use.
type Account struct {
	units *Units
	about *Set
	// seen are the examinations; the first two, which are enough for most accounts, take no memory of their own.
	seen  [2]examination
	count int
	more  []examination
	// gaps are reasons why units were not examined, by unit, where the unit itself does not say.
	gaps map[int]string
}

// NewAccount returns the account of a rule that is about some units of a subject; about all of them if about is nil. The account
// keeps the set, which nobody may change afterwards.
func NewAccount(units *Units, about *Set) Account {
	if about == nil {
		about = units.All()
	}
	return Account{units: units, about: about}
}

// Examined notes who has examined units. Those that the rule is not about do not count. The account keeps the set, which nobody
// may change afterwards.
func (a *Account) Examined(by rule.DecidedBy, units *Set) {
	switch {
	case units == nil:
	case a.count < len(a.seen):
		a.seen[a.count] = examination{by, units}
		a.count++
	default:
		a.more = append(a.more, examination{by, units})
	}
}

// examinations yields the examinations in order.
func (a *Account) examinations(yield func(examination) bool) {
	for _, e := range a.seen[:a.count] {
		if !yield(e) {
			return
		}
	}
	for _, e := range a.more {
		if !yield(e) {
			return
		}
	}
}

// Gap notes why a unit was not, or not wholly, examined. It then counts as missing, whichever part claims to have examined it.
func (a *Account) Gap(unit int, reason string) {
	if a.gaps == nil {
		a.gaps = map[int]string{}
	}
	if _, ok := a.gaps[unit]; !ok {
		a.gaps[unit] = reason
	}
}

// About returns the units that the rule is about; nil for the zero Account.
func (a *Account) About() *Set { return a.about }

// By returns who has examined a unit that the rule is about: the last of them, and empty if nobody has.
func (a *Account) By(unit int) rule.DecidedBy {
	if !a.about.Has(unit) || a.missing(unit/64)&(1<<(unit%64)) != 0 {
		return ""
	}
	by := rule.DecidedBy("")
	for e := range a.examinations {
		if e.units.Has(unit) {
			by = e.by
		}
	}
	return by
}

// Missing returns the units that the rule is about and that are not examined.
func (a *Account) Missing() *Set {
	out := &Set{}
	if a.about != nil {
		out.words = make([]uint64, len(a.about.words))
		for i := range out.words {
			out.words[i] = a.missing(i)
		}
	}
	return out
}

// missing returns the i-th word of the missing units.
func (a *Account) missing(i int) uint64 {
	seen, approved := uint64(0), uint64(0)
	for e := range a.examinations {
		seen |= e.units.word(i)
		if e.by == rule.ByApproval {
			approved |= e.units.word(i)
		}
	}
	seen &^= a.units.unseen.word(i)
	for unit := range a.gaps {
		if unit/64 == i {
			seen &^= 1 << (unit % 64)
		}
	}
	return a.about.word(i) &^ (seen | approved)
}

// complete reports whether the rule is about something, and nothing of that is missing.
func (a *Account) complete() bool {
	if a.about == nil {
		return false
	}
	if a.count == 1 && a.seen[0].units == a.about && len(a.gaps) == 0 && a.units.shown {
		return true
	}
	for i := range a.about.words {
		if a.missing(i) != 0 {
			return false
		}
	}
	return true
}

// reason returns why a missing unit was not examined.
func (a *Account) reason(unit int) string {
	if unit >= a.units.Len() {
		return "it is unknown"
	}
	if u := a.units.At(unit); u.Unseen != "" {
		return u.Unseen
	}
	if why := a.gaps[unit]; why != "" {
		return why
	}
	return unexplained
}

const unexplained = "nothing has examined it"

// maxNamed bounds the missing units that a verdict lists.
const maxNamed = 20

// Unexamined lists the missing units by name, each name and reason once, and at most some of them.
func (a *Account) Unexamined() []rule.Unexamined { return a.unexamined(false) }

// unexamined does the same, explained limits it to the units that say why.
func (a *Account) unexamined(explained bool) []rule.Unexamined {
	var out []rule.Unexamined
	more := 0
	for unit := range a.Missing().All {
		if explained && a.reason(unit) == unexplained {
			continue
		}
		u := rule.Unexamined{Part: "the subject", Reason: a.reason(unit)}
		if unit < a.units.Len() {
			u.Part = a.units.At(unit).String()
		}
		switch {
		case slices.Contains(out, u):
		case len(out) == maxNamed:
			more++
		default:
			out = append(out, u)
		}
	}
	if more > 0 {
		out = append(out, rule.Unexamined{Part: fmt.Sprintf("%d more", more), Reason: "not examined either"})
	}
	return out
}

// describe names the first of some missing units in words.
func describe(missing []rule.Unexamined) string {
	const most = 3
	var names []string
	for i := range missing[:min(len(missing), most)] {
		names = append(names, missing[i].Part+": "+missing[i].Reason)
	}
	text := strings.Join(names, "; ")
	if n := len(missing) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}
