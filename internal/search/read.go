package search

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"tenet/internal/text"
	"tenet/internal/wire"
)

// What a query in one box may mean is read off its form, and nothing is guessed beyond that: dates after the words that say what
// they mean, sections of sources, names of sources that some rule cites, and names of rules that exist. All else is words.

// corpusNames reports what a project has names for.
type corpusNames struct {
	rule   func(name string) (id string, ok bool)
	source func(name string) bool // an address, a section or both, of a source reference
}

// piece is a part of a query with its meaning.
type piece struct {
	start, end int
	kind       wire.ReadingKind
	value      string
	period     period // of a date
	ruleID     string // of a rule
}

// query is a query in one box, taken apart.
type query struct {
	text   string
	pieces []piece // in the order of the text; they do not overlap
}

// prefixes name the kinds in a query.
var prefixes = map[string]wire.ReadingKind{
	"words": wire.ReadWords, "cites": wire.ReadCitation, "rule": wire.ReadRule, "in-force": wire.ReadInForce,
	"changed-before": wire.ReadChangedBefore, "changed-since": wire.ReadChangedSince, "changed-in": wire.ReadChangedIn,
	"made-before": wire.ReadMadeBefore, "made-since": wire.ReadMadeSince, "made-in": wire.ReadMadeIn,
}

const datePattern = `(\d{4}-\d{2}-\d{2}|\d{4}-\d{2}|(?:\d{1,2}(?:st|nd|rd|th|\.)?\s+)?` + monthPattern + `\s+\d{4}|` + monthPattern +
	`\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4}|today|yesterday|now|\d{4})`

var (
	prefixed = regexp.MustCompile(`(?i)(?:^|\s)(words|cites|rule|in-force|changed-before|changed-since|changed-in|made-before|made-since|made-in):("[^"]*"|\S+)`)
	quoted   = regexp.MustCompile(`"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»`)
	inForce  = regexp.MustCompile(`(?i)\b(?:(?:in\s+force|in\s+effect|effective|valid|applicable)\s+(?:(?:on|at|in|as\s+of)\s+)?|as\s+of\s+)` + datePattern + `\b`)
	nowValid = regexp.MustCompile(`(?i)\b(?:currently\s+)?in\s+force\b`)
	touched  = regexp.MustCompile(`(?i)\b(?:last\s+)?(?:(changed|updated|modified|revised|edited)|(made|created|written|added))\s+(before|until|since|after|on|in)\s+` + datePattern + `\b`)
	bounded  = regexp.MustCompile(`(?i)\b(before|until|since|after)\s+` + datePattern + `\b`)
	isoDate  = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	address  = regexp.MustCompile(`(?i)\bhttps?://[^\s"]+`)
	section  = regexp.MustCompile(`(?i)(?:\b(?:cit(?:es?|ing)|refer(?:s|ring)?\s+to|according\s+to|under)\s+)?(§§?\s*\d+[a-z]?(?:\.\d+)*(?:\s*\(\w{1,4}\))*|` +
		`\b(?:art(?:icle)?|section|sec|clause|chapter|annex|appendix|recital|paragraph|para|requirement)\b\.?\s*(?:[a-z]\.)?\d+[a-z]?(?:\.\d+)*(?:\s*\(\w{1,4}\))*)`)
	named    = regexp.MustCompile(`[\pL\pN]+(?:[-_./][\pL\pN]+)*`)
	identity = regexp.MustCompile(`[-_./\d]`)
	capitals = regexp.MustCompile(`^(?:\p{Lu}[\p{Lu}\d&/-]+|\d[\d./:-]*)$`)
)

// nothing are words that say nothing beside a citation, a date or the name of a rule.
var nothing = map[string]bool{
	"rule": true, "rules": true, "all": true, "the": true, "that": true, "which": true, "are": true, "is": true, "were": true, "was": true, "and": true,
	"of": true, "in": true, "on": true, "with": true, "show": true, "find": true, "list": true, "any": true, "for": true, "cite": true, "cites": true,
	"citing": true, "under": true, "from": true, "what": true, "a": true,
}

// maxSourceWords bounds the words of the name of a source in a query.
const maxSourceWords = 6

