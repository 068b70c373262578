package prose

import (
	"context"
	"fmt"
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// maxQuote bounds a quote, in characters.
const maxQuote = 2000

// maxNorms bounds the norms of one text, far above what people write, so that a text made of nothing else fills no memory.
const maxNorms = 10_000

// finder goes over the blocks of a text.
type finder struct {
	list   []blocks.Block
	genre  Genre
	out    []Norm
	leads  map[int]lead // what blocks that lead to others say
	long   int          // sentences that are too long to be read
	first  int          // the line of the first of them
	loose  int          // the block whose sentence the list that is being read ends; -1 for none
	points int          // the block whose points the paragraphs below it are; -1 for none
	items  [2]int       // where the list that was asked for last begins and ends
	orders map[int]bool // by the first item of a list, whether some of its items are surely orders
	firm   map[int]bool // by the first item of a list, whether it regulates in a text that describes things
	tongue *tongue      // the language; nil for English
	inner  lead         // of the lines behind it in its paragraph
	over   span         // the lead of the sections below it

	advises bool // its advice counts, although it is a document that describes things
	guides  bool // so do its orders under a condition
}

// Find returns the norms of a text, and the places that it has not read. When ctx ends it returns those found until then.
func Find(ctx context.Context, list []blocks.Block, g Genre) (found []Norm, gaps []Gap) {
	load()
	f := &finder{list: list, genre: g, leads: map[int]lead{}, points: -1, loose: -1, orders: map[int]bool{}, firm: map[int]bool{}, tongue: tongueOf(list)}
	if g == Document && f.tongue == nil {
		n := survey(list)
		f.advises, f.guides = n.advises(), n.guides()
		if n.prescribes() {
			g = Policy
		}
	}
	if g == Document && f.tongue != nil && f.tongue.prescribes(list) {
		g = Policy
	}
	for i := range list {
		f.genre = genreOf(list[i].Section, g)
		if f.genre == Document && f.advises && f.firmAround(i) {
			f.genre = Policy
		}
		if i%64 == 0 && ctx.Err() != nil {
			break
		}
		if len(f.out) > maxNorms {
			break
		}
		switch b := &list[i]; {
		case b.Kind == blocks.Heading:
			f.heading(i)
		case !sealed(b.Section):
			f.block(i)
		}
	}
	if f.long > 0 {
		gaps = append(gaps, Gap{f.first, fmt.Sprintf("sentences of more than %d bytes are not read: there are %d, of which this is the first", maxSentence, f.long)})
	}
	if len(f.out) > maxNorms {
		gaps = append(gaps, Gap{f.out[maxNorms].Line, fmt.Sprintf("there are %d statements above, and the rest of the text is not read; divide it", maxNorms)})
		f.out = f.out[:maxNorms]
	}
	return f.out, gaps
}

// block reads one block.
func (f *finder) block(i int) {
	b := &f.list[i]
	c := f.context(i)
	if b.Kind != blocks.Item {
		f.loose = -1
	}
	sentences := places(b)
	line, counted := b.Line, 0
	first, quiet := len(f.out), silent(b.Section)
	for k, p := range sentences {
		raw := b.Text[p[0]:p[1]]
		if quiet && !binding(raw) || interprets(raw) {
			continue
		}
		line += strings.Count(b.Text[counted:p[0]], "\n")
		counted = p[0]
		if len(raw) > maxSentence {
			if f.long++; f.long == 1 {
				f.first = line
			}
			continue
		}
		if k == len(sentences)-1 && f.leading(i, p[0], raw, c) {
			continue
		}
		c.later = k > 0
		f.sentence(i, raw, line, c, first)
		f.within(i, raw)
	}
	f.inner = lead{}
}

// context returns the surroundings of the sentences of a block.
func (f *finder) context(i int) place {
	b := &f.list[i]
	c := place{genre: f.genre, tongue: f.tongue, item: b.Kind == blocks.Item, row: b.Kind == blocks.Row, facts: factual(b.Section), aside: announced(b.Section, asideSections), advises: f.advises && f.genre == Document, guides: f.guides && f.genre == Document}
	if l, ok := f.lead(b.Lead); ok && b.Kind == blocks.Paragraph && l.open {
		c.item = true
	}
	if c.item && f.genre != Document {
		c.orders = func() bool { return f.ordersAround(i) }
	}
	if b.Kind == blocks.Paragraph && b.BeforeCode && blocks.Leads(b.Text) {
		c.running = true
	}
	return c
}

// sentence reads one sentence of block i. first is where the norms of the block begin in what has been found.
func (f *finder) sentence(i int, raw string, line int, c place, first int) {
	if question(raw) {
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
		n.Rationale = text.FitRunes(strings.TrimSpace(n.Rationale+" "+blocks.Plain(raw)), maxQuote, "")
	}
	f.out = append(f.out, found...)
}

// question reports whether a sentence is a question, behind which words in brackets may be.
func question(raw string) bool {
	raw = strings.TrimRight(raw, "*_ ")
	if at := strings.LastIndex(raw, " ("); at > 0 && strings.HasSuffix(raw, ")") {
		raw = raw[:at]
	}
	return strings.HasSuffix(raw, "?")
}

// read returns the norms of a sentence: of the whole, part by part, or by its lead.
func (f *finder) read(i int, raw string, line int, c place) []Norm {
	if c.row {
		if f.genre.describes() { // a table describes things, such as settings
			return nil
		}
		return f.cells(i, raw, line, c)
	}
	b := &f.list[i]
	if c.item && strings.HasPrefix(raw, "[") && (f.genre != Instructions && b.Lead < 0 || strings.Contains(raw, "](#")) && blocks.LinkEnd(raw, 0) >= len(raw)-1 { // of a table of contents, or to another page
		return nil
	}
	if strings.HasPrefix(raw, "[") && (strings.HasSuffix(raw, "]") && !strings.Contains(raw, "](") || linkTarget(raw)) { // a hole to fill in, or the address of a link
		return nil
	}
	label, body := cutLabel(raw)
	if described(label) {
		c.facts = true
	}
	if label == "" {
		body = unnumbered(body)
	}
	t := tokenize(body)
	if len(t) == 0 {
		return nil
	}
	r, ok := classify(t, c)
	if ok && c.item && r.means == ByItem && titled(raw, t) || ok && r.means == BySentence && strings.HasSuffix(raw, ":") && generic(t) {
		return nil
	}
	if !ok && label != "" && !described(label) {
		lt := tokenize(label)
		if r, ok = classify(lt, c); ok && (r.means == ByPractice || len(lt) == 1) {
			ok = false
		}
		if ok {
			n := f.norm(i, raw, line, r, c)
			return []Norm{n}
		}
	}
	if !ok && label != "" && c.item && f.genre == Policy && f.tongue == nil && !c.facts {
		if r, ok = duties(t, b.Section); !ok && recurs(t) {
			r, ok = reading{modality: rule.Must, means: ByLabel, phrase: blocks.Plain(label)}, true
		}
	}
	if !ok && c.item && f.genre == Instructions && f.tongue == nil {
		r, ok = insteadOf(t)
	}
	l, led := f.leader(i, raw)
	if !ok && (!led || l.when) && !(c.later && fullSentence(t)) {
		r, ok = ticked(b, t, f.genre)
	}
	if !ok && c.item && !f.genre.describes() {
		if r, statement, ok := keyed(raw); ok {
			n := f.norm(i, raw, line, r, c)
			n.Statement = clean(blocks.Plain(statement))
			return []Norm{n}
		}
	}
	inherits := led && l.open && !(c.later && resumes(t))
	if led && l.free && ok && (r.means == ByItem || r.means == BySentence) {
		return nil
	}
	if f.tongue != nil && (inherits && l.ends || b.Lead >= 0 && f.tongue.conditional(f.list[b.Lead].Text)) {
		ok = false // the item goes on with its lead
	}
	if !ok && led && l.says == nil && !l.when && label != "" && f.genre == Instructions && !c.facts && announced([]string{l.text}, namingLeads) && !fullSentence(t) {
		return []Norm{f.norm(i, raw, line, reading{modality: rule.Must, means: ByLabel, phrase: blocks.Plain(label)}, c)}
	}
	if !ok && !led && label != "" && c.item && !c.facts && labelled(raw, label, body, t) && (f.genre == Instructions && announced(b.Section, ruleSections) || f.genre == Policy && bounds(t)) {
		return []Norm{f.norm(i, raw, line, reading{modality: rule.Must, means: ByLabel, phrase: blocks.Plain(label)}, c)}
	}
	if !ok && !led && c.item && (f.genre == Policy && !c.facts || f.genre == Instructions && is(t, 0, "one")) && limits(t) {
		return []Norm{f.norm(i, raw, line, reading{modality: rule.Must, means: ByRestraint, phrase: t[0].low}, c)}
	}
	if f.inner.says != nil && !led && (!ok || r.at == 0 && copulas[t[0].low]) && goesOn(t) {
		l, inherits, ok = f.inner, true, false
	}
	if !ok && !led && !inherits {
		if l, inherits = f.point(i, t); !inherits {
			l, inherits = f.demanded(i, raw, t)
		}
	}
	if led && l.open && l.ends && ok && r.means == ByNegation && r.at == 0 && l.says.modality != rule.MustNot {
		n := f.norm(i, raw, line, r, c) // "Staff must:" and in it "never share keys"
		n.Statement = clean(l.with(strings.TrimLeft(blocks.Plain(raw), signs), t))
		return []Norm{n}
	}
	switch {
	case ok && !(inherits && (r.means == ByItem || r.means == BySentence)): // under "Never:", an order is a prohibition
		parts := split(body, t, r, c)
		if len(parts) < 2 {
			n := f.norm(i, raw, line, r, c)
			n.Statement = f.underLead(n.Statement, l, led)
			return []Norm{n}
		}
		norms := f.parts(i, raw, body, line, parts, c)
		for k := range norms {
			norms[k].Statement = f.underLead(norms[k].Statement, l, led)
		}
		return norms
	case inherits:
		n := f.norm(i, raw, line, *l.says, c)
		if w := t[0].low; (w == "not" || w == "never" || f.tongue != nil && f.tongue.is("not", w)) && n.Modality == rule.Must {
			n.Modality = rule.MustNot
		}
		n.Means, n.Method = ByLead, methods[ByLead]+" (\""+text.FitRunes(l.text, 60, "")+":\")"
		n.Statement = clean(l.with(strings.TrimLeft(blocks.Plain(raw), signs), t))
		if fullSentence(t) && n.Modality == rule.Must && !(l.ends && completes(t, &l)) { // the lead adds nothing
			n.Statement = clean(blocks.Plain(raw))
		}
		n.judge(c)
		return []Norm{n}
	}
	return nil
}

// linkTarget reports whether a text is the address of a link: "[guide]: https://...".
func linkTarget(raw string) bool {
	_, address, ok := strings.Cut(raw, "]: ")
	return ok && (strings.HasPrefix(address, "http") || strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".")) && !strings.Contains(strings.TrimSpace(address), " ")
}

