package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/diff"
	"tenet/internal/judge/probe"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// expected holds what a call shows, and what the server knows of the right answer: the answers to the control rules, and which
// text is in which unit.
type expected struct {
	probes []placed // in the order of their places
	size   int      // rules and control rules
	text   string
	mark   string // of a masked view
	units  []shownUnit
}

// placed is a control rule at a place among the rules of a call.
type placed struct {
	probe.Probe

	place int
}

// shownUnit is a unit as a call shows it, under a name.
type shownUnit struct {
	name, text string
	planted    bool
	asked      bool // an ALLOW quotes from it
}

// maxAsked is from how many units an ALLOW quotes. The server draws them.
const maxAsked = 3

// newExpected draws the control rules of a question, and renders what it shows.
func newExpected(d *decision, q question) *expected {
	x := &expected{}
	if q.purpose == CallRecheck {
		x.mark = unusedMark(&d.layout)
	}
	p := q.group.parts[q.part]
	if q.purpose == CallConfirm {
		p.units = d.layout.reversed(p.units)
	}
	x.probes = d.source.probes(q)
	if x.probes == nil {
		x.probes = drawing{d, q}.probes(p)
	}
	x.size = len(q.members) + len(x.probes)
	random := d.nonce.derive("places "+q.purpose, append([]int{q.part}, q.members...)...)
	blocks := make([]plantedBlock, len(x.probes))
	for i := range x.probes {
		blocks[i] = d.layout.planted(p, &x.probes[i].Probe, random[8*i:])
	}
	x.text, x.units = d.layout.render(p, blocks, x.mark)
	x.ask(random[24:], d.plan.small())
	return x
}

// drawing draws the control rules of a question.
type drawing struct {
	*decision

	q question
}

// probes draws one control rule to deny and one to allow. Each call has others, and none speaks of what its rules speak of.
func (d drawing) probes(p part) []placed {
	q := d.q
	style := d.layout.style(p)
	var out []placed
	for i, want := range probe.Answers {
		for try := 0; ; try++ {
			b := d.nonce.derive("probe "+q.purpose+string(want), append([]int{q.part, try}, q.members...)...)
			drawn := probe.New(style, want, b)
			if i == try%2 && q.purpose != CallRepair {
				drawn = d.fromCorpus(want, drawn, b[24:])
			}
			if try == 20 || !d.overlaps(&drawn) && !slices.ContainsFunc(out, func(p placed) bool { return p.SharesNames(&drawn) }) {
				out = append(out, placed{Probe: drawn})
				break
			}
		}
	}
	// Two different places among all rules.
	b := d.nonce.derive("order "+q.purpose, append([]int{q.part}, q.members...)...)
	size := len(q.members) + len(out)
	out[0].place = int(b[0]) % size
	if out[1].place = int(b[1]) % (size - 1); out[1].place >= out[0].place {
		out[1].place++
	}
	slices.SortFunc(out, func(a, b placed) int { return a.place - b.place })
	return out
}

// fromCorpus returns a control rule from the corpus if it has any to draw from, else the given one.
func (d drawing) fromCorpus(want rule.Verdict, other probe.Probe, random []byte) probe.Probe {
	if d.samples == nil {
		return other
	}
	list := d.samples()
	if len(list) == 0 {
		return other
	}
	s := list[(int(random[0])<<8|int(random[1]))%len(list)]
	drawn := s.Probe(want)
	if len(drawn.Lines) > 12 {
		return other
	}
	for i, line := range drawn.Lines {
		drawn.Lines[i] = d.clean(line)
	}
	drawn.Statement = d.clean(drawn.Statement)
	return drawn
}

// overlaps reports whether a control rule shares its statement with a rule of the question, a name with one, or what it
// plants with the subject.
func (d drawing) overlaps(p *probe.Probe) bool {
	for _, i := range d.q.members {
		if p.SharesNames(&probe.Probe{Statement: d.rules[i].Statement}) {
			return true
		}
	}
	return slices.ContainsFunc(p.Lines, func(l string) bool { return d.layout.contains(strings.TrimSpace(l)) })
}

