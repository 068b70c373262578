package check

import (
	"fmt"
	"slices"
	"sync"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/diff"
	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Input is a subject prepared for many checks. It makes each part when the first check needs it. It is safe for concurrent
// use; the subject must not change meanwhile.
type Input struct {
	subject *subject.Subject

	// Parts for expressions.
	facts               map[string]any
	subjectVar, diffVar ref.Val
	hasTwins            func() bool // whether two names of facts are alike
	celFacts            func() *celFacts
	text                func() types.String
	files               func() *celFiles
	commands            func() *celCommands
	codes               func() *celCodes
	repository, scope   func() *subjectName

	// Parts for patterns: the texts of files, the action and the facts, the pieces of all of them, and whether one is odd.
	fileTexts, looseTexts func() []*content
	grams                 func() *grams
	odd                   func() bool
	viewsMu               sync.RWMutex
	views                 map[string]*view // by scope

	// Parts for the account of what a check is about.
	units    func() *subject.Units
	readable func() *ledger.Set
	// read are the units that expressions read, by the kinds of units.
	read [32]struct {
		once  sync.Once
		units *ledger.Set
	}
	// hides reports whether the subject brings content that it does not show.
	hides func() bool
}

// Prepare returns the input of checks for a subject. It does no work yet.
func Prepare(s *subject.Subject) *Input {
	in := &Input{
		subject: s, facts: s.Facts,
		text:       sync.OnceValue(func() types.String { return shownText(s) }),
		fileTexts:  sync.OnceValue(func() []*content { return fileTexts(s) }),
		looseTexts: sync.OnceValue(func() []*content { return looseTexts(s) }),
		units:      sync.OnceValue(s.Units),
	}
	in.files = sync.OnceValue(func() *celFiles { return newCELFiles(s, in.gapUnit) })
	in.commands = sync.OnceValue(func() *celCommands { return newCELCommands(s.Action, in.units().Action()) })
	in.codes = sync.OnceValue(func() *celCodes { return newCELCodes(s, in.files(), in.codeUnit) })
	in.hasTwins = sync.OnceValue(func() bool { return holdsTwins(s.Facts) })
	in.celFacts = sync.OnceValue(func() *celFacts { return newCELFacts(s, in.hasTwins(), in.units) })
	in.repository = sync.OnceValue(func() *subjectName { return repositoryOf(s) })
	in.scope = sync.OnceValue(func() *subjectName { return scopeOf(s) })
	in.readable = sync.OnceValue(func() *ledger.Set { return in.units().Of(ledger.Action, ledger.Facts, ledger.Name, ledger.Text) })
	in.grams = sync.OnceValue(in.newGrams)
	in.odd = sync.OnceValue(func() bool {
		return slices.ContainsFunc(slices.Concat(in.fileTexts(), in.looseTexts()), func(t *content) bool { return t.odd || t.again != nil && t.again.odd })
	})
	in.hides = sync.OnceValue(func() bool {
		units := in.units()
		for unit := range units.Len() {
			if units.At(unit).Unseen != "" {
				return true
			}
		}
		return false
	})
	if in.facts == nil {
		in.facts = map[string]any{}
	}
	in.subjectVar = &object{typ: subjectType, native: in}
	in.diffVar = &object{typ: diffType, native: in}
	return in
}

// Units returns the units of the subject, by whose numbers outcomes say what a check is about and has read.
func (in *Input) Units() *subject.Units { return in.units() }

// missing names the first of the units that a check is about and has not seen; empty if it has seen all.
func (in *Input) missing(about, seen *ledger.Set) string {
	if !in.hides() {
		return ""
	}
	account := ledger.NewAccount(in.units().Units, about)
	account.Examined(rule.ByCheck, seen)
	list := account.Unexamined()
	if len(list) == 0 {
		return ""
	}
	reason := list[0].Part + ": " + list[0].Reason
	if more := len(list) - 1; more > 0 {
		reason += fmt.Sprintf(" (and %d more)", more)
	}
	return reason
}

// inputVar is the name of the Input itself for the parts of a program; no expression can write it.
const inputVar = "@input"

// activation gives expressions their variables.
type activation struct {
	in *Input
	// code is the reading of the source code; nil for the normal one.
	code []*celCode
}

// ResolveName returns the value of a variable.
func (a activation) ResolveName(name string) (any, bool) {
	switch name {
	case "facts":
		return a.in.celFacts().values, true
	case "subject":
		return a.in.subjectVar, true
	case subjectVariable:
		return a.in, true
	case "diff":
		return a.in.diffVar, true
	case "files":
		return a.in.files().whole, true
	case commandsVar:
		return a.in.commands().list.whole(), true
	case codeVar:
		if a.code != nil {
			return codeList(a.code), true
		}
		return codeList(a.in.codes().normal), true
	case inputVar:
		return a.in, true
	}
	return nil, false
}

// Parent returns nil: expressions have no other variables.
func (a activation) Parent() interpreter.Activation { return nil }

// holds reports whether the subject has files of a diff, and whole files.
func (in *Input) holds() (changed, whole bool) {
	isWhole := func(f diff.File) bool { return f.Change == diff.Whole }
	return slices.ContainsFunc(in.subject.Files, func(f diff.File) bool { return !isWhole(f) }), slices.ContainsFunc(in.subject.Files, isWhole)
}