// parts makes the norms of a sentence with several duties.
func (f *finder) parts(i int, raw, body string, line int, parts []part, c place) []Norm {
	offset := strings.LastIndex(raw, body)
	out := make([]Norm, 0, len(parts))
	for _, p := range parts {
		text := body[p.start:p.end]
		n := f.norm(i, text, line+strings.Count(raw[:offset+p.start], "\n"), p.says, c)
		if p.subject != "" {
			n.Statement = clean(p.subject + " " + blocks.Plain(text))
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
				n.Statement = clean(blocks.Plain(head) + ": " + blocks.Plain(cell))
			} else {
				n.Statement = clean(blocks.Plain(cell))
			}
			return []Norm{n}
		}
		from += len(cell) + 1
	}
	return nil
}

// norm makes the norm of a sentence.
func (f *finder) norm(i int, raw string, line int, r reading, c place) Norm {
	b := &f.list[i]
	n := Norm{
		Statement: clean(blocks.Plain(termed(raw))), Modality: r.modality, Line: line, EndLine: line + strings.Count(raw, "\n"), Quote: text.FitRunes(raw, maxQuote, ""),
		Section: b.Section, Means: r.means, Method: method(r, c),
	}
	n.Severity, n.reason = severity(&n, r)
	if e, ok := clause(raw); ok {
		n.except(e)
	}
	n.judge(c)
	return n
}

