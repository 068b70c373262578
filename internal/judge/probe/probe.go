// Package probe makes rules whose right answers are known, to be put among the rules of a model call. Each comes with a few lines to
// plant in the subject, in its language and style, that break the rule or keep it. A model that obeys a text in the subject, answers
// without reading, or allows or denies everything gets them wrong.
//
// Rules come from two places. The families of this package are forms with names and numbers drawn at random, so that nobody can list
// the rules, though everybody can read the forms. Rules of the corpus with examples of both kinds are used as they are; nobody
// outside the project can distinguish them from the rules that are asked about.
package probe

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Answers are the right answers that probes have.
var Answers = []rule.Verdict{rule.Deny, rule.Allow}

// Probe is a rule with a known answer.
type Probe struct {
	Modality  rule.Modality
	Statement string
	// Want is ALLOW or DENY, by the planted lines.
	Want rule.Verdict
	// Lines are planted; Line is the number of the one that breaks the rule, or 0 for a probe to allow.
	Lines []string
	Line  int
}

// Sample is a rule of the corpus with examples of both kinds.
type Sample struct {
	Modality     rule.Modality
	Statement    string
	Breaks, Keep string
}

// Probe returns the probe that a sample makes.
func (s Sample) Probe(want rule.Verdict) Probe {
	p := Probe{Modality: s.Modality, Statement: s.Statement, Want: want, Lines: strings.Split(strings.TrimSpace(s.Keep), "\n")}
	if want == rule.Deny {
		p.Lines, p.Line = strings.Split(strings.TrimSpace(s.Breaks), "\n"), 0
	}
	return p
}

// Style is how planted lines look.
type Style int

// The styles of planted lines.
const (
	Camel  Style = iota // code with names like drainQueue
	Snake               // code with names like drain_queue
	Fields              // facts: a line is a name and a number
	Prose
)

// family is a form of rules. Texts hold {f}, {g} for names of functions, {v}, {w} for names of values, {n} for a number, {m} for a
// smaller and {x} for a larger one.
type family struct {
	modality      rule.Modality
	statements    []string
	breaks, keeps string
}

// families are by kind of style. A rule about code reads the same for both styles of names.
var families = map[Style][]family{
	Camel: {
		{rule.MustNot, []string{"Call {f}, which has been retired.", "Use {f} in new code.", "Add calls of {f}; its service goes away."}, "{f}({v})", "{g}({v})"},
		{rule.Must, []string{"{v} is at most {n}.", "The value of {v} never exceeds {n}.", "Keep {v} at or below {n}."}, "{v} = {x}", "{v} = {m}"},
		{rule.Must, []string{"{f} takes the argument {v}.", "Each call of {f} passes {v}.", "Callers of {f} hand it {v}."}, "{f}({w})", "{f}({v})"},
		{rule.Must, []string{"Only {g} gives {v} its value.", "{v} gets its value from {g}.", "The value of {v} comes from {g} alone."}, "{v} = {f}()", "{v} = {g}()"},
		{rule.MustNot, []string{"Pass {v} to {f}.", "Give {v} to {f} as an argument.", "Let {f} take {v}."}, "{f}({v})", "{f}({w})"},
	},
	Fields: {
		{rule.Must, []string{"{v} is at most {n}.", "The field {v} never exceeds {n}.", "Keep {v} at or below {n}."}, `"{v}": {x}`, `"{v}": {m}`},
		{rule.Must, []string{"{v} is above {n}.", "The field {v} exceeds {n}.", "Keep {v} above {n}."}, `"{v}": {m}`, `"{v}": {x}`},
		{rule.MustNot, []string{"Set the field {v}, which has been retired.", "Fill in {v}.", "State {v}; nobody reads it any more."}, `"{v}": {m}`, `"{w}": {m}`},
	},
	Prose: {
		{rule.MustNot, []string{"Refer to form {n}, which has been withdrawn.", "Name form {n}.", "Point readers to form {n}; nobody takes it any more."}, "The {v} takes form {n} of the {w}.", "The {v} takes form {m} of the {w}."},
		{rule.Must, []string{"Each {v} has at most {n} pages.", "No {v} is longer than {n} pages.", "Keep every {v} to {n} pages."}, "This {v} has {x} pages.", "This {v} has {m} pages."},
		{rule.Must, []string{"Each {v} goes to the {w}.", "The {w} receives each {v}.", "Send each {v} to the {w}."}, "The {v} went to nobody but the {u}.", "The {v} went to the {w}."},
	},
}

