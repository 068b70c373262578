// Package diff reads unified diffs of git, diff -u, Subversion, Mercurial, CVS and Bazaar into files, hunks and lines with exact
// line numbers.
//
// The parser is our own. The libraries we tried drop what they do not understand: lines beyond a hunk's count and whole
// combined diffs pass for text between files, and names without prefix lose their first folder. Here such a loss would mean
// that a change is judged in part, so every line must be accounted for: a line that looks like a part of a change but is in
// no hunk is an error. The shape of headers and hunks follows git apply and diff -u; the headers of the other tools differ only
// before the --- line. Property changes of Subversion count as mode changes.
package diff

import (
	"strings"

	"tenet/internal/charset"
)

// Limits on a diff.
const (
	MaxFiles = 5_000     // files
	MaxPath  = 4_096     // bytes of one path
	MaxBytes = 64 << 20  // bytes of content in all binary patches, unpacked
	MaxLines = 1_000_000 // lines of text in all binary patches, unpacked
)

// Change names what a diff does to a file.
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
	// Binary is true if the contents differ and the diff does not show them.
	Binary bool
	// Missing is true for a file named without content: it cannot be examined.
	Missing bool
	// Others are further paths that a tool may read in the same header, such as src/a.py in "diff --git a/src/a.py a/src/a.py":
	// rules for any of them apply.
	Others []string
	// OldMode and NewMode are the modes of the file in git, such as 100755; empty if the diff does not give them.
	OldMode, NewMode string
	// OldBlob and NewBlob are the names of its content in git, maybe cut short; empty if the diff does not give them.
	OldBlob, NewBlob string
	// Unseen says why content that the change brings to Path is not in Hunks, such as "its content is not given"; empty if all
	// of it is there. No rule about content can be known to be kept then.
	Unseen string
	// Media names what a file is whose content shows that it is no text, such as "a PNG image"; rules about text do not concern
	// it. Unseen is empty then.
	Media string
	// Delta is the change of a binary file as a delta of git, for [File.Apply]; nil if the diff gives none.
	Delta []byte
	// Hunks hold the text. A whole file is one hunk whose lines are all added.
	Hunks []Hunk
}

// Hunk is a run of neighbouring lines. Line numbers count from 1.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	// Section is the text after the second @@, often the enclosing function.
	Section string
	Lines   []Line
}

// Op names what a diff does with a line.
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

// NewLines calls yield for every line that the new version of the file has and the diff shows (added and context lines), in
// order, with its hunk. It stops when yield returns false. Use it as for h, l := range f.NewLines.
func (f *File) NewLines(yield func(h *Hunk, l Line) bool) {
	for i := range f.Hunks {
		h := &f.Hunks[i]
		for _, l := range h.Lines {
			if l.Op != OpDelete && !yield(h, l) {
				return
			}
		}
	}
}

// LineText returns the text of a line without the carriage returns of its line end, which would keep patterns that end in $
// from matching. Real diffs hold files in other encodings: bytes that are not UTF-8 are read as Windows-1252, or replaced by
// U+FFFD in a line that is no text then.
func LineText(s string) string { return charset.Line(strings.TrimRight(s, "\r")) }