// plantedFile is the number of a file that is not of the subject.
const plantedFile = 1 << 30

// plantedBlock is text to plant at a place among the files of a part.
type plantedBlock struct {
	at   byte // 0 to 255, as far in
	core bool // facts or an action, in front of all files
	head string
	like unit
}

// style returns how planted lines look that do not stand out in a part.
func (l *layout) style(p part) probe.Style {
	for _, i := range p.units {
		if u := &l.units[i]; u.file >= 0 {
			switch ext := u.label[strings.LastIndexByte(u.label, '.')+1:]; {
			case syntaxOf(u.label) == nil:
				return probe.Prose
			case slices.Contains([]string{"py", "rb", "rs", "c", "h", "sql", "tf", "yaml", "yml", "toml", "ex", "lua", "php"}, ext):
				return probe.Snake
			default:
				return probe.Camel
			}
		}
	}
	if slices.ContainsFunc(p.units, func(i int) bool { return l.units[i].label == "facts" }) {
		return probe.Fields
	}
	return probe.Prose
}

// planted renders the lines of a probe like the units of a part: as a change of a file beside theirs, or as facts.
func (l *layout) planted(p part, pr *probe.Probe, random []byte) plantedBlock {
	b := plantedBlock{at: random[0]}
	dir, ext, style := "", ".txt", l.style(p)
	for _, i := range p.units {
		if u := &l.units[i]; u.file >= 0 {
			dir, ext = u.label[:strings.LastIndexByte(u.label, '/')+1], ""
			if dot := strings.LastIndexByte(u.label, '.'); dot > len(dir) {
				ext = u.label[dot:]
			}
			if !short(strings.TrimSuffix(u.label[len(dir):], ext)) || len(u.label) > 80 {
				dir = ""
			}
			break
		}
	}
	if style == probe.Fields {
		b.core = true
		b.like = unit{file: -1, label: "facts", text: "facts:\n{\n  " + strings.Join(pr.Lines, ",\n  ") + "\n}\n"}
		return b
	}
	name := visible(dir) + firstWords[int(random[1])%len(firstWords)] + secondWords[int(random[2])%len(secondWords)] + ext
	if len(ext) > 8 || !ascii(ext) {
		name = strings.TrimSuffix(name, ext) + ".txt"
	}
	b.head = "file " + name + " (modified)\n"
	lines := []byte("@@ \n")
	for i, line := range pr.Lines {
		lines = appendLine(lines, diff.Line{Op: diff.OpAdd, New: 2 + int(random[3])%90 + i, Text: line})
	}
	b.like = unit{file: plantedFile, label: name, text: string(lines)}
	return b
}

// ask draws the units that an ALLOW quotes from; with own, none that are planted.
func (x *expected) ask(random []byte, own bool) {
	var can []int
	for i := range x.units {
		if quotable(x.units[i].text) && !(own && x.units[i].planted) {
			can = append(can, i)
		}
	}
	for n := 0; n < maxAsked && len(can) > 0; n++ {
		k := int(random[n]) % len(can)
		x.units[can[k]].asked = true
		can = slices.Delete(can, k, k+1)
	}
}

// quotable reports whether a unit has a line with enough letters and digits to quote.
func quotable(unit string) bool {
	for line := range strings.Lines(unit) {
		if bar := strings.Index(line, "| "); bar >= 0 {
			line = strings.TrimLeft(line[bar+2:], "+- ")
		}
		if len(squashed(line)) >= minSeen {
			return true
		}
	}
	return false
}

// minSeen is how many letters and digits a quote has at least by which an ALLOW shows what it has seen.
const minSeen = 3

// squashed leaves the letters and digits of a text, so that marks and blanks do not matter.
func squashed(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\r", r) || slices.Contains(marks, string(r)) {
			return -1
		}
		return r
	}, s)
}

// asked names the units to quote from.
func (x *expected) asked() string {
	var names []string
	for i := range x.units {
		if x.units[i].asked {
			names = append(names, x.units[i].name)
		}
	}
	return strings.Join(names, ", ")
}

