package norm

import (
	"slices"
	"strings"
)

// plain writes idioms of a part of a sentence in the words by which demands are compared: who has access to a thing accesses it, and what is left to
// somebody's choice is optional.
func plain(part []word) []word {
	part = accessed(part)
	part = chosen(part)
	part = switched(part)
	part = enough(part)
	part = aged(part)
	return timeless(part)
}

// accessVerbs are verbs before "access to" that add nothing to it.
var accessVerbs = list("have has get gets gain gains obtain receive")

// accessed writes "have access to the archive" as "access the archive".
func accessed(part []word) []word {
	for i := 0; i+3 < len(part); i++ {
		if !accessVerbs[part[i].text] || part[i+1].text != "access" || part[i+2].text != "to" || part[i+1].code {
			continue
		}
		one := part[i+1]
		one.from, one.to = part[i].from, part[i+2].to
		one.written = part[i].text + " access to"
		out := append(slices.Clone(part[:i]), one)
		return append(out, part[i+3:]...)
	}
	return part
}

// choices are nouns of who decides freely.
var choices = list("choice discretion judgement judgment preference")

// chosen writes "Encryption is left to the owner's choice", "is at the owner's discretion" and "is up to the owner" as "is optional".
func chosen(part []word) []word {
	for i := 1; i+2 < len(part); i++ {
		if !isBe(part[i].text) {
			continue
		}
		a, b := part[i+1].text, part[i+2].text
		free := slices.ContainsFunc(part[i+2:], func(w word) bool { return choices[w.text] })
		upTo := a == "up" && b == "to" && i+3 < len(part) && determiners[part[i+3].text]
		if !upTo && !(free && (a == "left" && b == "to" || a == "at" || a == "a" && b == "matter")) {
			continue
		}
		last := part[len(part)-1]
		return append(slices.Clone(part[:i+1]), word{text: "optional", written: "up to them", end: last.end, from: part[i+1].from, to: last.to})
	}
	return part
}

// switches are verbs of a separated phrasal verb, and farthestSwitch bounds the words between its parts.
var switches = list("leave keep switch turn")

const farthestSwitch = 5

// switched writes "Leave the alarm off at night" as "disable the alarm at night".
func switched(part []word) []word {
	for i := range part {
		verb := &part[i]
		if !switches[verb.text] || verb.code || verb.end != 0 || i > 0 && !modalBefore(part[:i]) {
			continue
		}
		for k := i + 2; k < min(len(part), i+farthestSwitch); k++ {
			w := &part[k]
			one := map[string]string{"off": "disable", "on": "enable"}[w.text]
			if one == "" || w.code || one == "enable" && w.end == 0 && k+1 < len(part) { // on begins a phrase
				if part[k-1].end != 0 {
					break
				}
				continue
			}
			out := slices.Clone(part)
			out[i].written, out[i].text = verb.text+" "+w.text, one
			out[k-1].end = w.end
			return slices.Delete(out, k, k+1)
		}
	}
	return part
}

// modalBefore reports whether words end as those before a verb of a demand do.
func modalBefore(words []word) bool {
	t := words[len(words)-1].text
	return modals[t] != 0 || t == "not" || t == "never" || t == "don't" || t == "always"
}

// enough writes "One adult is enough to supervise a child" as "may supervise a child with one adult", and "A password of ten characters is
// sufficient" as "A password may have ten characters".
func enough(part []word) []word {
	for i := 2; i+1 < len(part); i++ {
		if !isBe(part[i].text) || part[i+1].text != "enough" && part[i+1].text != "sufficient" || slices.ContainsFunc(part, func(w word) bool { return w.text == "not" }) {
			continue
		}
		at := func(text string) word { return word{text: text, from: part[i].from, to: part[i+1].to} }
		if i+3 < len(part) && part[i+2].text == "to" {
			if _, _, ok := numberOf(part[0].text); !ok {
				return part
			}
			out := append([]word{at("may")}, part[i+3:]...)
			end := out[len(out)-1].end
			out[len(out)-1].end = 0
			out = append(append(out, at("with")), part[:i]...)
			out[len(out)-1].end = end
			return out
		}
		of := slices.IndexFunc(part[:i], func(w word) bool { return w.text == "of" })
		if i+2 != len(part) || of < 1 || of+1 >= i {
			return part
		}
		if _, _, ok := numberOf(part[of+1].text); !ok {
			return part
		}
		out := append(slices.Clone(part[:of]), at("may"), at("have"))
		out = append(out, part[of+1:i]...)
		out[len(out)-1].end = part[i+1].end
		return out
	}
	return part
}