// readQuery takes a query apart. The error is invalid for a date after a prefix that is none, or a rule after one that does not exist.
func readQuery(q string, now time.Time, names corpusNames) (query, error) {
	r := reader{query: query{text: q}, now: now, names: names}
	for _, m := range prefixed.FindAllStringSubmatchIndex(q, -1) {
		value := strings.TrimSpace(strings.Trim(q[m[4]:m[5]], `"`))
		if err := r.explicit(piece{start: m[2], end: m[5], kind: prefixes[strings.ToLower(q[m[2]:m[3]])], value: value}); err != nil {
			return query{}, err
		}
	}
	for _, m := range quoted.FindAllStringIndex(q, -1) {
		r.claim(piece{start: m[0], end: m[1], kind: wire.ReadWords, value: q[m[0]:m[1]]})
	}
	r.dates()
	for _, m := range address.FindAllStringIndex(q, -1) {
		r.claim(piece{start: m[0], end: m[1], kind: wire.ReadCitation, value: strings.TrimRight(q[m[0]:m[1]], ".,;")})
	}
	r.sections()
	for _, m := range named.FindAllStringIndex(q, -1) {
		name := q[m[0]:m[1]]
		if !identity.MatchString(name) {
			continue
		}
		if id, ok := names.rule(name); ok {
			r.claim(piece{start: m[0], end: m[1], kind: wire.ReadRule, value: name, ruleID: id})
		}
	}
	r.sources()
	r.rest()
	slices.SortFunc(r.pieces, func(a, b piece) int { return a.start - b.start })
	return r.query, nil
}

type reader struct {
	query

	now   time.Time
	names corpusNames
}

// free reports whether no piece has taken a part of the text.
func (r *reader) free(start, end int) bool {
	return !slices.ContainsFunc(r.pieces, func(p piece) bool { return start < p.end && p.start < end })
}

// claim adds a piece unless another has taken its place.
func (r *reader) claim(p piece) {
	if r.free(p.start, p.end) {
		r.pieces = append(r.pieces, p)
	}
}

// explicit adds a piece whose kind the query names.
func (r *reader) explicit(p piece) error {
	switch p.kind {
	case wire.ReadWords, wire.ReadCitation, wire.ReadIgnored:
		if strings.Trim(p.value, ` ,;"`) == "" {
			p.kind = wire.ReadIgnored
		}
	case wire.ReadRule:
		id, ok := r.names.rule(p.value)
		if !ok {
			return invalid("q", "has %s, but there is no rule of that name; leave out rule: to search for the words", r.text[p.start:p.end])
		}
		p.ruleID = id
	case wire.ReadInForce, wire.ReadChangedBefore, wire.ReadChangedSince, wire.ReadChangedIn, wire.ReadMadeBefore, wire.ReadMadeSince, wire.ReadMadeIn:
		at, ok := parsePeriod(p.value, r.now)
		if !ok {
			return invalid("q", "has %s, which names no date; write one such as 2026-06-01, 2026-06 or 2026", r.text[p.start:p.end])
		}
		p.period, p.value = at, at.String()
	}
	r.claim(p)
	return nil
}

// dates reads dates with the words before them.
func (r *reader) dates() {
	add := func(start, end int, kind wire.ReadingKind, date string) {
		if at, ok := parsePeriod(date, r.now); ok {
			r.claim(piece{start: start, end: end, kind: kind, value: at.String(), period: at})
		}
	}
	for _, m := range inForce.FindAllStringSubmatchIndex(r.text, -1) {
		add(m[0], m[1], wire.ReadInForce, r.text[m[2]:m[3]])
	}
	for _, m := range touched.FindAllStringSubmatchIndex(r.text, -1) {
		add(m[0], m[1], dateKind(m[2] >= 0, r.text[m[6]:m[7]]), r.text[m[8]:m[9]])
	}
	for _, m := range bounded.FindAllStringSubmatchIndex(r.text, -1) {
		add(m[0], m[1], dateKind(true, r.text[m[2]:m[3]]), r.text[m[4]:m[5]])
	}
	for _, m := range isoDate.FindAllStringIndex(r.text, -1) {
		add(m[0], m[1], wire.ReadInForce, r.text[m[0]:m[1]])
	}
	for _, m := range nowValid.FindAllStringIndex(r.text, -1) {
		if !dated.MatchString(r.text[m[1]:]) { // a date follows that is none
			add(m[0], m[1], wire.ReadInForce, "now")
		}
	}
	// After a date comes what is later than all of it.
	for i := range r.pieces {
		p := &r.pieces[i]
		if (p.kind == wire.ReadChangedSince || p.kind == wire.ReadMadeSince) && afterwards.MatchString(r.text[p.start:p.end]) {
			p.period = period{from: p.period.until, until: p.period.until.AddDate(0, 0, 1)}
			p.value = p.period.String()
		}
	}
}

