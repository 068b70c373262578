package prose

import (
	"slices"
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// part is one duty of a sentence.
type part struct {
	start, end int
	says       reading
	subject    string // of the first part, where this one has none of its own
}

// split divides a sentence that clearly has several duties: at a semicolon, and before ", and must", "and do not" and the like,
// when each part says something alone.
func split(s string, t []token, first reading, c place) []part {
	cuts := []int{0}
	for i := 1; i < len(t); i++ {
		if t[i].before == ';' || (t[i].low == "and" || t[i].low == "but") && renews(t, i) {
			cuts = append(cuts, i)
		}
	}
	if len(cuts) == 1 || len(cuts) > rule.MaxPoints {
		return nil
	}
	subject := ""
	if first.subject && first.at > 0 && first.at < cuts[1] && (t[0].before == 0) {
		end := first.at
		for end > 1 && (copulas[t[end-1].low] || strings.HasSuffix(t[end-1].low, "ly")) {
			end--
		}
		subject = strings.TrimSpace(blocks.Plain(s[:t[end].start]))
	}
	var out []part
	for k, from := range cuts {
		to := len(t)
		end := len(s)
		if k+1 < len(cuts) {
			to = cuts[k+1]
			end = t[to-1].end + trail(s[t[to-1].end:t[to].start])
		}
		p := part{start: t[from].start, end: end}
		if k == 0 {
			p.start = 0
		}
		sub := slices.Clone(t[from:to])
		if k > 0 {
			sub[0].before = 0
			if sub[0].low == "and" || sub[0].low == "but" {
				sub = sub[1:]
				if len(sub) == 0 {
					return nil
				}
				p.start = sub[0].start
			}
		}
		r, ok := classify(sub, c)
		if k > 0 && (!ok || r.at == 0 && !orders(r.means)) { // "and must not share it"
			r, ok = modal(append([]token{{low: "it"}}, sub...), 1, c)
			p.subject = subject
			ok = ok && subject != ""
		}
		if !ok && k > 0 && c.genre == Instructions && t[from].before == ';' {
			out[len(out)-1].end = p.end // it goes on with the part before it
			continue
		}
		if !ok {
			return nil
		}
		p.says = r
		out = append(out, p)
	}
	return out
}

// orders reports whether the means is an order, which has no subject.
func orders(m Means) bool { return m == ByItem || m == BySentence || m == ByNegation }

// trail returns how much of the text between two parts belongs to the first: marks that it closes.
func trail(s string) int {
	n := strings.IndexAny(s, ";, \n")
	if n < 0 {
		return len(s)
	}
	return n
}

// renews reports whether another duty begins behind the and at i.
func renews(t []token, i int) bool {
	switch at(t, i+1) {
	case "must", "shall", "should", "never", "don't", "always", "mustn't", "shouldn't":
		return true
	case "do":
		return at(t, i+2) == "not"
	case "may":
		return at(t, i+2) == "not"
	}
	return false
}

// exceptionStarts begin a sentence that takes something out of the rule before it.
var exceptionStarts = []string{
	"except", "exception", "exceptions", "the only exception", "the exception", "an exception", "one exception", "unless", "this does not apply",
	"this rule does not apply", "this doesn't apply", "this requirement does not apply", "these rules do not apply",
	"ausnahme", "ausnahmen", "sauf", "excepté", "excepto", "salvo", "excepción", "excepciones",
}

// exception reads a sentence that is an exception of the rule before it.
func exception(raw string) (string, bool) {
	s := blocks.Plain(raw)
	low := lower(s[:min(len(s), 60)])
	for _, start := range exceptionStarts {
		if rest, ok := strings.CutPrefix(low, start); ok && (rest == "" || !blocks.WordByte(rest[0])) {
			if start == "unless" && strings.Contains(s, ",") || start == "except" && (strings.Contains(low, ", no ") || strings.Contains(lower(s), " must ") || strings.Contains(lower(s), " shall ")) || start == "exceptions" && strings.Contains(low, "must") {
				return "", false
			}
			return clean(s), true
		}
	}
	return "", false
}

// clause reads the exception within a sentence: "..., unless ...".
func clause(raw string) (string, bool) {
	t := tokenize(raw)
	for i := 1; i < len(t); i++ {
		if t[i].quoted || !(is(t, i, "unless") || is(t, i, "except") && at(t, i+1) != "that" || is(t, i, "other", "than") && at(t, i-1) != "any" || is(t, i, "with", "the", "exception", "of") || is(t, i, "außer") || is(t, i, "sauf") || is(t, i, "salvo") || is(t, i, "excepto")) {
			continue
		}
		end := len(raw)
		for k := i + 1; k < len(t); k++ {
			if t[k].before == ';' || t[k].before == '-' {
				end = t[k-1].end
				break
			}
		}
		e := strings.TrimRight(clean(blocks.Plain(raw[t[i].start:end])), ".)")
		return e, len(e) > len("except ")
	}
	return "", false
}

// explains reports whether a sentence gives the reason for the rule before it.
func explains(raw string) bool {
	t := tokenize(raw)
	if len(t) < 3 {
		return false
	}
	switch t[0].low {
	case "this", "because", "these", "otherwise", "why", "reason", "rationale", "that":
		return true
	}
	return false
}

// cutLabel takes the label off a sentence: "**Errors**: return them", "Naming - use camelCase". label is empty without one.
func cutLabel(raw string) (label, body string) {
	for _, mark := range []string{"**", "__", "`", "["} {
		if !strings.HasPrefix(raw, mark) {
			continue
		}
		end := 0
		switch mark {
		case "`":
			end = blocks.CodeEnd(raw, 0)
		case "[":
			end = blocks.LinkEnd(raw, 0)
		default:
			if at := strings.Index(raw[2:], mark); at >= 0 {
				end = at + 4
			}
		}
		if end == 0 || end > 120 {
			return "", raw
		}
		rest := strings.TrimLeft(raw[end:], " \t")
		if strings.HasPrefix(rest, "(") && end < 100 { // **Apps** (`caddy.App`): ...
			if closing := strings.IndexByte(rest, ')'); closing > 0 && closing < 60 {
				rest = strings.TrimLeft(rest[closing+1:], " ")
			}
		}
		inner := strings.TrimSpace(strings.Trim(raw[:end], "*_"))
		for _, sep := range []string{":", "—", "–", "- ", "→"} {
			if after, ok := strings.CutPrefix(rest, sep); ok && strings.TrimSpace(after) != "" {
				return raw[:end], strings.TrimSpace(after)
			}
		}
		if mark == "**" && strings.HasSuffix(inner, ":") && rest != "" {
			return strings.TrimRight(inner, ": "), rest
		}
		return "", raw
	}
	before, after, ok := strings.Cut(raw[:min(len(raw), 80)], ": ")
	if ok && strings.TrimSpace(after) != "" && len(before) <= 50 && strings.Count(before, " ") <= 5 && !strings.ContainsAny(before, ".;,(\"`") {
		if first, _, _ := strings.Cut(lower(before), " "); !openers[first] {
			return before, strings.TrimSpace(raw[len(before)+2:])
		}
	}
	return "", raw
}

// labelled reports whether an item is a label in bold type with what holds for it, and no sentence: "**Naming**: short words".
func labelled(raw, label, body string, t []token) bool {
	if strings.HasSuffix(strings.TrimSpace(body), ".") && t[0].low != "mandatory" && t[0].low != "required" {
		return false
	}
	return (strings.HasPrefix(raw, "**") || termed(raw) != raw) && !described(label) && (len(t) >= 2 || t[0].upper) && !fullSentence(t) && !strings.HasSuffix(strings.TrimSpace(body), ":") && !strings.Contains(body, "](")
}

// describing are labels that say what about a thing is described behind them.
var describing = text.Words("purpose description what when where example examples location output input returns result results summary meaning usage effect")

// described reports whether a label names a thing that is described, such as a command or a document, or what is said about it.
func described(label string) bool {
	if describing[strings.ToLower(strings.Trim(label, "*_: "))] {
		return true
	}
	return strings.HasPrefix(label, "`") || strings.HasPrefix(label, "[") || strings.HasPrefix(label, "**`") || strings.HasPrefix(label, "**[")
}

// fullSentence reports whether an item has a verb of its own.
func fullSentence(t []token) bool {
	for i := 1; i < len(t); i++ {
		if nearby[t[i].low] || subordinators[t[i].low] {
			return false // the verbs behind it are those of a clause
		}
		if copulas[t[i].low] && t[i].low != "being" && t[i].low != "been" {
			return true
		}
	}
	return false
}
