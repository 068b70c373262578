package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// bigDiff is a diff of 50 files and about 300 KB of new text, two thirds of it added.
func bigDiff(t testing.TB) *subject.Subject {
	words := strings.Fields(`return context request error user account total amount function const import export class self
		this value result response handler config logger database query insert update delete select password token session
		if else for while range switch case break continue default true false null nil None string int float bool bytes`)
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for f := range 50 {
		path := fmt.Sprintf("src/pkg%d/file%d.%s", f%7, f, []string{"go", "py", "js", "java"}[f%4])
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n@@ -1,50 +1,150 @@ func f%d() {\n", path, path, path, path, f)
		for i := range 150 {
			op := "+"
			if i%3 == 0 {
				op = " "
			}
			b.WriteString(op + strings.Repeat("\t", rng.IntN(3)))
			for range 4 + rng.IntN(4) {
				b.WriteString(words[rng.IntN(len(words))] + []string{" ", "(", ".", " = ", ", "}[rng.IntN(5)])
			}
			b.WriteString("\n")
		}
	}
	s := diffSubject(t, b.String())
	if size := s.Size(); size.Bytes < 280_000 || size.Bytes > 330_000 {
		t.Fatalf("the diff has %d bytes", size.Bytes)
	}
	return s
}

// patterns are like those that rule authors write; most of them match nothing.
func patterns() []rule.Pattern {
	real := []string{
		`\beval\(`, `(?i)password\s*=\s*["'][^"']+["']`, `AKIA[0-9A-Z]{16}`, `-----BEGIN (RSA |EC )?PRIVATE KEY-----`,
		`\bconsole\.(log|debug)\(`, `TODO|FIXME|XXX`, `(?i)select\s.+\sfrom\s.+\+`, `os\.system\(`, `subprocess\..*shell\s*=\s*True`,
		`\bmd5\b|\bsha1\b`, `verify\s*=\s*False`, `InsecureSkipVerify:\s*true`, `http://[a-z]`, `\bprint\(`, `except\s*:`,
		`dangerouslySetInnerHTML`, `innerHTML\s*=`, `(?i)api[_-]?key\s*[:=]`, `yaml\.load\(`, `pickle\.loads?\(`,
	}
	var all []rule.Pattern
	for i := range 100 {
		p := rule.Pattern{Regex: real[i%len(real)]}
		if i >= len(real) {
			p.Regex = fmt.Sprintf(`\blegacy_%d_(call|send)\(`, i) // distinct, as rules are
		}
		if i%3 == 0 {
			p.Paths = []string{"**/*.{py,js}"}
		}
		all = append(all, p)
	}
	return all
}

func Benchmark100PatternsOverBigDiff(b *testing.B) {
	s := bigDiff(b)
	var programs []*Program
	for _, p := range patterns() {
		programs = append(programs, mustCompile(b, &rule.Check{Pattern: &p}))
	}
	ctx := context.Background()
	for b.Loop() {
		in := Prepare(s)
		for _, p := range programs {
			p.Run(ctx, in)
		}
	}
}

// manyChecks are checks of n rules in scope: patterns of which most have a literal that no text has, under some lists of paths, and an
// expression for every tenth. A pattern without any literal costs milliseconds more, see BenchmarkPattern.
func manyChecks(tb testing.TB, n int) []*Program {
	scopes := [][]string{nil, {"**/*.py"}, {"src/**"}, {"*.go", "*.js"}, {"docs/"}, {"**/*.{java,kt}"}, {"internal/**/*.go"}}
	programs := make([]*Program, 0, n)
	real := patterns()[:20]
	for i := range n {
		c := rule.Check{Pattern: &rule.Pattern{Regex: fmt.Sprintf(`\b(?:old|legacy)_%d_(call|send)\(`, i), Paths: scopes[i%len(scopes)]}}
		switch {
		case i < len(real):
			c.Pattern.Regex = real[i].Regex
		case i%10 == 9:
			c = rule.Check{CEL: fmt.Sprintf("diff.files.size() <= %d", 100+i)}
		case i%3 == 0:
			c.Pattern.Regex = fmt.Sprintf(`(?i)api%d\.v[0-9]+\.internal\.example`, i)
		}
		programs = append(programs, mustCompile(tb, &c))
	}
	return programs
}

// BenchmarkManyChecks runs all checks of 100, 1,000 and 10,000 rules on 50 files with 300 KB.
func BenchmarkManyChecks(b *testing.B) {
	s := bigDiff(b)
	for _, n := range []int{100, 1_000, 10_000} {
		programs := manyChecks(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			outcomes := make([]Outcome, n)
			for b.Loop() {
				in := Prepare(s)
				for i, p := range programs {
					outcomes[i] = p.Run(b.Context(), in)
				}
			}
		})
	}
}

