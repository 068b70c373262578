package check

import (
	"sync"

	"cel.dev/cel-go/common/types/ref"

	"tenet/internal/subject"
)

// Input is a subject prepared once for many checks. What checks need is made when the first of them asks for it. It is safe
// for concurrent use; the subject must not change while it is in use.
type Input struct {
	subject *subject.Subject

	subjectOnce sync.Once
	subjectCEL  *celSubject
	textOnce    sync.Once
	textCEL     ref.Val
	filesOnce   sync.Once
	filesCEL    *celFiles

	fileTextsOnce sync.Once
	filesText     []*text
	looseOnce     sync.Once
	loose         []*text

	// The variables subject and diff, and facts, as expressions see them.
	subjectVar, diffVar ref.Val
	facts               map[string]any
}

// Prepare makes a subject ready for checks. It does no work yet.
func Prepare(s *subject.Subject) *Input {
	in := &Input{subject: s, facts: s.Facts}
	if in.facts == nil {
		in.facts = map[string]any{}
	}
	in.subjectVar = &object{typ: subjectType, native: in}
	in.diffVar = &object{typ: diffType, native: in}
	return in
}

// resolveName gives an expression the value of a variable.
func (in *Input) resolveName(name string) (any, bool) {
	switch name {
	case "facts":
		return in.facts, true
	case "subject":
		return in.subjectVar, true
	case "diff":
		return in.diffVar, true
	case "files":
		return in.celFiles().whole, true
	}
	return nil, false
}

func (in *Input) celSubject() *celSubject {
	in.subjectOnce.Do(func() { in.subjectCEL = newCELSubject(in.subject) })
	return in.subjectCEL
}

func (in *Input) celText() ref.Val {
	in.textOnce.Do(func() { in.textCEL = subjectText(in.subject) })
	return in.textCEL
}

func (in *Input) celFiles() *celFiles {
	in.filesOnce.Do(func() { in.filesCEL = newCELFiles(in.subject) })
	return in.filesCEL
}

// fileTexts are the texts of files, for patterns.
func (in *Input) fileTexts() []*text {
	in.fileTextsOnce.Do(func() { in.filesText = fileTexts(in.subject) })
	return in.filesText
}

// looseTexts are the action and the strings in facts, for patterns.
func (in *Input) looseTexts() []*text {
	in.looseOnce.Do(func() { in.loose = looseTexts(in.subject) })
	return in.loose
}

// holds reports whether the subject has files of a diff, and whole files.
func (in *Input) holds() (diff, whole bool) {
	for i := range in.subject.Files {
		isWhole := in.subject.Files[i].Change == subject.Whole
		diff, whole = diff || !isWhole, whole || isWhole
		if diff && whole {
			break
		}
	}
	return diff, whole
}
