package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

func TestPatternsSeeThroughHidingCharacters(t *testing.T) {
	for _, c := range []struct {
		name, regex, unless string
		lines               []string
		want                string
	}{
		{"zero width space", `eval\(`, "", []string{"ok", "ev\u200bal(x)"}, "a.py:2-2"},
		{"soft hyphen, joiners, bidi, tag", `eval\(`, "", []string{"e\u00adv\u200d\u2060a\u202el\U000E0041(x)"}, "a.py:1-1"},
		{"NUL and backspace", `eval\(`, "", []string{"e\x00va\bl(x)"}, "a.py:1-1"},
		{"byte order mark before an anchor", `^import os`, "", []string{"\ufeffimport os"}, "a.py:1-1"},
		{"carriage returns as line ends", `^import os$`, "", []string{"x = 1\rimport os\ry = 2"}, "a.py:1-1"},
		{"line separator as white space", `eval\s*\(`, "", []string{"eval\u2028(x)"}, "a.py:1-1"},
		{"next line, vertical tab, form feed", `drop\s+table`, "", []string{"drop\u0085\v\ftable"}, "a.py:1-1"},
		{"wide spaces", `eval\s*\(`, "", []string{"eval\u00a0\u3000(x)"}, "a.py:1-1"},
		{"an exception in another line of the same one", `eval\(`, `noqa`, []string{"eval(x)\r# noqa"}, "a.py:1-1"},
		{"a line counts once", `eval\(`, "", []string{"eval(x) # \u200b", "ev\u200bal(y)", "eval(z)"}, "a.py:1-1 a.py:3-3 a.py:2-2"},
		{"literal of nothing else", `[e]val\(`, "", []string{"ev\u200bal(x)"}, "a.py:1-1"},
		{"wide letters", `eval\(`, "", []string{"ｅval(x)", "eｖ\u200bal(y)"}, "a.py:1-1 a.py:2-2"},
		{"mathematical letters and digits", `exec2\(`, "", []string{"\U0001d41e\U0001d431𝓮𝕔２(x)"}, "a.py:1-1"},
		{"a ligature and a long s", `os\.fsync`, "", []string{"oſ.fsync(x)"}, "a.py:1-1"},
		{"escapes of Java and JavaScript", `eval\(`, "", []string{`\u0065val(x)`, `\uuu0065v\u{61}l(y)`}, "a.py:1-1 a.py:2-2"},
		{"escapes in texts", `AKIA[0-9]+`, "", []string{`k = "\x41KIA12"`, `k = "\U00000041KIA12"`}, "a.py:1-1 a.py:2-2"},
		{"what is no escape", `AKIA`, "", []string{`k = "\\x41KIA"`, `\x4`, `\u{}KIA`, `\u{999999999}`, `\u004`, `\x`, `\`, `\u{41`, `\U0041KIA`}, ""},
		{"escapes of other characters", `a.b`, "", []string{`a\x0ab`, `a\u00e9b`}, ""},
		{"letters of other alphabets", `eval\(`, "", []string{"еval(x)", "eväl(x)", "值eva(l)"}, ""},
		{"nothing hidden", `exec\(`, "", []string{"ev\u200bal(x)"}, ""},
	} {
		s := &subject.Subject{Files: []diff.File{{Path: "a.py", Change: diff.Added, Hunks: added(c.lines...)}}}
		out := run(t, rule.Pattern{Regex: c.regex, Unless: c.unless}, s)
		if got := places(out); got != c.want || (out.Result == Broken) != (c.want != "") {
			t.Errorf("%s: %v at %q, want %q", c.name, out.Result, got, c.want)
		}
		for i, l := range out.Locations {
			if text := c.lines[l.StartLine-1]; l.Snippet != text || out.Evidence[i].Quote != text {
				t.Errorf("%s: snippet %q and quote %q are not the line %q", c.name, l.Snippet, out.Evidence[i].Quote, text)
			}
		}
	}
	lines := []string{"try:", "except:\r    pa\u200bss", "x"}
	s := &subject.Subject{Files: []diff.File{{Path: "a.py", Change: diff.Added, Hunks: added(lines...)}}}
	if out := run(t, rule.Pattern{Regex: `except:\n\s+pass\nx`, Multiline: true}, s); places(out) != "a.py:2-3" {
		t.Errorf("multiline: %v at %q", out.Result, places(out))
	}
	if out := run(t, rule.Pattern{Regex: `pass`}, &subject.Subject{Action: "by\u200bpa\u200bss it"}); out.Result != Broken || out.Evidence[0].Quote != "by\u200bpa\u200bss it" {
		t.Errorf("action: %v %+v", out.Result, out.Evidence)
	}
}

func TestPatternsReadTheCodeOfNotebooks(t *testing.T) {
	cells := func(lines ...string) []string {
		return append(append([]string{`{"cells": [{"cell_type": "code",`, `   "source": [`}, lines...), `   ]}]}`)
	}
	for _, c := range []struct {
		name, regex string
		lines       []string
		want        string
	}{
		{"quotes", `key = "[a-z]+"`, cells(`    "key = \"abc\"\n",`, `    "x"`), "a.ipynb:3-3"},
		{"an anchor", `^import os$`, cells(`    "import os\n",`, `    "x"`), "a.ipynb:3-3"},
		{"a split word", `eval\(`, cells(`    "x = ev",`, `    "al(y)\n"`), "a.ipynb:3-3"},
		{"a split word in one line", `eval\(`, []string{`{"cells":[{"cell_type":"code","source":["ev", "al(y)"]}]}`}, "a.ipynb:1-1"},
		{"escapes", `eval\(`, cells(`    "\u0065val(y)\n"`), "a.ipynb:3-3"},
		{"escapes in escapes", `eval\(`, cells(`    "\\u0065val(y)\n"`), "a.ipynb:3-3"},
		{"a key with escapes", `eval\(`, []string{`{"cells":[{"cell_type":"code","\u0073ource":["ev", "al(y)"]}]}`}, "a.ipynb:1-1"},
		{"a key with escapes before lines", `^eval\(y\)$`, []string{`{"cells":[{"\u0063ell_type":"code",`, `"\u0073our\u0063e":[`, `"ev",`, `"al(y)"`, `]}]}`}, "a.ipynb:3-3"},
		{"a key with escapes itself", `^source$`, []string{`{"\u0073ource":["x"]}`}, "a.ipynb:1-1"},
		{"a key with escapes by its quotes", `"source":\["x"`, []string{`{"\u0073ource":["x"]}`}, "a.ipynb:1-1"},
		{"one text with lines", `^import os$`, []string{`{"source": "x = 1\nimport os\n"}`}, "a.ipynb:1-1"},
		{"lines of their own", `eval\(`, cells(`    "x = ev\n",`, `    "al(y)\n"`), ""},
		{"texts of two cells", `eval\(`, []string{`"source": ["x = ev"]`, `"source": ["al(y)"]`}, ""},
		{"texts of two names", `eval\(`, []string{`{"a": "ev", "b": "al("}`}, ""},
		{"no JSON", `eval\(`, []string{`"ev`, `al("`, `"\q", "eva"`, `""l(`}, ""},
	} {
		s := &subject.Subject{Files: []diff.File{{Path: "a.ipynb", Change: diff.Added, Hunks: added(c.lines...)}}}
		out := run(t, rule.Pattern{Regex: c.regex}, s)
		if got := places(out); got != c.want || (out.Result == Broken) != (c.want != "") {
			t.Errorf("%s: %v at %q, want %q", c.name, out.Result, got, c.want)
		}
	}
	s := &subject.Subject{Files: []diff.File{{Path: "a.ipynb", Change: diff.Added, Hunks: added(cells(`"try:\n",`, `"except:\n",`, `"    pass\n"`)...)}}}
	if out := run(t, rule.Pattern{Regex: `except:\n\s+pass`, Multiline: true}, s); out.Result != Broken {
		t.Errorf("multiline: %v at %q", out.Result, places(out))
	}
	s = &subject.Subject{Files: []diff.File{{Path: "a.json", Change: diff.Added, Hunks: added(`["ev", "al(y)"]`)}}}
	if out := run(t, rule.Pattern{Regex: `eval\(`}, s); out.Result == Broken {
		t.Errorf("a list of JSON at %q", places(out))
	}
}

func TestPatternsSeeKeysAndNumbersOfFacts(t *testing.T) {
	s := facts(t, `{"approver": {"backdoor_key": 1000000, "ok": true}, "big": 1e21, "small": 0.0000001, "list": [7.5, false], "n": null}`)
	for regex, want := range map[string]rule.Evidence{
		`^backdoor_key$`:           {Kind: rule.EvidenceFact, Fact: "facts.approver.backdoor_key", Value: "1000000"},
		`^1000000$`:                {Kind: rule.EvidenceFact, Fact: "facts.approver.backdoor_key", Value: "1000000"},
		`^true$`:                   {Kind: rule.EvidenceFact, Fact: "facts.approver.ok", Value: "true"},
		`^1e\+21$`:                 {Kind: rule.EvidenceFact, Fact: "facts.big", Value: "1e+21"},
		`^1000000000000000000000$`: {Kind: rule.EvidenceFact, Fact: "facts.big", Value: "1e+21"},
		`^0.0000001$`:              {Kind: rule.EvidenceFact, Fact: "facts.small", Value: "1e-7"},
		`^7.5$`:                    {Kind: rule.EvidenceFact, Fact: "facts.list[0]", Value: "7.5"},
		`^false$`:                  {Kind: rule.EvidenceFact, Fact: "facts.list[1]", Value: "false"},
		`^n$`:                      {Kind: rule.EvidenceFact, Fact: "facts.n", Value: "null"},
		`^list$`:                   {Kind: rule.EvidenceFact, Fact: "facts.list", Value: "[7.5,false]"},
	} {
		out := run(t, rule.Pattern{Regex: regex}, s)
		if diff := cmp.Diff([]rule.Evidence{want}, out.Evidence); out.Result != Broken || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", regex, out.Result, diff)
		}
	}
}

func TestPatternIsAboutAllReadingsOfAPath(t *testing.T) {
	for _, c := range []struct {
		name           string
		file           diff.File
		paths, exclude []string
		want           Result
	}{
		{"other reading", diff.File{Path: "a/src/x.py", Others: []string{"src/x.py"}}, []string{"src/**"}, nil, Broken},
		{"none of the readings", diff.File{Path: "a/src/x.py", Others: []string{"src/x.py"}}, []string{"lib/**"}, nil, NotConcerned},
		{"one reading excluded", diff.File{Path: "a/src/x.py", Others: []string{"src/x.py"}}, nil, []string{"src/**"}, Broken},
		{"all readings excluded", diff.File{Path: "a/src/x.py", Others: []string{"src/x.py"}}, nil, []string{"src/**", "a/**"}, NotConcerned},
		{"case", diff.File{Path: "SRC/X.PY"}, []string{"src/*.py"}, nil, Broken},
		{"case of the glob", diff.File{Path: "makefile"}, []string{"Makefile"}, nil, Broken},
		{"case of an exclusion", diff.File{Path: "SRC/x.py"}, []string{"**/*.py"}, []string{"src/**"}, Broken},
		{"submodule above", diff.File{Path: "src", NewMode: "160000"}, []string{"src/lib/*.py"}, nil, Broken},
		{"submodule below", diff.File{Path: "src/lib/sub", NewMode: "160000"}, []string{"src/**/*.py"}, nil, Broken},
		{"submodule and base name", diff.File{Path: "vendor/lib", NewMode: "160000"}, []string{"*.py"}, nil, Broken},
		{"submodule elsewhere", diff.File{Path: "vendor/lib", NewMode: "160000"}, []string{"src/**/*.py"}, nil, NotConcerned},
		{"link", diff.File{Path: "src", NewMode: "120000"}, []string{"src/*.py"}, nil, Broken},
		{"submodule excluded", diff.File{Path: "vendor/lib", NewMode: "160000"}, nil, []string{"vendor/"}, NotConcerned},
		{"submodule excluded in part", diff.File{Path: "vendor", NewMode: "160000"}, nil, []string{"vendor/lib/**"}, Broken},
		{"submodule excluded by name only", diff.File{Path: "vendor/x.py", NewMode: "160000"}, nil, []string{"*.py"}, Broken},
		{"plain file is no folder", diff.File{Path: "src"}, []string{"src/lib/*.py"}, nil, NotConcerned},
	} {
		c.file.Change, c.file.Hunks = diff.Added, added("eval(x)")
		p := rule.Pattern{Regex: "eval", Paths: c.paths, ExcludePaths: c.exclude}
		if out := run(t, p, &subject.Subject{Files: []diff.File{c.file}}); out.Result != c.want {
			t.Errorf("%s: %v (%s), want %v", c.name, out.Result, out.Reason, c.want)
		}
		// The same with hidden content, for which nothing can be known.
		c.file.Hunks, c.file.Unseen = nil, "its content is not given"
		want := c.want
		if want == Broken {
			want = Undecided
		}
		if out := run(t, p, &subject.Subject{Files: []diff.File{c.file}}); out.Result != want || want == Undecided && !strings.Contains(out.Reason, c.file.Path+": its content is not given") {
			t.Errorf("%s, hidden: %v (%s), want %v", c.name, out.Result, out.Reason, want)
		}
	}
}

func TestPatternWithHiddenContent(t *testing.T) {
	moved := diff.File{Path: "new.py", OldPath: "old.py", Change: diff.Renamed, Unseen: "only what changed in it is given", Hunks: added("a = 1")}
	s := &subject.Subject{Files: []diff.File{moved}}
	out := run(t, rule.Pattern{Regex: "eval"}, s)
	if out.Result != Undecided || out.Reason != "new.py: only what changed in it is given" || without(out.About, out.Seen).Empty() {
		t.Errorf("no hit: %v (%s)", out.Result, out.Reason)
	}
	if out := run(t, rule.Pattern{Regex: "a ="}, s); out.Result != Broken {
		t.Errorf("a hit in what is shown: %v (%s)", out.Result, out.Reason)
	}
	gone := &subject.Subject{Files: []diff.File{{Path: "a.bin", Change: diff.Deleted, Binary: true}}}
	if out := run(t, rule.Pattern{Regex: "eval"}, gone); out.Result != NotConcerned {
		t.Errorf("a deleted binary file: %v (%s)", out.Result, out.Reason)
	}
}
