package prose

import (
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// lead is the meaning of a block that leads to a list for the items of the list.
type lead struct {
	text string // without marks and the colon
	says *reading
	open bool // the items are the demands: "Agents must:"
	when bool // it says when the items hold: "When committing:"
}

// leading notes what a block says that leads to a list, and reports whether it is read with the list.
func (f *finder) leading(i, at int, raw string, c place) bool {
	if !blocks.Leads(raw) || !f.hasItems(i) {
		return false
	}
	t := tokenize(raw)
	l := lead{text: strings.TrimRight(blocks.Plain(raw), ": ")}
	if r, ok := classify(t, c); ok {
		l.says = &r
		l.open = r.at+4 > len(t) && r.means != ByItem && r.means != BySentence || demands(t)
		if (r.means == ByItem || r.means == BySentence) && generic(t) {
			l.says = nil
		}
	}
	if l.says == nil {
		l.says = bare(t)
		l.open = l.says != nil
	}
	l.when = len(t) > 0 && openers[t[0].low] && l.says == nil
	f.leads[i] = l
	if l.says == nil || l.open {
		return true
	}
	f.joined(i, at, raw, l, c)
	return true
}

// hasItems reports whether block i leads to the next block.
func (f *finder) hasItems(i int) bool {
	return i+1 < len(f.list) && f.list[i+1].Lead == i
}

// lead returns the meaning of block i for the blocks below it.
func (f *finder) lead(i int) (lead, bool) {
	l, ok := f.leads[i]
	return l, ok && i >= 0
}

// demands reports whether a lead ends by demanding what follows: "policy requires that:", "You are required to:".
func demands(t []token) bool {
	n := len(t)
	if is(t, n-3, "not", "limited", "to") {
		return false
	}
	for _, last := range []int{n - 1, n - 2, n - 3} {
		switch at(t, last) {
		case "must", "shall", "should", "requires", "require", "prohibits", "prohibit", "never", "prohibited", "forbidden", "required", "not", "avoid", "always", "forbid":
			return true
		}
	}
	return false
}

// generic reports whether an order only points to the list below it: "Follow these guidelines:".
func generic(t []token) bool {
	for i := range t {
		switch t[i].low {
		case "follow", "following", "these", "below", "rules", "guidelines", "steps", "needed":
			if !(t[i].low == "following" && (at(t, i+1) == "information" || at(t, i+1) == "with")) {
				return true
			}
		}
	}
	return false
}

// maxJoined bounds a statement that is joined from a lead and its items, in bytes.
const maxJoined = 800

// joined adds the norm of a lead whose items are only its objects: "Include the following: ...". Items that are norms are norms of
// their own.
func (f *finder) joined(i, from int, raw string, l lead, c place) {
	b := &f.list[i]
	s, last := blocks.Plain(raw), i
	size := len(s)
	for k := i + 1; k < len(f.list) && f.list[k].Lead == i; k++ {
		for _, p := range sentences(f.list[k].Text) {
			if p[1]-p[0] > maxSentence {
				continue
			}
			if _, ok := classify(tokenize(f.list[k].Text[p[0]:p[1]]), f.context(k)); ok {
				size = maxJoined
			}
		}
		if size += len(f.list[k].Text); size > maxJoined {
			last = i
			break
		}
		last = k
	}
	n := f.norm(i, raw, lineAt(b, from), *l.says, c)
	if last == i {
		n.Statement = clean(l.text)
		if strings.Count(l.text, " ") > 2 || l.says.means == ByNegation { // "Change flights:" is a title
			f.out = append(f.out, n)
		}
		return
	}
	parts := make([]string, 0, last-i)
	for k := i + 1; k <= last; k++ {
		parts = append(parts, strings.TrimRight(blocks.Plain(f.list[k].Text), ".;, "))
		n.Quote += "\n" + f.list[k].Text
	}
	n.Statement = clean(l.text + ": " + strings.Join(parts, "; "))
	n.EndLine = lineAt(&f.list[last], len(f.list[last].Text))
	n.Quote = text.FitRunes(n.Quote, maxQuote, "")
	f.out = append(f.out, n)
}

// refusals begin an item that shows what not to do.
var refusals = []string{"❌", "🚫", "⛔", "✗", "✘", "👎"}

// leader returns the lead of block i, of which raw is a sentence: a block before it, its heading, or a sign.
func (f *finder) leader(i int, raw string) (lead, bool) {
	no := lead{text: "Do not", says: &reading{modality: rule.MustNot, means: ByNegation}, open: true}
	for _, sign := range refusals {
		if strings.HasPrefix(raw, sign) {
			return no, true
		}
	}
	if l, ok := f.lead(f.list[i].Lead); ok {
		return l, true
	}
	section := f.list[i].Section
	if len(section) == 0 || f.list[i].Kind != blocks.Item || f.list[i].Lead >= 0 {
		return lead{}, false
	}
	t := tokenize(section[len(section)-1])
	for k := range t {
		if len(t) <= 3 && refusing[t[k].low] || is(t, k, "do", "not") || is(t, k, "not", "to", "do") || is(t, k, "must", "not") {
			return no, f.genre != Document
		}
	}
	return lead{}, false
}

// bare reads a lead that is nothing but a word that binds: "Never:".
func bare(t []token) *reading {
	if len(t) == 0 || len(t) > 2 {
		return nil
	}
	switch at(t, len(t)-1) {
	case "never", "not", "don't", "dont", "don'ts", "forbidden", "prohibited":
		return &reading{modality: rule.MustNot, means: ByNegation}
	case "avoid", "should":
		return &reading{modality: rule.Should, means: ByAdvice}
	case "always", "must":
		return &reading{modality: rule.Must, means: ByBinding}
	}
	return nil
}

// underLead puts what says when an item holds before it.
func (f *finder) underLead(statement string, l lead, led bool) string {
	if !led || !l.when || len(l.text) > 160 {
		return statement
	}
	return text.FitRunes(l.text+": "+statement, rule.MaxStatement, "")
}
