// Package prose finds the normative statements of a text: sentences that demand, forbid, recommend or permit something. It
// knows the structure of Markdown, HTML and plain text, and it is exact about lines. It reads by rules and word lists alone, in
// time and memory proportional to the text; docs/discovery-quality.md says how often it is right.
package prose

import (
	"tenet/internal/blocks"
	"tenet/internal/rule"
)

// Genre is the kind of text, which decides how much its wording binds.
type Genre int

// The genres.
const (
	// Document is any text for people. Only words that bind, such as must and is prohibited, make a rule in it: its imperatives
	// explain how to do something.
	Document Genre = iota
	// Policy is a text that is there to regulate: what it says in lists in the imperative binds too.
	Policy
	// Instructions are for an assistant, or for the people who work on the project.
	Instructions
	// Remarks are comments of code. Words that bind make a rule in them, and what only may be done.
	Remarks
)

// describes reports whether texts of a genre describe things for the most part.
func (g Genre) describes() bool { return g == Document || g == Remarks }

// Norm is a normative statement of a text.
type Norm struct {
	Statement  string // without marks, one duty
	Modality   rule.Modality
	Severity   rule.Severity
	Exceptions []string
	Rationale  string
	Line       int // of the text, from 1
	EndLine    int
	Quote      string   // the words of the text
	Section    []string // headings above it, outermost first
	Method     string   // in a sentence, for people
	Means      Means
	// Confidence is the probability that it is a rule, by its signs, as fitted to texts that the reader was not tuned on.
	Confidence float64
	Signs      []string // what Confidence rests on

	reason string // for its severity
}

// Gap is a place of a text that was not read.
type Gap struct {
	Line   int // of the text, from 1
	Reason string
}

// Means is how a norm was found.
type Means int

// The means. How much each weighs is in confidence.txt.
const (
	ByBinding    Means = iota // must, shall, is required, is prohibited
	ByRestraint               // cannot, may not, may only, at most
	ByAdvice                  // should, is recommended, is discouraged
	ByNegation                // do not ..., never ...
	ByItem                    // imperative in an item of a list
	BySentence                // imperative in running text
	ByLead                    // item below "... must:" or "We prohibit:"
	ByPractice                // "You always use ...", "... belongs in ..."
	ByPermission              // may, is allowed to
	ByLabel                   // "Naming: short words" below a heading such as conventions
	ByStatement               // "Access is reviewed every year.", "Staff will ..."
	ByBox                     // item with a box to tick, in a text of rules
	byLast
)

// Sentences returns the places of the sentences in a text.
func Sentences(s string) [][2]int {
	load()
	return sentences(s)
}

// Constant makes the norm of a sentence of a block that states what values always are.
func Constant(b *blocks.Block, at [2]int) Norm {
	load()
	f := finder{list: []blocks.Block{*b}, genre: Remarks}
	r := reading{modality: rule.Must, means: ByStatement, phrase: "are"}
	return f.norm(0, b.Text[at[0]:at[1]], lineAt(b, at[0]), r, place{genre: Remarks})
}

// places returns the places of the sentences in a block.
func places(b *blocks.Block) [][2]int {
	if b.Kind == blocks.Paragraph {
		if lines := lineSentences(b.Text); lines != nil {
			return lines
		}
	}
	return sentences(b.Text)
}

// lineAt returns the line of a place in the text of a block.
func lineAt(b *blocks.Block, at int) int {
	n := b.Line
	for i := 0; i < at && i < len(b.Text); i++ {
		if b.Text[i] == '\n' {
			n++
		}
	}
	return n
}
