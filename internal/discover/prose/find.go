package prose

import (
	"context"
	"strings"

	"tenet/internal/rule"
)

// maxQuote bounds a quote, in characters.
const maxQuote = 2000

// finder goes over the blocks of a text.
type finder struct {
	blocks []Block
	genre  Genre
	out    []Norm
	leads  map[int]lead // what blocks that lead to others say
}

// lead is what a block that leads to a list says about its items.
type lead struct {
	text     string // without marks and the colon
	says     *reading
	open     bool // the items are what is demanded: "Agents must:"
	when     bool // it says when the items hold: "When committing:"
	sentence int  // where its last sentence begins in the block
}

// Find finds the norms of a text. When ctx ends it returns what it has.
func Find(ctx context.Context, blocks []Block, g Genre) []Norm {
	f := &finder{blocks: blocks, genre: g, leads: map[int]lead{}}
	for i := range blocks {
		if i%64 == 0 && ctx.Err() != nil {
			break
		}
		if b := &blocks[i]; b.Kind != Heading && !silent(b.Section) {
			f.block(i)
		}
	}
	return f.out
}

// block reads one block.
func (f *finder) block(i int) {
	b := &f.blocks[i]
	c := f.context(i)
	places := b.sentences()
	line, counted := b.Line, 0
	first := len(f.out)
	for k, p := range places {
		line += strings.Count(b.Text[counted:p[0]], "\n")
		counted = p[0]
		raw := b.Text[p[0]:p[1]]
		if k == len(places)-1 && f.leading(i, p[0], raw, c) {
			continue
		}
		f.sentence(i, raw, line, c, first)
	}
}

// context is where the sentences of a block stand.
func (f *finder) context(i int) place {
	b := &f.blocks[i]
	c := place{genre: f.genre, item: b.Kind == Item, row: b.Kind == Row, facts: factual(b.Section)}
	if l, ok := f.lead(b.Lead); ok && b.Kind == Paragraph && l.open {
		c.item = true
	}
	if b.Kind == Paragraph && b.Code && leads(b.Text) {
		c.running = true
	}
	return c
}

