// Package source says what a place that rules are found in is, what a reader of one does, and what it finds. Discovery finds
// candidate rules in what an organisation has already: policy documents, instructions to assistants, settings of linters, and
// the code itself. It says exactly where each was found and leaves the decision to a reviewer.
package source

import (
	"context"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// File is one file of a scan.
type File struct {
	// Path has slashes and is relative to the root of the scan. It comes from the caller: never open it.
	Path string
	// Content is as it came: any bytes, UTF-8 or not.
	Content []byte
}

// Found is a rule that a reader has found.
type Found struct {
	Kind       wire.SourceKind
	Statement  string // what a person would write; one duty
	Modality   rule.Modality
	Severity   rule.Severity
	Scope      []string
	Tags       []string
	Exceptions []string
	AppliesTo  *rule.AppliesTo
	Check      *rule.Check
	Rationale  string
	// File and the lines from Line to EndLine, which count from 1, are where it was found; Quote is their text, or the part of
	// it that it rests on, 2,000 characters at most.
	File    string
	Line    int
	EndLine int
	Quote   string
	// Section is the path of headings or keys above it.
	Section string
	// Method says in a sentence how it was found, for the reviewer, such as: sentence with "must not".
	Method string
	// Note has more for the reviewer, such as that the linter enforces it already.
	Note string
	// Confidence is from 0 to 1: the probability that a reviewer would approve it, as measured; for conventions of code, the lower
	// end of the 95 % interval of the share of places that keep it.
	Confidence float64
	// Signs are the grounds of the confidence of a statement in a text; they serve to measure it.
	Signs []string
}

// Problem is a file, or a part of one, that could not be read. It never ends a scan.
type Problem struct {
	File   string `json:"file" doc:"The file."`
	Line   int    `json:"line,omitempty" doc:"Where in it; 0 if that is not known."`
	Reason string `json:"reason" doc:"Why it could not be read."`
}

// Reader finds rules of one kind of source.
type Reader interface {
	// Kind returns the kind of source that it reads.
	Kind() wire.SourceKind
	// Reads reports whether a file is one for it, by its path alone.
	Reads(path string) bool
	// Read finds the rules in files, all of which it [Reader.Reads], in the order of files and lines. Files are hostile: it
	// must not panic, and its time and memory must be in proportion to their size. When ctx ends it returns soon with what it has.
	Read(ctx context.Context, files []File) ([]Found, []Problem)
}
