package prose

import "tenet/internal/text"

// plays reports whether a text gives a role to play: "You are a veteran plumber", "Behave like ...".
func plays(t []token) bool {
	i := 0
	for i < len(t)-1 && adverbs[t[i].low] {
		i++
	}
	switch at(t, i) {
	case "act", "behave", "think", "respond", "talk", "pose", "speak", "operate", "work":
		next, then := at(t, i+1), at(t, i+2)
		return (next == "like" || next == "as") && (then == "a" || then == "an")
	case "adopt", "take", "play", "embody":
		for k := i + 1; k < len(t) && k < i+6; k++ {
			if w := t[k].low; w == "persona" || w == "role" && at(t, k+1) == "of" || w == "character" && at(t, k+1) == "of" {
				return true
			}
		}
	case "imagine", "pretend", "assume":
		return is(t, i+1, "you", "are") || is(t, i+1, "to", "be") || is(t, i+1, "the", "role") || is(t, i+1, "that", "you", "are")
	}
	return false
}

// invites reports whether a text for people invites, points the way or asks those who report something, rather than regulates: "If
// you have an idea, open an issue", "Please include a stack trace". What binds in so many words stays a rule.
func invites(t []token, c place) bool {
	if c.genre == Instructions || binds(t) {
		return false
	}
	i := 0
	for i < len(t)-1 && (adverbs[t[i].low] || t[i].low == "you" || t[i].low == "can" || t[i].low == "should" || t[i].low == "could") {
		i++
	}
	w := at(t, i)
	switch {
	case welcomes(t), c.aside && (reporting[w] || is(t, 0, "please")):
		return true
	case reporting[w] && about(t, i+1, 4):
		return true
	case w == "if" || w == "when" || w == "should" || w == "before":
		return asks(t, i) && (wishing(t, i) || about(t, i+1, len(t)))
	}
	return false
}

// binds reports whether a sentence has words that bind whatever it is about.
func binds(t []token) bool {
	for i := range t {
		switch t[i].low {
		case "must", "shall", "never", "not", "don't", "mustn't", "required", "prohibited", "forbidden", "cannot", "security", "vulnerability", "vulnerabilities":
			return true
		}
	}
	return false
}

// welcomes reports whether a sentence welcomes or thanks.
func welcomes(t []token) bool {
	for i := range t {
		switch t[i].low {
		case "welcome", "welcomed", "appreciated", "grateful", "thankful":
			return true
		case "feel":
			if at(t, i+1) == "free" {
				return true
			}
		}
	}
	return false
}

// about reports whether one of the n words from i is a thing that people report or ask for.
func about(t []token, i, n int) bool {
	for k := i; k < len(t) && k < i+n; k++ {
		if reported[t[k].low] && !references[at(t, k+1)] {
			return true
		}
	}
	return false
}

// references are words behind one for a thing that people report, which show that something names it: "include the issue number".
var references = text.Words("reference references number numbers id ids key keys link links")

// asks reports whether an order to report or to look something up is in a clause behind i.
func asks(t []token, i int) bool {
	for k := i + 1; k < len(t); k++ {
		if !reporting[t[k].low] {
			continue
		}
		switch at(t, k-1) {
		case "please", "can", "should", "and":
			return true
		}
		if t[k].before == ',' {
			return true
		}
	}
	return false
}

// wishing reports whether a condition at i is about the wishes of the reader: "if you want to", "if you'd like", "if you have a question".
func wishing(t []token, i int) bool {
	k := i + 1
	switch at(t, k) {
	case "you'd":
		return true
	case "you", "you're":
	default:
		return false
	}
	for k++; adverbs[at(t, k)] || at(t, k) == "would" || at(t, k) == "are"; k++ {
	}
	switch at(t, k) {
	case "want", "wish", "like", "need", "prefer", "love", "interested", "looking", "stuck", "unsure", "curious":
		return at(t, k+1) != "access"
	case "have", "find", "found", "encounter", "notice", "spot", "discover", "experience":
		return about(t, k+1, 6)
	case "think":
		return true
	}
	return false
}