// unseen returns why an entry does not show that its model has read what it allows; "" if it does.
func (x *expected) unseen(a *answer) string {
	for i := range x.units {
		u := &x.units[i]
		if u.asked && !slices.ContainsFunc(a.Seen, func(s seenUnit) bool {
			quote := squashed(s.Quote)
			return s.Unit == u.name && len(quote) >= minSeen && strings.Contains(squashed(u.text), quote)
		}) {
			return "its entry allows without a quote from " + u.name + ", which it was to show that it has read"
		}
	}
	return ""
}

// probe returns the control rule at a place; nil where there is none.
func (x *expected) probe(n int) *probe.Probe {
	for i := range x.probes {
		if x.probes[i].place == n {
			return &x.probes[i].Probe
		}
	}
	return nil
}

// recorded returns the control rules as a call records them.
func (x *expected) recorded() []wire.ControlRule {
	out := make([]wire.ControlRule, len(x.probes))
	for i, p := range x.probes {
		out[i] = wire.ControlRule{Place: p.place, Modality: p.Modality, Statement: p.Statement, Verdict: p.Want, Lines: p.Lines, Line: p.Line}
	}
	return out
}

// probesOf returns the control rules of a recorded call.
func probesOf(list []wire.ControlRule) []placed {
	out := make([]placed, len(list))
	for i, c := range list {
		out[i] = placed{probe.Probe{Modality: c.Modality, Statement: c.Statement, Want: c.Verdict, Lines: c.Lines, Line: min(max(c.Line, 0), len(c.Lines))}, c.Place}
	}
	return out
}

// unitName is the name of the n-th unit of a view, from 0.
func unitName(n int) string { return "U" + strconv.Itoa(n+1) }

// render renders a part with blocks planted at the borders between files, and names its units. With a mark the view is masked.
func (l *layout) render(p part, blocks []plantedBlock, mark string) (string, []shownUnit) {
	var borders []int
	file := -2
	for n, i := range p.units {
		if l.units[i].file != file {
			borders = append(borders, n)
			file = l.units[i].file
		}
	}
	borders = append(borders, len(p.units))
	places := make([]int, len(blocks))
	for k, b := range blocks {
		if places[k] = borders[int(b.at)%len(borders)]; b.core && places[k] == len(p.units) && len(borders) > 2 {
			places[k] = 0
		}
	}
	v := viewText{mark: mark}
	v.b.WriteString(l.place.text(mark))
	for i := range l.top {
		v.add(&l.top[i], false)
	}
	file = -2
	for n := range len(p.units) + 1 {
		for k := range blocks {
			if places[k] == n {
				v.b.WriteString(blocks[k].head)
				v.add(&blocks[k].like, true)
				file = -2
			}
		}
		if n == len(p.units) {
			break
		}
		u := &l.units[p.units[n]]
		if u.file != file {
			file = u.file
			if mark == "" {
				v.b.WriteString(u.head)
			} else {
				v.b.WriteString(u.masking)
			}
		}
		v.add(u, false)
	}
	return v.b.String(), v.units
}

// viewText is the text of a view in the making.
type viewText struct {
	b     strings.Builder
	mark  string
	units []shownUnit
}

// add adds a unit under the next name.
func (v *viewText) add(u *unit, planted bool) {
	content := u.text
	if v.mark != "" {
		content, _ = u.masked(v.mark)
	}
	if content == "" {
		return
	}
	name := unitName(len(v.units))
	v.units = append(v.units, shownUnit{name: name, text: content, planted: planted})
	if rest, ok := strings.CutPrefix(content, "@@ "); ok {
		fmt.Fprintf(&v.b, "@@ %s %s", name, rest)
		return
	}
	v.b.WriteString(name + " " + content)
}

// quotesPlanted reports whether an entry objects to nothing but what was planted.
func (x *expected) quotesPlanted(a *answer) bool {
	any := false
	for _, q := range a.Evidence {
		if strings.TrimSpace(q.Quote) == "" {
			continue
		}
		any = true
		if !slices.ContainsFunc(x.probes, func(p placed) bool { return p.Holds(q.Quote) }) {
			return false
		}
	}
	return any && text.OneLine(a.Absence) == ""
}