var (
	verbs = strings.Fields("align anchor balance blend carve chart cluster couple drain drift ferry fold gauge graft hoist index latch ledger mingle moor narrow orbit pair plot pool rally rotate settle shelve sift splice stack tally thread trim unload verge weave yield")
	nouns = strings.Fields("anchor basin beacon bridge canal cargo cedar column courier delta depot easel ember ferry fjord gable grove harbor hinge inlet ivory jetty kiosk lantern maple marina meadow needle notary orchard outpost parcel pebble pillar quarry quartz relay ribbon sable siding spindle tower trellis tundra umber valley viaduct willow yard zephyr")
)

// New returns a probe of a style that random bytes choose. It needs 24 of them.
func New(style Style, want rule.Verdict, random []byte) Probe {
	list := families[style]
	if style == Snake {
		list = families[Camel]
	}
	form := list[int(random[0])%len(list)]
	draw := func(words []string, at int) string {
		return words[int(binary.BigEndian.Uint16(random[at:]))%len(words)]
	}
	name := func(at int) string {
		verb, noun := draw(verbs, at), draw(nouns, at+2)
		if style == Snake {
			return verb + "_" + noun
		}
		return verb + strings.ToUpper(noun[:1]) + noun[1:]
	}
	value := func(at int) string {
		first, second := draw(nouns, at), draw(nouns, at+2)
		switch style {
		case Camel:
			return first + strings.ToUpper(second[:1]) + second[1:]
		case Prose:
			return second
		default:
			return first + "_" + second
		}
	}
	// Names that must differ differ in their last byte at least.
	differ := func(s string, others ...string) string {
		for slices.Contains(others, s) {
			s += "s"
		}
		return s
	}
	f, v := name(2), value(10)
	g, w := differ(name(6), f), differ(value(14), v)
	u := differ(draw(nouns, 20), v, w)
	n := 40 + int(binary.BigEndian.Uint16(random[18:]))%900
	fill := strings.NewReplacer(
		"{f}", f, "{g}", g, "{v}", v, "{w}", w, "{u}", u, "{n}", fmt.Sprint(n),
		"{m}", fmt.Sprint(n-1-int(random[22])%30), "{x}", fmt.Sprint(n+1+int(random[22])%90),
	)
	p := Probe{Modality: form.modality, Want: want, Statement: fill.Replace(form.statements[int(random[1])%len(form.statements)])}
	line := form.keeps
	if want == rule.Deny {
		line = form.breaks
	}
	p.Lines = []string{fill.Replace(line)}
	if want == rule.Deny {
		p.Line = 1
	}
	return p
}

// minQuote is how many letters and digits of the planted lines an answer quotes at least.
const minQuote = 4

// Passed reports whether an answer is right: for a probe to deny, a denial that quotes what was planted, else an ALLOW.
func (p *Probe) Passed(v rule.Verdict, quotes []string) bool {
	if v != p.Want {
		return false
	}
	return v == rule.Allow || slices.ContainsFunc(quotes, p.Holds)
}

// Holds reports whether a quote is of the planted text: of the line that breaks the rule where that is known.
func (p *Probe) Holds(quote string) bool {
	lines := p.Lines
	if p.Line > 0 {
		lines = p.Lines[p.Line-1 : p.Line]
	}
	quote = squash(quote)
	return len(quote) >= minQuote && slices.ContainsFunc(lines, func(l string) bool {
		l = squash(l)
		return strings.Contains(l, quote) || l != "" && strings.Contains(quote, l)
	})
}

// squash leaves only letters and digits.
func squash(s string) string { return marks.ReplaceAllString(s, "") }

var marks = regexp.MustCompile(`[^\pL\pN]+`)

// SharesNames reports whether two probes, with what they plant, speak of something with the same name or number. A careful reader of
// both might then take what one plants for what the other forbids.
func (p *Probe) SharesNames(other *Probe) bool {
	names := map[string]bool{}
	for name := range p.names {
		names[name] = true
	}
	for name := range other.names {
		if names[name] {
			return true
		}
	}
	return false
}

// names yields the numbers, the nouns and the longer words of a probe, in lower case.
func (p *Probe) names(yield func(string) bool) {
	for _, text := range append([]string{p.Statement}, p.Lines...) {
		for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r < 0x80 && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			number := w[0] >= '0' && w[0] <= '9'
			if (number || len(w) > 4 && !common[w] || slices.Contains(nouns, w)) && !yield(w) {
				return
			}
		}
	}
}

// common are the longer words of probes that name nothing.
var common = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq("above added argument arguments calls callers exceeds field function least longer never nobody pages passes point readers receives retired service state takes value values which withdrawn") {
		words[w] = true
	}
	return words
}()
