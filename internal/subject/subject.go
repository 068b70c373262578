// Package subject turns what is to be judged (a diff, files, facts, an action in plain words) into one normal form with
// exact new-file lines. Everything that comes in is hostile until parsed.
package subject

import (
	"encoding/json"
	"slices"
)

// Kind says what a subject is about. A subject may have several: a code change may come with facts.
type Kind string

// Kinds of subject.
const (
	CodeChange      Kind = "code_change"
	Facts           Kind = "facts"
	Action          Kind = "action"
	BusinessEvent   Kind = "business_event"
	Document        Kind = "document"
	Transaction     Kind = "transaction"
	Communication   Kind = "communication"
	DecisionRequest Kind = "decision_request"
)

// Kinds lists all kinds.
var Kinds = []Kind{CodeChange, Facts, Action, BusinessEvent, Document, Transaction, Communication, DecisionRequest}

// Subject is what is judged. It is built by [Build] and never changed afterwards, so it may be read concurrently.
type Subject struct {
	// Kinds tells what the subject holds, the leading kind first.
	Kinds []Kind
	// Files are the changed files of a diff and the whole files given beside it, in the order given.
	Files []File
	// Facts are free-form values; numbers are json.Number-free float64, as encoding/json decodes them.
	Facts map[string]any
	// Action is a plain-text description of an action to be judged.
	Action string
	// Intent is what the caller says about the subject: a claim, not a fact.
	Intent string
	// Repository and Scope place the subject; both may be empty.
	Repository string
	Scope      string
}

// Change says what a diff does to a file.
type Change string

// Changes. Whole is a file given with its content instead of a diff.
const (
	Added    Change = "added"
	Modified Change = "modified"
	Deleted  Change = "deleted"
	Renamed  Change = "renamed"
	Copied   Change = "copied"
	Mode     Change = "mode"
	Whole    Change = "whole"
)

// File is one file of a subject: changed by a diff, or whole.
type File struct {
	// Path is the new path (the old one for a deleted file), with forward slashes and no leading a/ or b/.
	Path string
	// OldPath is the path before a rename or copy, else empty.
	OldPath string
	Change  Change
	// Binary is true where the diff tells that contents differ without showing them.
	Binary bool
	// Missing is true for a file named without content: it cannot be examined.
	Missing bool
	// Hunks hold the text. A whole file is one hunk whose lines are all added.
	Hunks []Hunk
}

// Hunk is a run of neighbouring lines. Line numbers count from 1.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	// Section is what git prints behind the second @@, often the enclosing function.
	Section string
	Lines   []Line
}

// Op says what a diff does with a line.
type Op byte

// Ops.
const (
	OpContext Op = ' '
	OpAdd     Op = '+'
	OpDelete  Op = '-'
)

// Line is one line of a hunk without its line end.
type Line struct {
	Op Op
	// New is the line number in the new file, 0 for a deleted line. Old is the number in the old file, 0 for an added one.
	Old, New int
	Text     string
}

// Input is the raw material of a subject, as an evaluation request carries it. Zero fields are absent.
type Input struct {
	// Kind is the leading kind of a submission, one of [SubmittedKinds]; empty lets the kinds follow from what is there.
	Kind       Kind           `json:"kind,omitempty"`
	Diff       string         `json:"diff,omitempty"`
	Files      []InputFile    `json:"files,omitempty"`
	Facts      map[string]any `json:"facts,omitempty"`
	Action     string         `json:"action,omitempty"`
	Intent     string         `json:"intent,omitempty"`
	Repository string         `json:"repository,omitempty"`
	Scope      string         `json:"scope,omitempty"`
}

// InputFile is a file to evaluate. A nil Content means that only the path is known.
type InputFile struct {
	Path    string  `json:"path"`
	Content *string `json:"content,omitempty"`
}

// Size counts what a subject holds.
type Size struct {
	Files, Hunks, Bytes int
}

// Only returns the subject with just the files that keep holds for; the subject itself if it holds for all.
func (s *Subject) Only(keep func(*File) bool) *Subject {
	files := make([]File, 0, len(s.Files))
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

// Empty reports whether there is nothing to judge: no file, no fact, no action.
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
				if l.Op != OpDelete {
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
