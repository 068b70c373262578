package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

const shopDiff = `diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -10,5 +10,6 @@ class Cart:
 def total(items):
-    return eval(items)
+    x = eval(items)  # noqa
+    y = eval("2")
     z = eval("context")
     return x
 # end
diff --git a/web/app.js b/web/app.js
--- a/web/app.js
+++ b/web/app.js
@@ -1,2 +1,3 @@
 let a = 1
+eval(a)
 let b = 2
@@ -40,2 +41,4 @@ function send() {
   try {
+  } catch (e) {
+
   }
`

func diffSubject(t testing.TB, diff string) *subject.Subject {
	t.Helper()
	s, err := subject.Build(subject.Input{Diff: diff})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, p rule.Pattern, s *subject.Subject) Outcome {
	t.Helper()
	return mustCompile(t, &rule.Check{Pattern: &p}).Run(context.Background(), Prepare(s))
}

// places writes locations as file:start-end.
func places(out Outcome) string {
	var list []string
	for _, l := range out.Locations {
		list = append(list, fmt.Sprintf("%s:%d-%d", l.FilePath, l.StartLine, l.EndLine))
	}
	return strings.Join(list, " ")
}

func TestPatternOverDiff(t *testing.T) {
	for _, c := range []struct {
		name    string
		pattern rule.Pattern
		want    Result
		places  string
	}{
		{"added lines only", rule.Pattern{Regex: `\beval\(`}, Broken, "shop/cart.py:11-11 shop/cart.py:12-12 web/app.js:2-2"},
		{
			"context too",
			rule.Pattern{Regex: `\beval\(`, Lines: rule.LinesAny},
			Broken,
			"shop/cart.py:11-11 shop/cart.py:12-12 shop/cart.py:13-13 web/app.js:2-2",
		},
		{"unless", rule.Pattern{Regex: `\beval\(`, Unless: `# noqa$`}, Broken, "shop/cart.py:12-12 web/app.js:2-2"},
		{"paths", rule.Pattern{Regex: `eval`, Paths: []string{"*.js"}}, Broken, "web/app.js:2-2"},
		{"excluded", rule.Pattern{Regex: `eval`, ExcludePaths: []string{"shop/**"}}, Broken, "web/app.js:2-2"},
		{"paths and excluded", rule.Pattern{Regex: `eval`, Paths: []string{"**"}, ExcludePaths: []string{"*.js", "*.py"}}, NotConcerned, ""},
		{"no such path", rule.Pattern{Regex: `eval`, Paths: []string{"*.go"}}, NotConcerned, ""},
		{"deleted lines never", rule.Pattern{Regex: `return eval`, Lines: rule.LinesAny}, Kept, ""},
		{"none", rule.Pattern{Regex: `exec\(`}, Kept, ""},
		{"no literal", rule.Pattern{Regex: `^\w+\([a-z]\)$`}, Broken, "web/app.js:2-2"},
		{"line ends are text ends", rule.Pattern{Regex: `\Aeval\(a\)\z`}, Broken, "web/app.js:2-2"},
		{"lines do not run together", rule.Pattern{Regex: `(?s)let a.*eval`, Lines: rule.LinesAny}, Kept, ""},
		{"case", rule.Pattern{Regex: `(?i)EVAL\(A`}, Broken, "web/app.js:2-2"},
		{"alternatives", rule.Pattern{Regex: `eval\(a|"2"`}, Broken, "shop/cart.py:12-12 web/app.js:2-2"},
		{"short literal", rule.Pattern{Regex: `x =`}, Broken, "shop/cart.py:11-11"},
		{"multiline", rule.Pattern{Regex: `catch \(e\) \{\s*\}`, Multiline: true}, Broken, "web/app.js:42-44"},
		{"multiline, context alone", rule.Pattern{Regex: `let [ab]`, Multiline: true}, Kept, ""},
		{"multiline, context too", rule.Pattern{Regex: `let [ab]`, Multiline: true, Lines: rule.LinesAny}, Broken, "web/app.js:1-1 web/app.js:3-3"},
		{"multiline touches an added line", rule.Pattern{Regex: `let a = 1\neval`, Multiline: true}, Broken, "web/app.js:1-2"},
		{"multiline keeps to a hunk", rule.Pattern{Regex: `(?s)let b.*catch`, Multiline: true, Lines: rule.LinesAny}, Kept, ""},
		{"multiline over deleted lines", rule.Pattern{Regex: `total\(items\):\n    x`, Multiline: true}, Broken, "shop/cart.py:10-11"},
		{"multiline unless", rule.Pattern{Regex: `eval\(.*\)`, Unless: `items|"2"`, Multiline: true}, Broken, "web/app.js:2-2"},
		{"multiline anchors", rule.Pattern{Regex: `(?m)^eval.*$`, Multiline: true}, Broken, "web/app.js:2-2"},
		{"multiline blank line", rule.Pattern{Regex: `\n\n`, Multiline: true}, Broken, "web/app.js:42-43"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := run(t, c.pattern, diffSubject(t, shopDiff))
			if out.Result != c.want || places(out) != c.places {
				t.Errorf("%v at %q (%s), want %v at %q", out.Result, places(out), out.Reason, c.want, c.places)
			}
			if (out.Issue != "") != (out.Result == Broken) || out.Reason == "" {
				t.Errorf("%v with issue %q and reason %q", out.Result, out.Issue, out.Reason)
			}
		})
	}
}

