package shell

import (
	"cmp"
	"slices"
	"strings"
)

// replaced returns the text that xargs or parallel replaces by its input in the words of the command; empty if it adds them at the end.
func replaced(name string, options []Word) string {
	mark := ""
	if name == "parallel" || name == "entr" {
		mark = "{"
		if name == "entr" {
			mark = "/_"
		}
	}
	for i, a := range options {
		long, isLong := strings.CutPrefix(a.Text, "--replace")
		short, isShort := strings.CutPrefix(a.Text, "-I")
		old, isOld := strings.CutPrefix(a.Text, "-i")
		switch {
		case isLong:
			mark = cmp.Or(strings.TrimPrefix(long, "="), "{}")
		case isShort && short != "":
			mark = short
		case (isShort || strings.HasSuffix(a.Text, "I") && strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--")) && i+1 < len(options):
			mark = options[i+1].Text
		case isOld && name == "xargs":
			mark = cmp.Or(old, "{}")
		}
	}
	return mark
}

// lines follows the commands that parallel reads from its input, or from the words after :::.
func (w starter) lines(words []Word) {
	if len(words) > 0 && (words[0].Text == ":::" || words[0].Text == ":::+") {
		for _, a := range words[1:] {
			w.program("parallel", a.Text, a.Known)
		}
		return
	}
	if len(words) == 0 && w.input != nil {
		input := *w.input
		w.apart(func() {
			w.input = nil
			w.program("parallel", input.Text, input.Known)
		})
		return
	}
	w.program("parallel", Hole, false)
}

// inputWords returns the words of the standard input, which xargs adds.
func (w starter) inputWords(options []Word) []Word {
	split := func(a Word) bool { // in another way than at blanks, or another input
		return !a.Known || strings.HasPrefix(a.Text, "--null") || strings.HasPrefix(a.Text, "--delim") || strings.HasPrefix(a.Text, "--arg-file") ||
			strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--") && strings.ContainsAny(a.Text, "0ad")
	}
	if w.input == nil || !w.input.Known || strings.ContainsAny(w.input.Text, `"'\`) || slices.ContainsFunc(options, split) {
		return []Word{{Text: Hole}}
	}
	var list []Word
	for text := range strings.FieldsSeq(w.input.Text) {
		list = append(list, known(text))
	}
	return list
}
