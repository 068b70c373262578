package norm

import (
	"strings"
	"sync"
)

// joinPhrases writes phrases of two words that mean one as that one: to switch off is to disable.
func joinPhrases(words []word) []word {
	for i := 0; i+1 < len(words); i++ {
		a, b := &words[i], &words[i+1]
		if a.code || b.code || a.end != 0 {
			continue
		}
		one, ok := phraseOf(a.text, b.text)
		if !ok {
			continue
		}
		a.written, a.text, a.to, a.end = a.text+" "+b.text, one, b.to, b.end
		words = append(words[:i+1], words[i+2:]...)
	}
	return words
}

// phraseOf returns the word for two words; false where they mean no more than each of them does.
func phraseOf(a, b string) (string, bool) {
	switch {
	case a == "without" && (b == "activity" || b == "use"):
		return "inactive", true
	case a == "no" && b == "one":
		return "nobody", true
	case (a == "have" || a == "has") && b == "to":
		return a + "-to", true
	case (b == "am" || b == "pm") && strings.Trim(a, "0123456789") == "":
		return a + b, true
	}
	verb, ok := phrasalVerbs[word{text: a}.base()+" "+b]
	switch {
	case !ok:
		// Most participles of these verbs are regular.
		for _, end := range []string{"ed", "ned", "ped", "ied", "s", "es", "ies"} {
			stem, cut := strings.CutSuffix(a, end)
			if cut && strings.HasSuffix(end, "ies") || cut && end == "ied" {
				stem += "y"
			}
			if verb, ok = phrasalVerbs[stem+" "+b]; cut && ok {
				break
			}
			ok = false
		}
		if !ok {
			return "", false
		}
	}
	if strings.HasSuffix(a, "ed") || a != (word{text: a}).base() {
		return strings.TrimSuffix(verb, "e") + "ed", true
	}
	return verb, true
}

// phrasalVerbs are verbs of two words, and what they mean.
var phrasalVerbs = map[string]string{
	"switch off": "disable", "turn off": "disable", "shut off": "disable", "switch on": "enable", "turn on": "enable", "throw away": "discard",
	"carry out": "perform", "hand in": "submit", "back up": "backup", "give out": "distribute", "hand out": "distribute", "sign off": "approve",
	"write down": "note", "fill in": "complete", "fill out": "complete", "leave out": "omit", "send out": "send", "roll out": "deploy", "hand over": "deliver", "take away": "remove", "give up": "surrender", "opt out": "opt-out", "opt in": "opt-in",
}

// irregular leads forms of irregular verbs to the base form. Forms that are common nouns or adjectives, too, are left out.
var irregular = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(irregularVerbs) {
		if forms := strings.Fields(line); len(forms) > 1 {
			for _, form := range forms[1:] {
				out[form] = forms[0]
			}
		}
	}
	return out
})

const irregularVerbs = `
arise arose arisen
begin began begun
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
deal dealt
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
feed fed
fight fought
fly flew flown
forbid forbade
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lend lent
lose lost
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
run ran
seek sought
sell sold
send sent
shake shook shaken
show shown
sing sang sung
sleep slept
speak spoken
spend spent
steal stole stolen
swear sworn
swim swam
take took taken
teach taught
tell told
think thought
throw threw thrown
understand understood
wake woken
wear wore worn
win won
withdraw withdrew withdrawn
write wrote written
`