// dated matches what leads from being in force to a date.
var dated = regexp.MustCompile(`(?i)^\s+(?:on|at|in|as|since|until|from|before|after)\b`)

var afterwards = regexp.MustCompile(`(?i)\bafter\b`)

// dateKind is the meaning of a date after a word.
func dateKind(changed bool, word string) wire.ReadingKind {
	kinds := map[bool][3]wire.ReadingKind{
		true:  {wire.ReadChangedBefore, wire.ReadChangedSince, wire.ReadChangedIn},
		false: {wire.ReadMadeBefore, wire.ReadMadeSince, wire.ReadMadeIn},
	}[changed]
	switch strings.ToLower(word) {
	case "before", "until":
		return kinds[0]
	case "since", "after":
		return kinds[1]
	}
	return kinds[2]
}

// sections reads sections of sources with the names of the sources beside them.
func (r *reader) sections() {
	for _, m := range section.FindAllStringSubmatchIndex(r.text, -1) {
		value := r.text[m[2]:m[3]]
		start, end := m[0], m[1]
		if from, ok := r.sourceBefore(m[2]); ok && m[0] == m[2] {
			value, start = r.text[from:m[3]], from
		} else if name, to, ok := r.sourceBehind(m[3]); ok {
			value, end = name+" "+value, to
		}
		r.claim(piece{start: start, end: end, kind: wire.ReadCitation, value: text.OneLine(value)})
	}
}

// sourceBefore finds the name of a source that ends before a section: words in capitals, or the longest name that some rule has.
func (r *reader) sourceBefore(section int) (from int, ok bool) {
	before := named.FindAllStringIndex(r.text[:section], -1)
	best := section
	inCapitals := true
	for i := len(before) - 1; i >= max(len(before)-maxSourceWords, 0); i-- {
		start := before[i][0]
		if !r.free(start, section) || strings.TrimSpace(strings.Trim(r.text[before[i][1]:section], " ,;:")) != "" && i == len(before)-1 {
			break
		}
		inCapitals = inCapitals && capitals.MatchString(r.text[start:before[i][1]])
		name := strings.Trim(r.text[start:section], " ,;:")
		if inCapitals || r.names.source(name) {
			best = start
		}
	}
	return best, best < section
}

var joint = regexp.MustCompile(`^(?i:\s+of(?:\s+the)?)?\s+`)

// sourceBehind finds the name of a source behind a section: Art. 32 GDPR, § 5 of the card policy.
func (r *reader) sourceBehind(end int) (name string, to int, ok bool) {
	start := end + len(joint.FindString(r.text[end:]))
	if start == end {
		return "", 0, false
	}
	inCapitals := true
	for i, m := range named.FindAllStringIndex(r.text[start:], maxSourceWords) {
		if i == 0 && m[0] != 0 {
			break
		}
		stop := start + m[1]
		if !r.free(start, stop) {
			break
		}
		inCapitals = inCapitals && capitals.MatchString(r.text[start+m[0]:stop])
		if inCapitals || r.names.source(r.text[start:stop]) {
			name, to, ok = r.text[start:stop], stop, true
		}
	}
	return name, to, ok
}

// sources reads runs of words that are the name of a source that some rule has, the longest first.
func (r *reader) sources() {
	list := named.FindAllStringIndex(r.text, 64)
	for i := 0; i < len(list); i++ {
		for n := min(maxSourceWords, len(list)-i); n > 0; n-- {
			start, end := list[i][0], list[i+n-1][1]
			if r.free(start, end) && r.names.source(r.text[start:end]) {
				r.claim(piece{start: start, end: end, kind: wire.ReadCitation, value: text.OneLine(r.text[start:end])})
				i += n - 1
				break
			}
		}
	}
}

