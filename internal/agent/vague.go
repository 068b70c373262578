package agent

import (
	"strings"
	"unicode"

	"tenet/internal/wire"
)

// fillers are words that say nothing about what is meant.
var fillers = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("a an the this that it these those is are be was do does did done can could may i we you me my our your " +
		"please help check checks review ask test ok okay hi hello hey yes no and or of to in on for with what why how thing things something stuff " +
		"rule rules allow allowed now just") {
		m[w] = true
	}
	return m
}()

// vague reports whether a text says too little to be acted on: fewer than least words that mean something. Scripts without
// blanks between words are counted by letters.
func vague(text string, least int) bool {
	words, letters := 0, 0
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		for _, r := range word {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer) {
				letters++
			}
		}
		if !fillers[word] {
			words++
		}
	}
	return words < least && letters < 2*least
}

// withEarlier returns the intent with the requests before it, if the last answer asked back.
func withEarlier(intent string, past []turn) string {
	for i := len(past) - 1; i >= 0 && past[i].status == wire.AgentClarificationNeeded; i-- {
		if longer := past[i].intent + "\n" + intent; len([]rune(longer)) <= MaxIntent {
			intent = longer
		}
	}
	return intent
}
