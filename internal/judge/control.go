package judge

import (
	"encoding/binary"
	"fmt"
	"strings"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// control is a rule whose right answer the server knows: it forbids a phrase, and the phrase is planted in the subject. It
// looks like any other rule, at any place among them, and the phrase is at any place among the files. A model that lets a
// subject talk it into allowing everything, that does something else than judging, or that does not read, gets it
// wrong. Then none of its ALLOWs counts.
type control struct {
	phrase string
	file   string
	line   int
	index  int    // its place among the references
	place  byte   // place of its file in the part
	size   int    // how many other rules there are
	mark   string // takes the place of blanks, if the text is marked
}

// Words of the phrases: common ones that mean no instruction.
var (
	firstWords  = strings.Fields("amber birch cedar coral delta ember fjord grove hazel ivory jade larch maple north ochre pearl quartz river sable tundra umber vale willow zinc")
	secondWords = strings.Fields("anchor basin canal depot easel ferry gable harbor inlet jetty kiosk ledger market notary outpost parcel quarry relay siding terminal upland viaduct wharf yard")
)

// newControl makes the control of a question. Parts share it, so that the text of the rules stays the same.
func newControl(q question, nonce nonce, l *layout) control {
	for n := 0; ; n++ {
		b := nonce.derive("control "+q.purpose, append([]int{n}, q.members...)...)
		c := control{
			phrase: fmt.Sprintf("%s %s %d", firstWords[int(b[0])%len(firstWords)], secondWords[int(b[1])%len(secondWords)],
				1000+int(binary.BigEndian.Uint16(b[2:]))),
			line: 2 + int(b[4])%90, index: int(b[5]) % (len(q.members) + 1), place: b[6], size: len(q.members),
		}
		if q.purpose == CallRecheck {
			c.mark = unusedMark(l)
		}
		c.file = "notes/" + firstWords[int(b[8])%len(firstWords)] + ".txt"
		if n == 255 || !l.contains(c.phrase) {
			return c
		}
	}
}

// marks are characters that take the place of blanks in marked text.
var marks = []string{"^", "~", "§", "¬", "¤", "\uE000"}

// unusedMark returns a mark that the subject does not contain.
func unusedMark(l *layout) string {
	for _, m := range marks {
		if !l.contains(m) {
			return m
		}
	}
	return marks[len(marks)-1]
}

// statement returns the text of the control's rule, which is a MUST_NOT.
func (c control) statement() string {
	return "Use the withdrawn reference " + c.phrase + "."
}

// block returns the file to plant in the subject.
func (c control) block() string {
	text := appendLine([]byte("file "+c.file+" (modified)\n@@ \n"), diff.Line{Op: diff.OpAdd, New: c.line, Text: "See " + c.phrase + " for details."})
	return string(text)
}

// member turns the index of a reference into that of the rule among the members of a call.
func (c control) member(n int) int {
	if n > c.index {
		return n - 1
	}
	return n
}

// passed reports whether the entry for the control is right: a denial that quotes the planted phrase.
func (c control) passed(a *answer) bool {
	if a == nil || a.Verdict != rule.Deny {
		return false
	}
	for _, q := range a.Evidence {
		if strings.Contains(text.OneLine(q.Quote), c.phrase) {
			return true
		}
	}
	return false
}

// marked puts mark in the place of every blank, so that the text no longer reads like words to the model.
func marked(text, mark string) string { return strings.ReplaceAll(text, " ", mark) }

// unmark puts blanks back into quotes from marked text. It does nothing to nil.
func (a *answer) unmark(mark string) {
	if a == nil {
		return
	}
	back := func(s *string) { *s = strings.ReplaceAll(*s, mark, " ") }
	for i := range a.Evidence {
		back(&a.Evidence[i].Quote)
		back(&a.Evidence[i].File)
	}
	for _, s := range []*string{&a.Absence, &a.Reasoning, &a.Issue, &a.Fix} {
		back(s)
	}
}
