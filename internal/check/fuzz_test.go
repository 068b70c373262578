package check

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// FuzzCompile throws text at the compiler, and what compiles at a subject: no panic, bounded time, an answer with a reason,
// and an error that names a field of the check.
func FuzzCompile(f *testing.F) {
	f.Add("facts.amount <= 10000", "'amount' in facts", `\beval\(`, "# noqa")
	f.Add("diff.files.all(f, f.added.all(l, !l.text.matches('a+')))", "", `(?i)password\s*=`, "")
	f.Add("lists.range(100000).all(i, [i].map(j, [j, j]) != [])", "size(facts) > 0", `(a?){50}a{50}`, `^$`)
	f.Add("facts.items.map(i, i.price).sort().distinct() == [1.0]", "true", `a|b|cd?`, `(?s).`)
	f.Add("optional.of(facts.text).optMap(a, a + a).value().replace('a', 'bb') == '%s'.format([1])", "glob('a', '*')", `[^a]`, `\pL`)
	f.Add(strings.Repeat("[", 200), "\x00", `(((`, `*`)
	f.Add("facts.?a.b[?0].orValue({'x': 1}) == {'x': 1} || subject.kinds.exists(k, k == 'facts')", "has(facts.a)", `x{2,}?`, `\Q`)
	f.Add("diff.files.all(f, f.added.exists(l, l.text == 'a')) || facts.a == null", "diff.added_lines > 3 && has(facts.a)", `ev\x{200b}?al`, ``)
	f.Add("facts.a != facts.text || sets.contains(facts.mixed, [facts.a])", "subject.text.lowerAscii().contains('x')", `\d+e\+?21`, ``)
	content := "eval(x)\naaaa\n\npassword = 'x'\nÄÖ ſ K"
	s, err := subject.Build(subject.Input{
		Diff:   shopDiff,
		Files:  []subject.InputFile{{Path: "x.py", Content: &content}, {Path: "y.py"}},
		Facts:  map[string]any{"amount": 5.0, "text": strings.Repeat("a", 5000), "items": []any{map[string]any{"price": 1.0}}, "a": nil, "mixed": []any{1e21, nil, "x"}},
		Action: "send mail",
	})
	if err != nil {
		f.Fatal(err)
	}
	in := Prepare(s)
	f.Fuzz(func(t *testing.T, cel, when, regex, unless string) {
		start := time.Now()
		for _, check := range []*rule.Check{
			{CEL: cel, When: when},
			{CEL: cel},
			{Pattern: &rule.Pattern{Regex: regex, Unless: unless}},
			{Pattern: &rule.Pattern{Regex: regex, Multiline: true, Lines: rule.LinesAny}},
		} {
			p, err := Compile(check)
			var invalid *rule.Error
			if err != nil {
				if !errorAs(err, &invalid) || invalid.Code != rule.CodeInvalid || len(invalid.Fields) == 0 ||
					!strings.HasPrefix(invalid.Fields[0].Field, "check") || invalid.Fields[0].Message == "" {
					t.Errorf("error %v", err)
				}
				continue
			}
			out := p.Run(context.Background(), in)
			if out.Reason == "" || (out.Result == Broken) != (out.Issue != "") || len(out.Locations) > maxHits || len(out.Evidence) > maxHits {
				t.Errorf("outcome %+v", out)
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// FuzzPatternFastPath compares the search with its definition: every line that counts is matched by itself, and in
// multiline patterns every run of neighbouring lines.
func FuzzPatternFastPath(f *testing.F) {
	const text = "func eval(x)\n eval (y)\npassWORD = 'x'\n\na\nTODO ſtop K 123\n\uFFFD\nSSN 123-45-6789\nAb aB\n"
	for _, regex := range []string{
		`eval\(`, `(?i)password\s*=`, `(?i)STOP k`, `TODO|FIXME|SSN`, `\d{3}-\d{2}-\d{4}`, `^$`, `^\s*$`, `\Aa\z`, `(?i)[a-c]b`, `a*`, `.{5,}`,
		`[^a]\n`, `(?s).*`, `\x{FFFD}`, `(ab|AB|Ab) (aB)?`, `\bx?\b`, `(?i)ß`, `x|`, `(eval|x)+`, `a{0}`, `(?m)^ ?eval`, `[[:upper:]]{4}`, `\pL\d`,
	} {
		f.Add(regex, "", text, uint64(0xF5F5))
		f.Add(regex, "y|Z", strings.ReplaceAll(text, "\n", " "), uint64(0xFFFF))
	}
	f.Fuzz(func(t *testing.T, regex, unless, body string, mask uint64) {
		if !plain(strings.ToValidUTF8(body, "\uFFFD")) {
			return // it has two readings; see FuzzHidingCharacters
		}
		s := &subject.Subject{Files: []diff.File{{Path: "a", Change: diff.Modified, Hunks: hunksOf(body, mask)}}}
		for _, p := range []rule.Pattern{
			{Regex: regex, Unless: unless},
			{Regex: regex, Unless: unless, Lines: rule.LinesAny},
			{Regex: regex, Unless: unless, Multiline: true},
			{Regex: regex, Unless: unless, Multiline: true, Lines: rule.LinesAny},
		} {
			program, err := Compile(&rule.Check{Pattern: &p})
			if err != nil {
				continue
			}
			out := program.Run(context.Background(), Prepare(s))
			var got []int
			for _, l := range out.Locations {
				got = append(got, l.StartLine, l.EndLine)
			}
			want := naive(&p, &s.Files[0])
			if !slices.Equal(got, want[:min(len(want), 2*maxHits)]) || (out.Result == Broken) != (len(want) > 0) {
				t.Errorf("%+v over %q: %v at %v, want %v", p, body, out.Result, got, want)
			}
		}
	})
}

// FuzzHidingCharacters checks that characters put into a line hide no word of it from a pattern.
func FuzzHidingCharacters(f *testing.F) {
	f.Add("x = eval(y) # no", 5, "\u200b")
	f.Add("import os", 0, "\ufeff")
	f.Add("eval (y)", 8, "\r")
	f.Add("ex\u2028eval(y)", 2, "\u0085\u00ad\U000E0041")
	f.Fuzz(func(t *testing.T, line string, at int, hiding string) {
		line = strings.ToValidUTF8(strings.ReplaceAll(line, "\n", " "), "")
		for _, r := range hiding {
			if kindOfChar(r) != invisible {
				return
			}
		}
		if hiding = strings.ToValidUTF8(hiding, ""); hiding == "" {
			return
		}
		cut := min(max(at, 0), len(line))
		for cut < len(line) && !utf8.RuneStart(line[cut]) {
			cut++
		}
		hidden := line[:cut] + hiding + line[cut:]
		for _, multiline := range []bool{false, true} {
			p := mustCompile(t, &rule.Check{Pattern: &rule.Pattern{Regex: `\beval\s*\(|^import`, Multiline: multiline}})
			subjectOf := func(text string) *Input {
				return Prepare(&subject.Subject{Files: []diff.File{{Path: "a", Change: diff.Added, Hunks: added(text)}}})
			}
			if p.Run(context.Background(), subjectOf(line)).Result == Broken && p.Run(context.Background(), subjectOf(hidden)).Result != Broken {
				t.Errorf("%q hides what %q shows", hidden, line)
			}
		}
	})
}

// hunksOf makes a diff of a text: bits of mask tell which lines are added, deleted, or begin a new hunk.
func hunksOf(body string, mask uint64) []diff.Hunk {
	hunks := []diff.Hunk{{}}
	number := 0
	for i, line := range strings.Split(strings.ToValidUTF8(body, "\uFFFD"), "\n") {
		bits := mask >> (i * 3 % 61)
		if bits&7 == 6 {
			hunks = append(hunks, diff.Hunk{})
			number += 10
		}
		l := diff.Line{Op: diff.OpContext, Text: line}
		switch {
		case bits&7 == 2:
			l.Op = diff.OpDelete
		case bits&1 == 1:
			l.Op = diff.OpAdd
		}
		if l.Op != diff.OpDelete {
			number++
			l.New = number
		}
		h := &hunks[len(hunks)-1]
		h.Lines = append(h.Lines, l)
	}
	return hunks
}

// naive returns the first and last line of every hit, as the definition has it.
func naive(p *rule.Pattern, f *diff.File) []int {
	regex := regexp.MustCompile(p.Regex)
	excused := func(s string) bool { return p.Unless != "" && regexp.MustCompile(p.Unless).MatchString(s) }
	var hits []int
	for _, h := range f.Hunks {
		lines := slices.DeleteFunc(slices.Clone(h.Lines), func(l diff.Line) bool { return l.Op == diff.OpDelete })
		counts := func(l diff.Line) bool { return p.Lines == rule.LinesAny || l.Op == diff.OpAdd }
		if !p.Multiline {
			for _, l := range lines {
				if counts(l) && regex.MatchString(l.Text) && !excused(l.Text) {
					hits = append(hits, l.New, l.New)
				}
			}
			continue
		}
		var texts []string
		var owner []int // line of each byte
		for i, l := range lines {
			texts = append(texts, l.Text)
			for range len(l.Text) + 1 {
				owner = append(owner, i)
			}
		}
		run := strings.Join(texts, "\n")
		last := [2]int{-1, -1}
		for _, m := range regex.FindAllStringIndex(run, -1) {
			from, to := m[0], m[1]-1
			if strings.Trim(run[m[0]:m[1]], "\n") != "" {
				for run[from] == '\n' {
					from++
				}
				for run[to] == '\n' {
					to--
				}
			}
			at := [2]int{owner[from], owner[to]}
			if at != last && slices.ContainsFunc(lines[at[0]:at[1]+1], counts) && !excused(run[m[0]:m[1]]) {
				last = at
				hits = append(hits, lines[at[0]].New, lines[at[1]].New)
			}
		}
	}
	return hits
}
