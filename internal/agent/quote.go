package agent

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Least length of a quote: fewer words occur in a rule by chance.
const (
	minQuoteWords   = 4
	minQuoteLetters = 12
)

// isQuoted reports whether words occur in the shown text of a rule: as whole words in a row, in any letter case, with any
// white space and punctuation between them. A short rule may be quoted as a whole.
func isQuoted(r *promptRule, quote string) bool {
	words := wordsOf(quote)
	if len(words) == 0 {
		return false
	}
	for _, text := range append([]string{r.Statement, r.Why}, r.Exceptions...) {
		theirs := wordsOf(text)
		if !containsRun(theirs, words) {
			continue
		}
		if len(words) == len(theirs) || len(words) >= minQuoteWords && len(strings.Join(words, "")) >= minQuoteLetters {
			return true
		}
	}
	return false
}

// number is a number with the marks that group its digits.
var number = regexp.MustCompile(`\pN+(?:[.,'’\x{a0}\x{202f}_]\pN+)*`)

// numbersIn are the digits of the numbers in a text.
func numbersIn(text string) []string {
	found := number.FindAllString(text, -1)
	for i, n := range found {
		found[i] = strings.Map(func(r rune) rune {
			if unicode.IsNumber(r) {
				return r
			}
			return -1
		}, n)
	}
	return found
}

// strangeNumber finds a number in a sentence that neither the rules which it cites nor the question have.
func strangeNumber(s askSentence, question string, rules []promptRule) string {
	allowed := numbersIn(question)
	for _, c := range s.cites {
		r := &rules[c.rule]
		allowed = append(allowed, numbersIn(strings.Join(append([]string{r.Statement, r.Why}, r.Exceptions...), "\n"))...)
	}
	for _, n := range numbersIn(s.text) {
		if !slices.Contains(allowed, n) {
			return n
		}
	}
	return ""
}

// containsRun reports whether the words of part occur in a row in whole.
func containsRun(whole, part []string) bool {
	for at := 0; at+len(part) <= len(whole); at++ {
		if slices.Equal(whole[at:at+len(part)], part) {
			return true
		}
	}
	return false
}

// wordsOf cuts a text into words. Scripts without blanks are cut into characters.
func wordsOf(text string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			word.WriteRune(r)
		case r == '%' || r == '$' || r == '€' || r == '<' || r == '>' || r == '=': // change what a number says
			end()
			words = append(words, string(r))
		default:
			end()
		}
	}
	end()
	return words
}
