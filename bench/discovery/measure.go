package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tenet/internal/discover/source"
)

// tally counts what was found rightly, and what not.
type tally struct {
	files, units, hit, found, right, exact int

	methods map[string]*[2]int // found, right
}

// measure compares what is found in the files of a part with what is marked in them.
func measure(files map[string][]byte, gold []marked, part string, show bool) *tally {
	t := &tally{methods: map[string]*[2]int{}}
	for _, g := range gold {
		if part != "all" && g.part != part {
			continue
		}
		t.files++
		found := read([]source.File{{Path: g.path, Content: files[g.path]}})
		t.file(g, found, strings.Split(string(files[g.path]), "\n"), show)
	}
	return t
}

// file counts one file. A statement is found if a candidate rests on its words in its line, and each candidate finds one statement.
func (t *tally) file(g marked, found []source.Found, lines []string, show bool) {
	used := make([]bool, len(found))
	for _, u := range g.units {
		if u.optional {
			continue
		}
		t.units++
		i := slices.IndexFunc(found, func(f source.Found) bool { return u.matches(f) && !used[index(found, f)] })
		if i >= 0 {
			used[i] = true
			t.hit++
		} else if show {
			fmt.Printf("missed %s:%d %s\n", g.path, u.line, u.text)
		}
	}
	for _, f := range found {
		if exact(f, lines) {
			t.exact++
		} else {
			fmt.Printf("inexact %s:%d-%d %q\n", g.path, f.Line, f.EndLine, f.Quote)
		}
		right, optional := g.judges(f)
		t.count(f, right, optional)
		if show && !right && !optional {
			fmt.Printf("wrong  %s:%d [%s] %s\n", g.path, f.Line, f.Method, f.Statement)
		}
	}
}

// judges reports whether a candidate rests on a marked statement, and whether on one that readers may judge differently.
func (g *marked) judges(f source.Found) (right, optional bool) {
	for _, u := range g.units {
		if u.matches(f) {
			right, optional = right || !u.optional, optional || u.optional
		}
	}
	return right, optional
}

func index(found []source.Found, f source.Found) int {
	return slices.IndexFunc(found, func(o source.Found) bool { return o.Line == f.Line && o.Quote == f.Quote && o.Statement == f.Statement })
}

// count counts a candidate. One that two readers may judge differently is neither right nor wrong.
func (t *tally) count(f source.Found, right, optional bool) {
	if optional && !right {
		return
	}
	name, _, _ := strings.Cut(f.Method, " (")
	m := t.methods[name]
	if m == nil {
		m = &[2]int{}
		t.methods[name] = m
	}
	t.found++
	m[0]++
	if right {
		t.right++
		m[1]++
	}
}

// matches reports whether a candidate rests on the words of a statement.
func (u unit) matches(f source.Found) bool {
	if u.line < f.Line || u.line > f.EndLine {
		return false
	}
	a, b := letters(u.text), letters(f.Quote)
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// letters is text without anything but letters and digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// exact reports whether the quote begins in the first line and ends in the last line of a candidate.
func exact(f source.Found, lines []string) bool {
	if f.Line < 1 || f.EndLine > len(lines) || f.EndLine < f.Line {
		return false
	}
	quoted := strings.Split(f.Quote, "\n")
	return strings.Contains(lines[f.Line-1], strings.TrimSpace(quoted[0])) && strings.Contains(lines[f.EndLine-1], strings.TrimSpace(quoted[len(quoted)-1]))
}

// print writes the table.
func (t *tally) print(part string) {
	share := func(a, b int) float64 { return float64(a) / float64(max(b, 1)) }
	p, r := share(t.right, t.found), share(t.hit, t.units)
	fmt.Printf("\n%s: %d files, %d statements, recall %.3f; %d candidates, precision %.3f, F1 %.3f; exact lines %d of all\n", part, t.files, t.units, r,
		t.found, p, 2*p*r/max(p+r, 1e-9), t.exact)
	names := make([]string, 0, len(t.methods))
	for name := range t.methods {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m := t.methods[name]
		// The estimate counts one more of each, so that a few lucky hits do not make a means certain.
		fmt.Printf("  %-34s %4d  %.3f  estimate %.2f\n", name, m[0], share(m[1], m[0]), float64(m[1]+1)/float64(m[0]+2))
	}
}