func BenchmarkPrepareText(b *testing.B) {
	s := bigDiff(b)
	b.SetBytes(int64(s.Size().Bytes))
	for b.Loop() {
		Prepare(s).fileTexts()
	}
}

func BenchmarkPattern(b *testing.B) {
	s := bigDiff(b)
	in := Prepare(s)
	in.fileTexts()
	for name, p := range map[string]rule.Pattern{
		"literal absent":        {Regex: `AKIA[0-9A-Z]{16}`},
		"literal common":        {Regex: `password\s*=\s*token\s*=\s*nil`},
		"literal ignoring case": {Regex: `(?i)PASSWORD\s*=\s*token\s*=\s*nil`},
		"no literal":            {Regex: `\b[A-Z]{2}\d{6}\b`},
		"no literal, slow":      {Regex: `\w+\s+\w+\s+\d+`},
		"no literal, multiline": {Regex: `\b[A-Z]{2}\d{6}\b`, Multiline: true},
		"every line":            {Regex: `.*`},
		"literal, with unless":  {Regex: `password`, Unless: `=`},
		"multiline, common":     {Regex: `password.*\n.*token\(\d`, Multiline: true},
	} {
		prog := mustCompile(b, &rule.Check{Pattern: &p})
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(s.Size().Bytes))
			for b.Loop() {
				prog.Run(context.Background(), in)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, check := range map[string]*rule.Check{
		"cel":     {CEL: "facts.amount <= 10000 || (has(facts.approver) && facts.approver.level >= 3)", When: "'amount' in facts"},
		"pattern": {Pattern: &rule.Pattern{Regex: `(?i)password\s*=\s*["'][^"']+["']`, Paths: []string{"**/*.py"}}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Compile(check); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCEL(b *testing.B) {
	in := Prepare(facts(b, `{"amount": 500, "currency": "EUR", "items": [{"price": 1}, {"price": 2}, {"price": 3}]}`))
	for _, c := range []struct{ name, cel, when string }{
		{"comparison", "facts.amount <= 10000", ""},
		{"with when", "facts.amount <= 10000 && facts.currency in ['EUR', 'USD']", "'amount' in facts"},
		{"loop", "facts.items.all(i, i.price < 10)", ""},
		{"broken", "facts.amount <= 10", ""},
	} {
		prog := mustCompile(b, &rule.Check{CEL: c.cel, When: c.when})
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				prog.Run(context.Background(), in)
			}
		})
	}
}

func BenchmarkCELOverBigDiff(b *testing.B) {
	s := bigDiff(b)
	for _, cel := range diffRules {
		prog := mustCompile(b, &rule.Check{CEL: cel})
		b.Run(text.Fit(strings.ReplaceAll(cel, " ", ""), 60, "..."), func(b *testing.B) {
			in := Prepare(s)
			for b.Loop() {
				prog.Run(context.Background(), in)
			}
		})
	}
}

// diffRules are ordinary rules about a diff; each must be decided on a diff of 300 KB.
var diffRules = []string{
	"diff.added_lines <= 50000",
	"diff.files.all(f, !glob(f.path, 'vendor/**') && !f.path.endsWith('.lock'))",
	"diff.files.all(f, f.added.all(l, l.text.size() <= 200))",
	"diff.files.all(f, f.added.all(l, !l.text.contains('drop table')))",
	"diff.files.filter(f, glob(f.path, '*.go')).all(f, !f.added_text.contains('InsecureSkipVerify'))",
	"diff.files.all(f, f.added.all(l, !l.text.matches('(?i)drop\\\\s+table')))",
	"diff.files.all(f, f.added.all(l, !l.text.matches('^\\\\s*print\\\\(') && !l.text.matches('\\\\bexec\\\\(')))",
	"diff.files.exists(f, f.path.startsWith('src/')) ? diff.files.all(f, f.removed_text == '') : true",
	"!subject.text.lowerAscii().contains('begin private key')",
}

func BenchmarkBomb(b *testing.B) {
	in := Prepare(&subject.Subject{})
	prog := mustCompile(b, &rule.Check{CEL: "lists.range(100000).all(i, lists.range(1000).all(j, i + j >= 0))"})
	for b.Loop() {
		prog.Run(context.Background(), in)
	}
}

func BenchmarkCacheHit(b *testing.B) {
	c := NewCache(100)
	check := &rule.Check{
		Pattern: &rule.Pattern{Regex: `(?i)password\s*=\s*["'][^"']+["']`, Unless: "test", Paths: []string{"**/*.py", "*.js"}},
		Message: "Do not write passwords into code.", Fix: "Read it from the environment.",
	}
	if _, err := c.Get(check); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Get(check); err != nil {
			b.Fatal(err)
		}
	}
}
