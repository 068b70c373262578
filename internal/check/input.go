package check

import (
	"slices"
	"sync"

	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"tenet/internal/diff"
	"tenet/internal/subject"
)

// Input is a subject prepared for many checks. It makes each part when the first check needs it. It is safe for concurrent
// use; the subject must not change meanwhile.
type Input struct {
	subject *subject.Subject

	// Parts for expressions.
	facts               map[string]any
	subjectVar, diffVar ref.Val
	text                func() ref.Val
	files               func() *celFiles

	// Parts for patterns: the texts of files, and the action with the strings in facts.
	fileTexts, looseTexts func() []*content
}

// Prepare returns the input of checks for a subject. It does no work yet.
func Prepare(s *subject.Subject) *Input {
	in := &Input{
		subject: s, facts: s.Facts,
		text:       sync.OnceValue(func() ref.Val { return subjectText(s) }),
		files:      sync.OnceValue(func() *celFiles { return newCELFiles(s) }),
		fileTexts:  sync.OnceValue(func() []*content { return fileTexts(s) }),
		looseTexts: sync.OnceValue(func() []*content { return looseTexts(s) }),
	}
	if in.facts == nil {
		in.facts = map[string]any{}
	}
	in.subjectVar = &object{typ: subjectType, native: in}
	in.diffVar = &object{typ: diffType, native: in}
	return in
}

// activation gives expressions their variables.
type activation struct{ in *Input }

// ResolveName returns the value of a variable.
func (a activation) ResolveName(name string) (any, bool) {
	switch name {
	case "facts":
		return a.in.facts, true
	case "subject":
		return a.in.subjectVar, true
	case "diff":
		return a.in.diffVar, true
	case "files":
		return a.in.files().whole, true
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

// notGiven is the reason for a file without its content.
func notGiven(path string) string { return "content of " + path + " was not given" }