// termed returns a text that begins with a term and its definition as one line: "Badge\n: Wear it." and "Badge:: Wear it." are "Badge: Wear
// it.".
func termed(raw string) string {
	for _, mark := range []string{"\n: ", ":: "} {
		if at := strings.Index(raw, mark); at > 0 && at < 80 {
			return raw[:at] + ": " + raw[at+len(mark):]
		}
	}
	return raw
}

// judge sets the signs and the confidence of a norm.
func (n *Norm) judge(c place) {
	n.Signs = signsOf(n, c)
	n.Confidence = Confidence(n.Signs)
}

// except adds an exception.
func (n *Norm) except(e string) {
	if len(n.Exceptions) < rule.MaxPoints {
		n.Exceptions = append(n.Exceptions, text.FitRunes(e, rule.MaxException, ""))
	}
}

// methods are the means in words.
var methods = [byLast]string{
	ByBinding: "sentence that binds", ByRestraint: "sentence that restrains", ByAdvice: "sentence that advises", ByNegation: "order not to do something",
	ByItem: "order in a list", BySentence: "order in a sentence", ByLead: "item below", ByPractice: "practice", ByPermission: "permission", ByLabel: "item with a label among rules", ByBox: "item with a box to tick", ByStatement: "statement of what is done",
}

// method says in words how a norm was found.
func method(r reading, c place) string {
	name := methods[r.means]
	if c.row && r.means == ByBinding {
		name = "cell of a table that binds"
	}
	return name + " (\"" + r.phrase + "\")"
}

// signs are characters before a text that catch the eye.
const signs = " ✅✔☑👍⚠️🔴🟢🟡❗❌🚫⛔✗✘👎•–—-"

// clean makes a statement of text: one line that begins with a capital letter and has no loose ends.
func clean(s string) string {
	s = strings.TrimLeft(strings.TrimRight(strings.TrimSpace(s), ":;, "), signs)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "; and"), "; or")
	if len(s) > 0 && s[0] >= 'a' && s[0] <= 'z' {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	return text.FitRunes(s, rule.MaxStatement, "")
}

// Judge reads a statement that is known to be a rule, such as an item of a checklist: its modality, MUST if nothing says
// otherwise, and its severity.
func Judge(statement string) Norm {
	load()
	r, ok := classify(tokenize(statement), place{genre: Policy, item: true})
	if !ok {
		r = reading{modality: rule.Must, means: ByItem}
	}
	n := Norm{Statement: statement, Modality: r.modality, Quote: statement, Means: r.means}
	n.Severity, n.reason = severity(&n, r)
	if e, ok := clause(statement); ok {
		n.except(e)
	}
	return n
}
