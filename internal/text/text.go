// Package text shortens texts without splitting a character, and holds other small operations on texts.
package text

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clip returns s if it has at most n bytes, otherwise its first n bytes, without a split character, and mark.
func Clip(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:max(n, 0)], "") + mark
}

// Fit returns s if it has at most n bytes, otherwise a beginning of s that has at most n bytes together with mark.
func Fit(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	return Clip(s, n-len(mark), mark)
}

// FitRunes returns s if it has at most n characters, otherwise a beginning of s that has n characters together with mark.
func FitRunes(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	keep, count, end := n-utf8.RuneCountInString(mark), 0, 0
	for i := range s {
		if count == keep {
			end = i
		}
		if count == n {
			return s[:end] + mark
		}
		count++
	}
	return s
}

// OneLine returns s with one space for each run of white space and none at its ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Words returns the set of the words in list.
func Words(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// Plural returns n and a noun, such as 1 rule or 2 rules.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