// leading notes what a block says that leads to a list, and reports whether it is read with the list.
func (f *finder) leading(i, at int, raw string, c place) bool {
	if !leads(raw) || !f.hasItems(i) {
		return false
	}
	t := tokenize(raw)
	l := lead{text: strings.TrimRight(plain(raw), ": "), sentence: at}
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

// hasItems reports whether the next block stands under block i.
func (f *finder) hasItems(i int) bool {
	return i+1 < len(f.blocks) && f.blocks[i+1].Lead == i
}

// lead is what block i says about the blocks below it.
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

// joined finds the norm of a lead whose items are only what it is about: "Include the following: ...". Items that are norms
// stand for themselves.
func (f *finder) joined(i, from int, raw string, l lead, c place) {
	b := &f.blocks[i]
	text, last := plain(raw), i
	size := len(text)
	for k := i + 1; k < len(f.blocks) && f.blocks[k].Lead == i; k++ {
		for _, p := range sentences(f.blocks[k].Text) {
			if _, ok := classify(tokenize(f.blocks[k].Text[p[0]:p[1]]), f.context(k)); ok {
				size = maxJoined
			}
		}
		if size += len(f.blocks[k].Text); size > maxJoined {
			last = i
			break
		}
		last = k
	}
	n := f.norm(i, raw, b.line(from), *l.says, c)
	if last == i {
		n.Statement = clean(l.text)
		if strings.Count(l.text, " ") > 2 || l.says.means == ByNegation { // "Change flights:" is a title
			f.out = append(f.out, n)
		}
		return
	}
	parts := make([]string, 0, last-i)
	for k := i + 1; k <= last; k++ {
		parts = append(parts, strings.TrimRight(plain(f.blocks[k].Text), ".;, "))
		n.Quote += "\n" + f.blocks[k].Text
	}
	n.Statement = clean(l.text + ": " + strings.Join(parts, "; "))
	n.EndLine = f.blocks[last].line(len(f.blocks[last].Text))
	n.Quote = cut(n.Quote, maxQuote)
	f.out = append(f.out, n)
}

// sentence reads one sentence of block i. first is where the norms of the block begin in what has been found.
func (f *finder) sentence(i int, raw string, line int, c place, first int) {
	if strings.HasSuffix(raw, "?") || strings.HasSuffix(raw, "?*") {
		return
	}
	if n := len(f.out); n > first {
		if e, ok := exception(raw); ok {
			f.out[n-1].except(e)
			return
		}
	}
	found := f.read(i, raw, line, c)
	if len(found) == 0 && len(f.out) > first && explains(raw) {
		n := &f.out[len(f.out)-1]
		n.Rationale = cut(strings.TrimSpace(n.Rationale+" "+plain(raw)), maxQuote)
	}
	f.out = append(f.out, found...)
}

// read finds the norms of a sentence: by itself, part by part, or by what leads to it.
func (f *finder) read(i int, raw string, line int, c place) []Norm {
	if c.row {
		return f.cells(i, raw, line, c)
	}
	label, body := cutLabel(raw)
	if described(label) {
		c.facts = true
	}
	t := tokenize(body)
	if len(t) == 0 {
		return nil
	}
	r, ok := classify(t, c)
	if !ok && label != "" && !described(label) {
		lt := tokenize(label)
		if r, ok = classify(lt, c); ok && r.means == ByPractice {
			ok = false
		}
		if ok {
			n := f.norm(i, raw, line, r, c)
			return []Norm{n}
		}
	}
	l, led := f.leader(i, raw)
	inherits := led && l.open
	switch {
	case ok && !(inherits && (r.means == ByItem || r.means == BySentence)): // under "Never:", an order is what is forbidden
		parts := split(body, t, r, c)
		if len(parts) < 2 {
			n := f.norm(i, raw, line, r, c)
			n.Statement = f.underLead(n.Statement, l, led)
			return []Norm{n}
		}
		return f.parts(i, raw, body, line, parts, c)
	case inherits:
		n := f.norm(i, raw, line, *l.says, c)
		n.Means, n.Confidence, n.Method = ByLead, confidence(ByLead, f.genre), methods[ByLead]+" (\""+cut(l.text, 60)+":\")"
		n.Statement = clean(l.text + ": " + strings.TrimLeft(plain(raw), signs))
		if fullSentence(t) {
			n.Statement = clean(plain(raw))
		}
		return []Norm{n}
	}
	return nil
}

// refusals begin an item that shows what not to do.
var refusals = []string{"❌", "🚫", "⛔", "✗", "✘", "👎"}

// refusing are headings of what not to do.
var refusing = words("don't donts don'ts dont never avoid forbidden prohibited disallowed unacceptable anti-patterns antipatterns")

// leader is what leads to block i, of which raw is a sentence: a block before it, its heading, or a sign.
func (f *finder) leader(i int, raw string) (lead, bool) {
	no := lead{text: "Do not", says: &reading{modality: rule.MustNot, means: ByNegation}, open: true}
	for _, sign := range refusals {
		if strings.HasPrefix(raw, sign) {
			return no, true
		}
	}
	if l, ok := f.lead(f.blocks[i].Lead); ok {
		return l, true
	}
	section := f.blocks[i].Section
	if len(section) == 0 || f.blocks[i].Kind != Item || f.blocks[i].Lead >= 0 {
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

// parts makes the norms of a sentence with several duties.
func (f *finder) parts(i int, raw, body string, line int, parts []part, c place) []Norm {
	offset := strings.LastIndex(raw, body)
	out := make([]Norm, 0, len(parts))
	for _, p := range parts {
		text := body[p.start:p.end]
		n := f.norm(i, text, line+strings.Count(raw[:offset+p.start], "\n"), p.says, c)
		if p.subject != "" {
			n.Statement = clean(p.subject + " " + plain(text))
		}
		out = append(out, n)
	}
	return out
}

// cells reads a row of a table.
func (f *finder) cells(i int, raw string, line int, c place) []Norm {
	head, _, _ := strings.Cut(raw, "|")
	from := 0
	for cell := range strings.SplitSeq(raw, "|") {
		if r, ok := classify(tokenize(cell), c); ok {
			n := f.norm(i, raw, line, r, c)
			if from > 0 {
				n.Statement = clean(plain(head) + ": " + plain(cell))
			} else {
				n.Statement = clean(plain(cell))
			}
			return []Norm{n}
		}
		from += len(cell) + 1
	}
	return nil
}

// underLead puts what says when an item holds before it.
func (f *finder) underLead(statement string, l lead, led bool) string {
	if !led || !l.when || len(l.text) > 160 {
		return statement
	}
	return cut(l.text+": "+statement, rule.MaxStatement)
}

// norm makes the norm of a sentence.
func (f *finder) norm(i int, raw string, line int, r reading, c place) Norm {
	b := &f.blocks[i]
	n := Norm{
		Statement: clean(plain(raw)), Modality: r.modality, Line: line, EndLine: line + strings.Count(raw, "\n"), Quote: cut(raw, maxQuote),
		Section: b.Section, Means: r.means, Method: method(r, c), Confidence: confidence(r.means, f.genre),
	}
	n.Severity = severity(&n, r)
	if e, ok := clause(raw); ok {
		n.except(e)
	}
	return n
}

// except adds an exception.
func (n *Norm) except(e string) {
	if len(n.Exceptions) < rule.MaxPoints {
		n.Exceptions = append(n.Exceptions, cut(e, rule.MaxException))
	}
}

// methods are the means in words.
var methods = [byLast]string{
	ByBinding: "sentence that binds", ByRestraint: "sentence that restrains", ByAdvice: "sentence that advises", ByNegation: "order not to do something",
	ByItem: "order in a list", BySentence: "order in a sentence", ByLead: "item below", ByPractice: "practice", ByPermission: "permission",
}

// method says in words how a norm was found.
func method(r reading, c place) string {
	name := methods[r.means]
	if c.row && r.means == ByBinding {
		name = "cell of a table that binds"
	}
	return name + " (\"" + r.phrase + "\")"
}

// signs stand before text to catch the eye.
const signs = " ✅✔☑👍⚠️🔴🟢🟡❗❌🚫⛔✗✘👎•–—-"

// clean makes a statement of text: one line that begins with a capital letter and has no loose ends.
func clean(s string) string {
	s = strings.TrimLeft(strings.TrimRight(strings.TrimSpace(s), ":;, "), signs)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "; and"), "; or")
	if len(s) > 0 && s[0] >= 'a' && s[0] <= 'z' {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	return cut(s, rule.MaxStatement)
}

// cut shortens text to at most n characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count++; count > n {
			return s[:i]
		}
	}
	return s
}

// Judge reads a statement that is known to be a rule, such as an item of a checklist: its modality, MUST if nothing says
// otherwise, and its severity.
func Judge(statement string) Norm {
	r, ok := classify(tokenize(statement), place{genre: Policy, item: true})
	if !ok {
		r = reading{modality: rule.Must, means: ByItem}
	}
	n := Norm{Statement: statement, Modality: r.modality, Quote: statement, Means: r.means}
	n.Severity = severity(&n, r)
	if e, ok := clause(statement); ok {
		n.except(e)
	}
	return n
}