func TestPatternEvidence(t *testing.T) {
	p := mustCompile(t, &rule.Check{Pattern: &rule.Pattern{Regex: `eval\(`, Paths: []string{"shop/"}}, Message: "No eval.", Fix: "Parse it."})
	out := p.Run(context.Background(), Prepare(diffSubject(t, shopDiff)))
	want := Outcome{
		Result: Broken, Reason: "`eval\\(` matches in shop/cart.py:11 and 1 more place", Issue: "No eval.", Fix: "Parse it.",
		Locations: []rule.Location{
			{FilePath: "shop/cart.py", StartLine: 11, EndLine: 11, FunctionName: "def total(items):", Snippet: "    x = eval(items)  # noqa"},
			{FilePath: "shop/cart.py", StartLine: 12, EndLine: 12, FunctionName: "def total(items):", Snippet: `    y = eval("2")`},
		},
		Evidence: []rule.Evidence{
			{Kind: rule.EvidenceQuote, Quote: "    x = eval(items)  # noqa", FilePath: "shop/cart.py", Line: 11},
			{Kind: rule.EvidenceQuote, Quote: `    y = eval("2")`, FilePath: "shop/cart.py", Line: 12},
		},
	}
	if out.About.Empty() || out.Seen.Empty() {
		t.Errorf("the check is about %v and has read %v", out.About, out.Seen)
	}
	out.About, out.Seen = nil, nil
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	out = run(t, rule.Pattern{Regex: `catch \(e\) \{\s*\}`, Multiline: true}, diffSubject(t, shopDiff))
	wantLocation := rule.Location{
		FilePath: "web/app.js", StartLine: 42, EndLine: 44, FunctionName: "function send() {", Snippet: "  } catch (e) {\n\n  }",
	}
	if diff := cmp.Diff([]rule.Location{wantLocation}, out.Locations); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := out.Evidence[0].Quote; got != "catch (e) {\n\n  }" {
		t.Errorf("quote %q", got)
	}
}

