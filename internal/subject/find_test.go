package subject

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// findable is a subject with a changed file, of which lines 10 to 16 are shown, and a whole one.
func findable(t testing.TB) *Subject {
	t.Helper()
	s, err := Build(Input{
		Diff: "diff --git a/pay.go b/pay.go\n--- a/pay.go\n+++ b/pay.go\n@@ -10,5 +10,7 @@ func Pay(order Order) error {\n" +
			" \tif order.Total > limit {\n-\t\treturn errLimit\n+\t\tlog.Print(order.Card)\n+\n+\t\treturn   errLimit // see above\n \t}\n" +
			" \treturn charge(order)\n \t- item\n",
		Files:  []InputFile{{Path: "notes.md", Content: new("# Notes\n\n- first\n- second\n12| odd\nreturn charge(order)\n+ plus\n")}},
		Facts:  map[string]any{"amount": 12000.0, "country": "NO", "note": "paid  <twice>\nby card", "tags": []any{"a b", map[string]any{"k": "deep value"}}},
		Action: "Delete all orders\n of last year", Intent: "Clean up old data",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFind(t *testing.T) {
	s := findable(t)
	for _, c := range []struct {
		name, quote string
		want        []string // path:start-end
	}{
		{"part of a line", "log.Print(order.Card)", []string{"pay.go:11-11"}},
		{"context line", "if order.Total > limit {", []string{"pay.go:10-10"}},
		{"the added file comes first", "return charge(order)", []string{"notes.md:6-6", "pay.go:15-15"}},
		{"several lines", "log.Print(order.Card)\n\n\t\treturn   errLimit // see above\n\t}", []string{"pay.go:11-14"}},
		{"over a deleted line", "limit {\n\t\tlog.Print(order", []string{"pay.go:10-11"}},
		{"other blanks", "return errLimit // see  above", []string{"pay.go:13-13"}},
		{"other indentation and no blank line", "  log.Print(order.Card)\n  return errLimit", []string{"pay.go:11-13"}},
		{"line ends as blanks", "errLimit // see above } return charge(order)", []string{"pay.go:13-15"}},
		{"Windows line ends", "\r\n\t}\r\n\treturn charge(order)\r\n", []string{"pay.go:14-15"}},
		{"piece of a diff", "-\t\treturn errLimit\n+\t\tlog.Print(order.Card)\n+\n+\t\treturn   errLimit", []string{"pay.go:11-13"}},
		{"added line with its mark", "+ log.Print(order.Card)", []string{"pay.go:11-11"}},
		{"numbered", "  10| if order.Total > limit {\n  11| log.Print(order.Card)", []string{"pay.go:10-11"}},
		{"numbered and marked", " 11| +\t\tlog.Print(order.Card)\n 12|+\n 13| +\t\treturn errLimit", []string{"pay.go:11-13"}},
		{"marked and numbered", "+ 11: log.Print(order.Card)", []string{"pay.go:11-11"}},
		{"text that looks like a mark", "- first\n- second", []string{"notes.md:3-4"}},
		{"text that looks like a number", "12| odd", []string{"notes.md:5-5"}},
		{"deleted", "return errLimit\n", []string{"pay.go:13-13"}}, // the blanks of the added line differ
		{"only in the old text", "\t\treturn errLimit\n\t\tlog.Print", nil},
		{"nowhere", "os.Exit(1)", nil},
		{"over two files", "- item\n# Notes", nil},
		{"over hunks of text in the wrong order", "return charge(order)\nif order.Total", nil},
		{"empty", "", nil},
		{"blank", " \n\t\n ", nil},
		{"too short", "}", nil},
		{"too short with blanks", " \n } \n", nil},
		{"too short behind a mark", "+}", nil},
		{"longer than a quote", strings.Repeat("x", maxQuote+1), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, l := range s.Find(c.quote) {
				got = append(got, fmt.Sprintf("%s:%d-%d", l.FilePath, l.StartLine, l.EndLine))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestFindLocation(t *testing.T) {
	got := findable(t).Find("log.Print(order.Card)\n\nreturn errLimit")
	want := rule.Location{
		FilePath: "pay.go", StartLine: 11, EndLine: 13, FunctionName: "func Pay(order Order) error {",
		Snippet: "\t\tlog.Print(order.Card)\n\n\t\treturn   errLimit // see above",
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("found %+v, want %+v", got, want)
	}
}

func TestFindBounds(t *testing.T) {
	long := strings.Repeat("é", MaxSnippet)
	s, err := Build(Input{Files: []InputFile{
		{Path: "many", Content: new(strings.Repeat("same line\n", 3*maxHits))},
		{Path: "long", Content: new("needle " + long + "\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Find("same line"); len(got) != MaxFound || got[MaxFound-1].StartLine != MaxFound {
		t.Errorf("found %d places, want the first %d", len(got), MaxFound)
	}
	got := s.Find("needle")
	if len(got) != 1 || len(got[0].Snippet) > MaxSnippet || !utf8.ValidString(got[0].Snippet) || !strings.HasSuffix(got[0].Snippet, "é...") {
		t.Errorf("snippet is not cut well: %d places", len(got))
	}
	if line := s.Find("needle " + long[:100]); len(line) != 1 {
		t.Errorf("found %d places for a part of a long line", len(line))
	}
}

func TestContains(t *testing.T) {
	s := findable(t)
	for quote, want := range map[string]bool{
		"Delete all orders of last year":      true,
		"all  orders\nof":                     true,
		"Clean up old data":                   true,
		"paid <twice> by card":                true,
		"deep value":                          true,
		"NO":                                  true, // short, but all of a value
		"N":                                   false,
		"a b":                                 true,
		`"amount":12000`:                      true,
		`"amount": 12000`:                     true,
		`{"amount":12000,"country":"NO"`:      true,
		`"country": "NO", "note": "paid`:      true,
		"\"tags\": [\n    \"a b\",\n    {\n":  true,
		`"amount":1200,`:                      false,
		"log.Print(order.Card)":               false, // that is in a file
		"":                                    false,
		" \n":                                 false,
		strings.Repeat("Delete ", maxQuote/2): false,
	} {
		if got := s.Contains(quote); got != want {
			t.Errorf("Contains(%.60q) = %v", quote, got)
		}
	}
	empty, err := Build(Input{Action: "x"})
	if err != nil || empty.Contains("{}") || !empty.Contains("x") {
		t.Errorf("a subject without facts: %v", err)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("one\ntwo three\n\tfour\n", "two three\nfour", "two")
	f.Add("a = b\r\n+ plus\n12| num\n", "+ plus", "12|")
	f.Add("x\u2003y z\n", "x y", "\u00a0")
	f.Fuzz(func(t *testing.T, content, quote, intent string) {
		s, err := Build(Input{Files: []InputFile{{Path: "x", Content: &content}}, Action: quote, Intent: intent})
		if err != nil {
			return
		}
		lines := []string{}
		for _, l := range s.Files[0].NewLines {
			lines = append(lines, l.Text)
		}
		for _, place := range s.Find(quote) {
			if place.StartLine < 1 || place.EndLine > len(lines) || place.StartLine > place.EndLine {
				t.Fatalf("%q is at %d-%d of %d lines", quote, place.StartLine, place.EndLine, len(lines))
			}
			there := strings.Join(lines[place.StartLine-1:place.EndLine], "\n")
			if place.Snippet != text.Fit(there, MaxSnippet, "...") {
				t.Errorf("snippet is %q, the lines are %q", place.Snippet, there)
			}
			if !slices.ContainsFunc(readings(quote), func(r string) bool { return strings.Contains(text.OneLine(there), text.OneLine(r)) }) {
				t.Errorf("%q is not in %q", quote, there)
			}
		}
		for i, l := range lines { // every line that has enough in it is found, at its own number too
			places := s.Find(l)
			own := func(p rule.Location) bool { return p.StartLine == i+1 }
			if longEnough(l) && len(l) < maxQuote && len(places) < MaxFound && !slices.ContainsFunc(places, own) {
				t.Errorf("line %d %q is found at %v", i+1, l, places)
			}
		}
		if s.Action != "" && len(s.Action) <= maxQuote && !s.Contains(s.Action) {
			t.Errorf("the action %q is not found", s.Action)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	var content strings.Builder
	for i := range 25_000 { // 1 MB
		fmt.Fprintf(&content, "\tresult[%06d] = compute(first, second)\n", i)
	}
	s, err := Build(Input{Files: []InputFile{{Path: "x.go", Content: new(content.String())}}})
	if err != nil {
		b.Fatal(err)
	}
	for name, quote := range map[string]string{
		"verbatim": "result[024000] = compute(first, second)", "squashed": "result[024000]  = compute(first, second)\nresult[024001]",
		"absent": "result[999999]", "everywhere": "compute(first",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Find(quote)
			}
		})
	}
}

// The heading of a hunk names the function before it, which may have ended.
func TestFindNamesTheFunctionOfTheLine(t *testing.T) {
	const diff = `--- a/pay.go
+++ b/pay.go
@@ -10,5 +10,9 @@ func Pay(order Order) error {
 	return nil
 }
 
+const key = "k-1"
+
+func Refund(order Order) error {
+	log.Print(order.Card)
+}
-func Old() {
 // end
`
	s, err := Build(Input{Diff: diff})
	if err != nil {
		t.Fatal(err)
	}
	for quote, want := range map[string]string{
		"return nil": "func Pay(order Order) error {", `const key = "k-1"`: "", "log.Print(order.Card)": "func Refund(order Order) error {", "// end": "",
	} {
		if got := s.Find(quote); len(got) != 1 || got[0].FunctionName != want {
			t.Errorf("%s: %+v, want it in %q", quote, got, want)
		}
	}
}