// timeless reads "at all times" as always, "a full hour" as an hour and "half an hour" as 30 minutes.
func timeless(part []word) []word {
	for i := 0; i+1 < len(part); i++ {
		a, b, c := part[i].text, part[i+1].text, ""
		if i+2 < len(part) {
			c = part[i+2].text
		}
		switch {
		case part[i].code || part[i].end != 0:
		case i > 0 && a == "at" && b == "all" && c == "times":
			return joined(part, i, i+3, "always")
		case b == "full" && (a == "a" || a == "one") && units()[c].unit == "time":
			return joined(part, i, i+2, "1")
		case a == "full" && units()[b].unit == "time" && !strings.HasSuffix(b, "s"): // the full minutes are no time
			out := slices.Clone(part)
			out[i].text, out[i].written = "1", "full"
			return out
		case a == "half" && (b == "a" || b == "an") && units()[c].unit != "":
			out := joined(part, i, i+2, "0.5")
			if number, unit, ok := strings.Cut(halves[c], " "); ok {
				out[i].text = number
				out[i+1].text, out[i+1].written = unit, c
			}
			return out
		}
	}
	return part
}

// halves are halves of times as people name them: half a year is 6 months, though a year has more than 12 times 30 days.
var halves = map[string]string{
	"minute": "30 seconds", "hour": "30 minutes", "day": "12 hours", "month": "15 days", "year": "6 months",
}

// joined writes the words from i to before end as one.
func joined(part []word, i, end int, text string) []word {
	out := slices.Clone(part)
	written := out[i].text
	for _, w := range out[i+1 : end] {
		written += " " + w.text
	}
	out[i].text, out[i].written, out[i].to, out[i].end = text, written, out[end-1].to, out[end-1].end
	return slices.Delete(out, i+1, end)
}

// aged writes "anyone aged 18 or over" and "from the age of 18" as "at least 18 years old", and "the minimum age for drivers is 18" as "drivers must
// be at least 18 years old".
func aged(part []word) []word {
	number := func(i int) bool {
		if i >= len(part) {
			return false
		}
		_, unit, ok := numberOf(part[i].text)
		return ok && unit == ""
	}
	for i := range part {
		at := func(text string) word { return word{text: text, from: part[i].from, to: part[i].to} }
		from, n := i, 0
		switch t := part[i].text; {
		case t == "aged" && number(i+1):
			n = i + 1
		case t == "age" && i >= 2 && part[i-1].text == "the" && part[i-2].text == "from" && i+2 < len(part) && part[i+1].text == "of" && number(i+2):
			from, n = i-2, i+2
		case t == "age" && i >= 1 && part[i-1].text == "minimum" && i+1 < len(part) && part[i+1].text == "for":
			is := slices.IndexFunc(part[i:], func(w word) bool { return isBe(w.text) }) + i
			if is < i+3 || is+2 != len(part) || !number(is+1) {
				continue
			}
			out := append(slices.Clone(part[i+2:is]), at("must"), at("be"), at("at"), at("least"), part[is+1], at("years"), at("old"))
			out[len(out)-3].end, out[len(out)-1].end = 0, part[is+1].end
			return out
		default:
			continue
		}
		end := n + 1
		if end+1 < len(part) && part[end].text == "or" && (part[end+1].text == "over" || part[end+1].text == "above" || part[end+1].text == "older") {
			end += 2
		} else if from == i { // aged 18
			continue
		}
		old := at("old")
		old.end = part[end-1].end
		amount := part[n]
		amount.end = 0
		out := append(slices.Clone(part[:from]), at("at"), at("least"), amount, at("years"), old)
		return append(out, part[end:]...)
	}
	return part
}