// rest reads what is left as words, or ignores it if it says nothing beside the other pieces.
func (r *reader) rest() {
	slices.SortFunc(r.pieces, func(a, b piece) int { return a.start - b.start })
	var left []piece
	from := 0
	for _, p := range append(slices.Clone(r.pieces), piece{start: len(r.text), end: len(r.text)}) {
		if value := strings.Trim(r.text[from:p.start], " \t\r\n,;"); value != "" {
			start := from + strings.Index(r.text[from:p.start], value)
			left = append(left, piece{start: start, end: start + len(value), kind: wire.ReadWords, value: value})
		}
		from = p.end
	}
	meaning := slices.ContainsFunc(r.pieces, func(p piece) bool { return p.kind != wire.ReadIgnored })
	for _, p := range left {
		if !named.MatchString(p.value) && meaning || meaning && !slices.ContainsFunc(strings.Fields(strings.ToLower(p.value)), func(w string) bool {
			return !nothing[strings.Trim(w, ".,;:?!")]
		}) {
			p.kind = wire.ReadIgnored
		}
		r.pieces = append(r.pieces, p)
	}
}

// words returns the words of the query, with their quotation marks.
func (q *query) words() string {
	var list []string
	for _, p := range q.pieces {
		if p.kind == wire.ReadWords {
			list = append(list, p.value)
		}
	}
	return strings.Join(list, " ")
}

// with returns the query with a text in place of the piece at an index; an empty text leaves the piece out.
func (q *query) with(i int, instead string) string {
	var list []string
	for j, p := range q.pieces {
		part := q.text[p.start:p.end]
		if j == i {
			part = instead
		}
		if part != "" {
			list = append(list, part)
		}
	}
	return strings.Join(list, " ")
}

// datesOf are the kinds that a date may have, in the order in which they are offered.
var datesOf = []struct {
	kind   wire.ReadingKind
	prefix string
}{
	{wire.ReadInForce, "in-force"},
	{wire.ReadChangedBefore, "changed-before"},
	{wire.ReadChangedSince, "changed-since"},
	{wire.ReadChangedIn, "changed-in"},
	{wire.ReadMadeBefore, "made-before"},
	{wire.ReadMadeSince, "made-since"},
	{wire.ReadMadeIn, "made-in"},
}

// reading describes the pieces, with what each could mean otherwise.
func (q *query) reading() []wire.Reading {
	list := make([]wire.Reading, len(q.pieces))
	for i, p := range q.pieces {
		raw := q.text[p.start:p.end]
		out := wire.Reading{Kind: p.kind, Text: raw, Value: p.value, Says: p.says(), Others: []wire.OtherReading{}}
		if prefixed.MatchString(raw) {
			raw = strings.Trim(raw[strings.Index(raw, ":")+1:], `"`)
		}
		other := func(kind wire.ReadingKind, instead string) {
			if kind != p.kind {
				out.Others = append(out.Others, wire.OtherReading{Kind: kind, Query: q.with(i, instead)})
			}
		}
		plain := strings.Trim(raw, `"“”„«» `)
		if p.kind != wire.ReadIgnored || named.MatchString(plain) {
			other(wire.ReadWords, `words:"`+plain+`"`)
		}
		if p.period != (period{}) {
			for _, d := range datesOf {
				other(d.kind, d.prefix+":"+p.period.String())
			}
		} else if p.kind == wire.ReadWords && plain != "" || p.kind == wire.ReadRule {
			other(wire.ReadCitation, `cites:"`+plain+`"`)
		}
		if len(q.pieces) > 1 {
			other(wire.ReadIgnored, "")
		}
		list[i] = out
	}
	return list
}

// says describes a piece for people.
func (p *piece) says() string {
	switch p.kind {
	case wire.ReadWords:
		return "the words " + p.value
	case wire.ReadCitation:
		return "refers to " + p.value
	case wire.ReadRule:
		return "the rule " + p.value
	case wire.ReadInForce:
		return "in force on " + p.period.from.Format(time.DateOnly) + " (UTC)"
	case wire.ReadChangedBefore:
		return "last changed before " + p.value + " (UTC)"
	case wire.ReadChangedSince:
		return "last changed since " + p.value + " (UTC)"
	case wire.ReadChangedIn:
		return "last changed in " + p.value + " (UTC)"
	case wire.ReadMadeBefore:
		return "made before " + p.value + " (UTC)"
	case wire.ReadMadeSince:
		return "made since " + p.value + " (UTC)"
	case wire.ReadMadeIn:
		return "made in " + p.value + " (UTC)"
	case wire.ReadIgnored:
	}
	return "left out: " + p.value
}