func TestPatternOverWholeFilesActionAndFacts(t *testing.T) {
	content := "one\r\npassword = 'x'\nthree"
	s, err := subject.Build(subject.Input{
		Files:  []subject.InputFile{{Path: "conf/a.ini", Content: &content}},
		Action: "Send the\npassword by mail",
		Facts:  map[string]any{"mail": map[string]any{"body": []any{"ok", "hello\nthe password is 1"}}, "n": 5.0},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := run(t, rule.Pattern{Regex: "password"}, s)
	want := []rule.Evidence{
		{Kind: rule.EvidenceQuote, Quote: "password = 'x'", FilePath: "conf/a.ini", Line: 2},
		{Kind: rule.EvidenceQuote, Quote: "password by mail", Line: 2},
		{Kind: rule.EvidenceFact, Fact: "facts.mail.body[1]", Value: `"the password is 1"`},
	}
	if diff := cmp.Diff(want, out.Evidence); diff != "" || places(out) != "conf/a.ini:2-2" {
		t.Errorf("at %q (-want +got)\n%s", places(out), diff)
	}
	out = run(t, rule.Pattern{Regex: "password", Paths: []string{"*.py"}}, s)
	if out.Result != NotConcerned {
		t.Errorf("with paths that match nothing: %v (%s)", out.Result, out.Reason)
	}
	out = run(t, rule.Pattern{Regex: `hello\nthe`, Multiline: true}, s)
	if out.Result != Broken || out.Evidence[0].Fact != "facts.mail.body[1]" {
		t.Errorf("multiline over a fact: %v %+v", out.Result, out.Evidence)
	}
	out = run(t, rule.Pattern{Regex: `mail\nok|ok\nhello`, Multiline: true}, s)
	if out.Result != Kept {
		t.Errorf("values run together: %v %+v", out.Result, out.Evidence)
	}
}

func TestPatternWithoutText(t *testing.T) {
	for name, s := range map[string]*subject.Subject{
		"nothing":   {},
		"media":     {Files: []diff.File{{Path: "a.png", Change: diff.Modified, Binary: true, Media: "a PNG image"}}},
		"mode only": {Files: []diff.File{{Path: "a.sh", Change: diff.Mode}}},
		"deletions": {Files: []diff.File{{Path: "a.go", Change: diff.Modified, Hunks: []diff.Hunk{
			{NewStart: 1, Lines: []diff.Line{{Op: diff.OpContext, Old: 1, New: 1, Text: "x"}, {Op: diff.OpDelete, Old: 2, Text: "y"}}},
		}}}},
	} {
		if out := run(t, rule.Pattern{Regex: ".*"}, s); out.Result != NotConcerned || out.Reason == "" {
			t.Errorf("%s: %v (%s), want not concerned", name, out.Result, out.Reason)
		}
	}
}

func TestPatternWithMissingContent(t *testing.T) {
	bad := "eval(x)"
	build := func(files ...subject.InputFile) *subject.Subject {
		s, err := subject.Build(subject.Input{Files: files})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	unknown, other := subject.InputFile{Path: "b.py"}, subject.InputFile{Path: "c.py"}
	for _, c := range []struct {
		s      *subject.Subject
		paths  []string
		want   Result
		reason string
	}{
		{build(unknown), nil, Undecided, "b.py: its content is not given"},
		{build(unknown, other), nil, Undecided, "b.py: its content is not given (and 1 more)"},
		{build(unknown), []string{"*.go"}, NotConcerned, "no file of the subject is among the paths"},
		{build(unknown, subject.InputFile{Path: "a.py", Content: &bad}), nil, Broken, "a.py:1"},
	} {
		out := run(t, rule.Pattern{Regex: "eval", Paths: c.paths}, c.s)
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%v (%s), want %v with %q", out.Result, out.Reason, c.want, c.reason)
		}
	}
}

func TestPatternHitsAreCapped(t *testing.T) {
	content := strings.Repeat("eval(x)\n", 53)
	s, err := subject.Build(subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &content}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, multiline := range []bool{false, true} {
		out := run(t, rule.Pattern{Regex: "eval", Multiline: multiline}, s)
		if len(out.Locations) != 50 || len(out.Evidence) != 50 || !strings.Contains(out.Reason, "and 52 more places") ||
			!strings.Contains(out.Reason, "and 3 more are not") {
			t.Errorf("%d locations, %d evidence, %q", len(out.Locations), len(out.Evidence), out.Reason)
		}
	}
}

func TestPatternInLongLines(t *testing.T) {
	content := strings.Repeat("ä", 20_000) + "eval(x)" + strings.Repeat("ö", 20_000)
	s, err := subject.Build(subject.Input{Files: []subject.InputFile{{Path: "a.min.js", Content: &content}}})
	if err != nil {
		t.Fatal(err)
	}
	out := run(t, rule.Pattern{Regex: `eval\(`}, s)
	if out.Result != Broken {
		t.Fatalf("%v (%s)", out.Result, out.Reason)
	}
	quote, snippet := out.Evidence[0].Quote, out.Locations[0].Snippet
	if !strings.Contains(quote, "eval(x)") || len(quote) > maxQuote || !strings.Contains(content, quote) {
		t.Errorf("quote of %d bytes: %q", len(quote), quote)
	}
	if !strings.Contains(snippet, "eval(x)") || len(snippet) > maxSnippet {
		t.Errorf("snippet of %d bytes: %q", len(snippet), snippet)
	}
}

func TestPatternErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		pattern     rule.Pattern
		field, want string
	}{
		{rule.Pattern{Regex: ""}, "check.pattern.regex", "must not be empty"},
		{rule.Pattern{Regex: "a(b"}, "check.pattern.regex", "missing closing ): `a(b`"},
		{rule.Pattern{Regex: "a(?!b)"}, "check.pattern.regex", "`(?!`; RE2 has no look-around"},
		{rule.Pattern{Regex: "(?<!a)b"}, "check.pattern.regex", "RE2 has no look-around"},
		{rule.Pattern{Regex: "(?<=a)b(?P<n>c)"}, "check.pattern.regex", "RE2 has no look-around"},
		{rule.Pattern{Regex: "a", Unless: "[z-a]"}, "check.pattern.unless", "`z-a`"},
		{rule.Pattern{Regex: `(\pL{100}){9}`}, "check.pattern.regex", "too large"},
		{rule.Pattern{Regex: "a", Paths: []string{"*.go", "[a"}}, "check.pattern.paths[1]", "[a"},
		{rule.Pattern{Regex: "a", ExcludePaths: []string{"{a"}}, "check.pattern.exclude_paths[0]", "{a"},
		{rule.Pattern{Regex: "a*", Multiline: true}, "check.pattern.regex", "empty text"},
		{rule.Pattern{Regex: "a", Lines: "all"}, "check.pattern.lines", "added, any"},
	} {
		_, err := Compile(&rule.Check{Pattern: &c.pattern})
		var e *rule.Error
		if !errorAs(err, &e) || e.Code != rule.CodeInvalid || e.Fields[0].Field != c.field || !strings.Contains(e.Fields[0].Message, c.want) {
			t.Errorf("%+v: %v, want %s: %s", c.pattern, err, c.field, c.want)
		}
	}
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		regex, want string
		fold        bool
	}{
		{`\beval\(`, "eval(", false},
		{`(?i)password\s*=`, "password", true},
		{`TODO|FIXME`, "TODO FIXME", false},
		{`(foo|bar)baz`, "baz", false},
		{`x\d+abc`, "abc", false},
		{`ab[cd]e`, "ab", false},
		{`\d{3}-\d{4}`, "-", false},
		{`(abc)+`, "abc", false},
		{`a{4}`, "a", false},
		{`a{2,}b`, "a", false},
		{`(abc)?`, "", false},
		{`(abc)?de`, "de", false},
		{`(abc)*`, "", false},
		{`abc|\d`, "", false},
		{`(?i)straße`, "stra", true},
		{`.`, "", false},
		{`\w+\s+\d`, "", false},
		{`gh[pousr]_`, "gh", false},
		{`^$`, "", false},
		{`AKIA[0-9A-Z]{16}`, "AKIA", false},
		{`BEGIN_(RSA_|EC_)?PRIVATE`, "BEGIN_", false},
	} {
		re, err := compileRegex(c.regex)
		if err != nil {
			t.Fatal(err)
		}
		l := literalsOf(re.syntax)
		if got := strings.Join(l.any, " "); l.fold != c.fold || !sameWords(got, c.want) {
			t.Errorf("%s: %q fold %v, want %q", c.regex, got, l.fold, c.want)
		}
	}
}

