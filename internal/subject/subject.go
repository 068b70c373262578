// Package subject builds the subject of an evaluation (a diff, files, facts, an action in words) in one normal form with exact
// new-file lines. All input is hostile until parsed.
package subject

import (
	"encoding/json"
	"slices"

	"tenet/internal/diff"
	"tenet/internal/wire"
)

// Kind is [wire.SubjectKind].
type Kind = wire.SubjectKind

const (
	CodeChange      = wire.CodeChange
	Facts           = wire.Facts
	Action          = wire.Action
	BusinessEvent   = wire.BusinessEvent
	Document        = wire.DocumentKind
	Transaction     = wire.Transaction
	Communication   = wire.Communication
	DecisionRequest = wire.DecisionRequest
	ToolCall        = wire.ToolCall
)

// Kinds lists all kinds.
var Kinds = []Kind{CodeChange, Facts, Action, BusinessEvent, Document, Transaction, Communication, DecisionRequest, ToolCall}

// Subject is the object of judgement. [Build] makes it and nobody changes it afterwards, so it may be read concurrently.
type Subject struct {
	// Kinds are the kinds of the subject, the leading kind first.
	Kinds []Kind
	// Files are the changed files of a diff, then the whole files, in the order of the input.
	Files []diff.File
	// Facts are free-form values; numbers are json.Number-free float64, as encoding/json decodes them.
	Facts map[string]any
	// Action is a plain-text description of an action to be judged.
	Action string
	// Intent is the caller's description of the subject: a claim, not a fact.
	Intent string
	// Repository and Scope place the subject; both may be empty.
	Repository string
	Scope      string
}

// Input is [wire.RecordedSubject].
type Input = wire.RecordedSubject

// InputFile is [wire.InputFile].
type InputFile = wire.InputFile

// Size counts the contents of a subject.
type Size struct {
	Files, Hunks, Bytes int
}

// Only returns the subject with the files for which keep is true; the subject itself if it is true for all.
func (s *Subject) Only(keep func(*diff.File) bool) *Subject {
	files := make([]diff.File, 0, len(s.Files))
	for i := range s.Files {
		if keep(&s.Files[i]) {
			files = append(files, s.Files[i])
		}
	}
	if len(files) == len(s.Files) {
		return s
	}
	part := *s
	part.Files = files
	return &part
}

// Empty reports whether the subject has nothing to judge: no file, no fact, no action.
func (s *Subject) Empty() bool {
	return len(s.Files) == 0 && len(s.Facts) == 0 && s.Action == ""
}

// Is reports whether the subject has the kind k.
func (s *Subject) Is(k Kind) bool {
	return slices.Contains(s.Kinds, k)
}

// Size counts the files, the hunks and the bytes of text (lines of hunks that are not deleted, action and facts).
func (s *Subject) Size() Size {
	size := Size{Files: len(s.Files), Bytes: len(s.Action)}
	for i := range s.Files {
		size.Hunks += len(s.Files[i].Hunks)
		for _, h := range s.Files[i].Hunks {
			for _, l := range h.Lines {
				if l.Op != diff.OpDelete {
					size.Bytes += len(l.Text) + 1
				}
			}
		}
	}
	if len(s.Facts) > 0 {
		if b, err := json.Marshal(s.Facts); err == nil {
			size.Bytes += len(b)
		}
	}
	return size
}
