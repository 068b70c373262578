package judge

import "strings"

// part holds the units that one call sees.
type part struct {
	units []int
	label string // the files in it, for messages
}

// pack fills parts with the given units in order. It returns at least one part, which may be empty.
func (l *layout) pack(units []int) []part {
	var parts []part
	var cur part
	file, used := -1, 0
	for _, i := range units {
		u := &l.units[i]
		n := len(u.text)
		if u.file != file {
			n += len(u.head)
		}
		if used > 0 && used+n > l.room {
			parts = append(parts, cur)
			cur = part{}
			used, n = 0, len(u.text)+len(u.head)
		}
		file = u.file
		used += n
		cur.units = append(cur.units, i)
		cur.label = span(cur.label, u.label)
	}
	return append(parts, cur)
}

// text renders a part with a control planted at one of the borders between files, as far in as at says (0 to 255).
func (l *layout) text(p part, control string, at byte) string {
	var borders []int
	file := -2
	for n, i := range p.units {
		if l.units[i].file != file {
			borders = append(borders, n)
			file = l.units[i].file
		}
	}
	place := len(p.units)
	if n := int(at) % (len(borders) + 1); n < len(borders) {
		place = borders[n]
	}
	var b strings.Builder
	b.WriteString(l.lead)
	file = -2
	for n, i := range p.units {
		if n == place {
			b.WriteString(control)
		}
		u := &l.units[i]
		if u.file != file {
			b.WriteString(u.head)
			file = u.file
		}
		b.WriteString(u.text)
	}
	if place == len(p.units) {
		b.WriteString(control)
	}
	return b.String()
}

// span extends a label such as "a.go" or "a.go to b.go" up to last.
func span(label, last string) string {
	first, _, _ := strings.Cut(label, " to ")
	if first == "" || first == last {
		return last
	}
	return first + " to " + last
}

// unitAt returns the number of the unit that shows a line of a file, counted in the new file, or -1.
func (l *layout) unitAt(path string, line int) int {
	for i := range l.units {
		if u := &l.units[i]; u.label == path && u.from > 0 && u.from <= line && line <= u.to {
			return i
		}
	}
	return -1
}

// reversed lists units with their files in the opposite order; the hunks of a file stay in theirs.
func (l *layout) reversed(units []int) []int {
	out := make([]int, 0, len(units))
	for end := len(units); end > 0; {
		start := end - 1
		for start > 0 && l.units[units[start-1]].file == l.units[units[start]].file {
			start--
		}
		out = append(out, units[start:end]...)
		end = start
	}
	return out
}