func sameWords(a, b string) bool {
	x, y := strings.Split(a, " "), strings.Split(b, " ")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func TestMultilinePatternAtTheEdgesOfADiff(t *testing.T) {
	load := rule.Pattern{Regex: `yaml\.load\(\s*x`, Multiline: true}
	head := "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
	for name, c := range map[string]struct {
		diff string
		want Result
	}{
		"hunks that adjoin":           {head + "@@ -1,0 +2 @@\n+yaml.load(\n@@ -1,0 +3 @@\n+x)\n", Broken},
		"hunks apart":                 {head + "@@ -1,2 +1,3 @@\n a\n+yaml.load(\n b\n@@ -9,2 +10,3 @@\n a\n+x)\n b\n", Kept},
		"no context before":           {head + "@@ -2,0 +3 @@\n+x)\n", Undecided},
		"context":                     {head + "@@ -2,2 +2,3 @@\n a\n+x)\n b\n", Kept},
		"from the first line":         {head + "@@ -1 +1 @@\n-y\n+x\n", Kept},
		"two changes of one file":     {head + "@@ -1 +1,2 @@\n a\n+yaml.load(\n" + head + "@@ -1,2 +1,3 @@\n a\n yaml.load(\n+x)\n", Broken},
		"two changes, cut":            {head + "@@ -1 +1,2 @@\n a\n+yaml.load(\n" + head + "@@ -3 +3,2 @@\n b\n+x)\n", Undecided},
		"two changes without literal": {head + "@@ -1 +1,2 @@\n a\n+b\n" + head + "@@ -3 +3,2 @@\n b\n+x)\n", Kept},
	} {
		t.Run(name, func(t *testing.T) {
			if out := run(t, load, diffSubject(t, c.diff)); out.Result != c.want {
				t.Errorf("%v (%s), want %v", out.Result, out.Reason, c.want)
			}
		})
	}
}
