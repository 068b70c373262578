package check

import (
	"context"
	"strings"
	"testing"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// codeChange is a change of a file of which the diff shows a part.
func codeChange(path, text string) diff.File {
	f := diff.File{Path: path, Change: diff.Modified, Hunks: []diff.Hunk{{OldStart: 10, NewStart: 10}}}
	h := &f.Hunks[0]
	n := 10
	for line := range strings.Lines(text) {
		op := diff.Op(line[0])
		h.Lines = append(h.Lines, diff.Line{Op: op, New: n, Text: strings.TrimSuffix(line[1:], "\n")})
		if op != diff.OpDelete {
			n++
		}
	}
	h.NewLines = n - 10
	return f
}

func TestExpressionsOverCode(t *testing.T) {
	const noEval = "!code.exists(f, f.calls.exists(c, 'eval' in c.targets && !c.constant))"
	for _, test := range []struct {
		name, when, cel string
		file            diff.File
		want            Result
		reason          string
	}{
		{"call in a new file", "", noEval, whole("a.py", "def f(x):\n    return eval(\n        x)\n"), Broken, ""},
		{"literal argument", "", noEval, whole("a.py", "eval('1 + 1')\n"), Kept, ""},
		{"text and comment", "", noEval, whole("a.py", "x = 'eval(y)'  # eval(z)\n"), Kept, ""},
		{"another name", "", noEval, whole("a.py", "from builtins import eval as e\ne(x)\n"), Broken, ""},
		{"no source code", "", noEval, whole("a.txt", "eval(x)\n"), Kept, ""},
		{"does not parse", "", noEval, whole("a.py", "x = 'eval\n"), Undecided, "a.py cannot be read as python: line 1: a text is not closed"},
		{"does not parse and breaks", "", noEval, whole("a.py", "eval(x)\ny = 'a\n"), Broken, ""},
		{"Go that does not parse", "", noEval, whole("a.go", "package a\nfunc {"), Undecided, "a.go cannot be read as go: it does not parse: line 2"},
		{"added line", "", noEval, codeChange("a.py", " a = 1\n+b = eval(a)\n c = 2\n"), Broken, ""},
		{"line that was there", "", noEval, codeChange("a.py", " a = eval(x)\n+b = 1\n"), Kept, ""},
		{"added argument of a call that begins before", "", noEval, codeChange("a.py", " a = eval(\n+    x,\n )\n"), Broken, ""},
		{"may begin in a text", "", noEval, codeChange("a.py", " about it\n+\"\"\"\n+eval(x)\n+\"\"\"\n"), Undecided, "whether a part of a file"},
		{"binary", "", noEval, diff.File{Path: "a.py", Change: diff.Added, Binary: true, Unseen: "its content is binary and not given"}, Undecided, "a.py"},
		{"path with two readings", "", noEval, func() diff.File {
			f := whole("a.txt", "x\n")
			f.Others = []string{"a.py"}
			return f
		}(), Undecided, "may also be read as"},
		{"import in a package", "", "code.filter(f, f.package == 'domain').all(f, !f.imports.exists(i, i.path.startsWith('net/http')))", whole("a.go", "package domain\nimport h \"net/http\"\n"), Broken, ""},
		{"import in another package", "", "code.filter(f, f.package == 'domain').all(f, !f.imports.exists(i, i.path.startsWith('net/http')))", whole("a.go", "package web\nimport h \"net/http\"\n"), Kept, ""},
		{"package that is not shown", "", "code.all(f, f.package != 'domain')", codeChange("a.go", " var a = 1\n+var b = 2\n"), Undecided, "does not show its package"},
		{"import by folder", "", "code.filter(f, glob(f.path, 'core/**')).all(f, !f.imports.exists(i, i.path == 'os'))", codeChange("core/a.py", "+import os\n"), Broken, ""},
		{"names that may be imported", "", "code.all(f, !f.imports.exists(i, i.name == 'system'))", codeChange("a.py", "     path,\n+    system,\n     sep,\n"), Undecided, "all of an import"},
		{"assignment", "", "code.all(f, f.assignments.all(a, !a.name.matches('(?i)password') || !a.constant || a.value == '\"\"'))", whole("A.java", "class A { String dbPassword = \"hunter2\"; }"), Broken, ""},
		{"string", "", "code.all(f, !f.strings.exists(s, s.value.contains('DROP TABLE')))", whole("a.js", "q('DROP \\x54ABLE x')\n"), Broken, ""},
		{"decorator that is demanded", "code.exists(f, f.decorators.exists(d, d.name == 'app.route'))", "code.all(f, f.decorators.exists(d, d.name == 'login_required'))", whole("a.py", "@app.route('/')\ndef f(): pass\n"), Broken, ""},
		{"condition that may hold", "code.exists(f, f.decorators.exists(d, d.name == 'app.route'))", "false", codeChange("a.py", " x\n+\"\"\"\n+@app.route('/')\n+def f(): pass\n+\"\"\"\n"), Undecided, "when depends"},
		{"what is demanded may be a comment", "", "code.all(f, f.calls.exists(c, c.name == 'audit'))", codeChange("a.py", "+audit(x)\n"), Undecided, "whether a part of a file"},
		{"what is demanded in a whole file", "", "code.all(f, f.calls.exists(c, c.name == 'audit'))", whole("a.py", "audit(x)\n"), Kept, ""},
		{"deleted file", "", noEval, diff.File{Path: "a.py", Change: diff.Deleted, Hunks: []diff.Hunk{{Lines: []diff.Line{{Op: diff.OpDelete, Text: "eval(x)"}}}}}, Kept, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Compile(&rule.Check{CEL: test.cel, When: test.when})
			if err != nil {
				t.Fatal(err)
			}
			out := p.Run(context.Background(), Prepare(&subject.Subject{Files: []diff.File{test.file}}))
			if out.Result != test.want || !strings.Contains(out.Reason, test.reason) {
				t.Errorf("got %v: %s", out.Result, out.Reason)
			}
		})
	}
}

func whole(path, content string) diff.File {
	f := diff.File{Path: path, Change: diff.Whole, Hunks: []diff.Hunk{{NewStart: 1}}}
	n := 0
	for line := range strings.Lines(content) {
		n++
		f.Hunks[0].Lines = append(f.Hunks[0].Lines, diff.Line{Op: diff.OpAdd, New: n, Text: strings.TrimSuffix(line, "\n")})
	}
	f.Hunks[0].NewLines = n
	return f
}

func TestCodeThatBreaksARuleIsNamed(t *testing.T) {
	p, err := Compile(&rule.Check{CEL: "!code.exists(f, f.calls.exists(c, c.name == 'eval'))"})
	if err != nil {
		t.Fatal(err)
	}
	out := p.Run(context.Background(), Prepare(&subject.Subject{Files: []diff.File{
		whole("a.py", "def f(x):\n    run(x)\n    return eval(\n        x)\n"), whole("b.js", "ok()\neval(1)\n"),
	}}))
	if len(out.Locations) != 2 || len(out.Evidence) != 2 {
		t.Fatalf("%+v", out)
	}
	if l := out.Locations[0]; l.FilePath != "a.py" || l.StartLine != 3 || l.EndLine != 4 || l.FunctionName != "def f(x):" || out.Evidence[0].Quote != "    return eval(" {
		t.Errorf("%+v, %+v", l, out.Evidence[0])
	}
	if l := out.Locations[1]; l.FilePath != "b.js" || l.StartLine != 2 {
		t.Errorf("%+v", l)
	}
}

// TestTooMuchCodeIsUndecided checks the bounds: nothing is taken to be absent from what was not read.
func TestTooMuchCodeIsUndecided(t *testing.T) {
	p, err := Compile(&rule.Check{CEL: "!code.exists(f, f.calls.exists(c, c.name == 'eval'))"})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x = 1\n", 100_000)
	for name, files := range map[string][]diff.File{
		"a long file": {whole("a.py", long)},
		"many files": func() (files []diff.File) {
			for range 9 {
				files = append(files, whole("a.py", long[:500_000]))
			}
			return files
		}(),
	} {
		if out := p.Run(context.Background(), Prepare(&subject.Subject{Files: files})); out.Result != Undecided {
			t.Errorf("%s: %v: %s", name, out.Result, out.Reason)
		}
	}
}

// TestCodeInOtherFormsIsNotTakenToBeAbsent has files that hold code without being source files of a language that is read.
func TestCodeInOtherFormsIsNotTakenToBeAbsent(t *testing.T) {
	const none = "!code.exists(f, f.calls.exists(c, 'eval' in c.targets))"
	for _, c := range []struct {
		path, line string
		cel        string
		want       Result
	}{
		{"a.ipynb", `"eval(x)\n"`, none, Undecided},
		{"A.IPYNB", `"x"`, none, Undecided},
		{"a.vue", "<template/>", none, Undecided},
		{"a.svelte", "eval(x)", none, Undecided},
		{"a.pyx", "eval(x)", none, Undecided},
		{"a.html", "<p>text</p>", none, Kept},
		{"a.html", "<SCRIPT>eval(x)</SCRIPT>", none, Undecided},
		{"a.htm", `<a onclick = "eval(x)">`, none, Undecided},
		{"a.svg", `<a href="javascript:eval(x)">`, none, Undecided},
		{"a.md", "eval(x)", none, Kept},
		{"a.vue", "eval(x)", "!code.exists(f, f.language == 'python' && f.calls.exists(c, 'eval' in c.targets))", Kept},
	} {
		s := &subject.Subject{Files: []diff.File{{Path: c.path, Change: diff.Added, Hunks: added(c.line)}}}
		p, err := Compile(&rule.Check{CEL: c.cel})
		if err != nil {
			t.Fatal(err)
		}
		if out := p.Run(t.Context(), Prepare(s)); out.Result != c.want {
			t.Errorf("%s with %q: %v (%s), want %v", c.path, c.line, out.Result, out.Reason, c.want)
		}
	}
}

// TestPagesAreFreeOfCodeOnlyAsAWhole has scripts that no single line shows, in pages and in changes of them.
func TestPagesAreFreeOfCodeOnlyAsAWhole(t *testing.T) {
	shown := func(text string) diff.File { return whole("a.html", text) }
	renamed := diff.File{Path: "b.html", OldPath: "a.html", Change: diff.Renamed}
	unseen := renamed
	unseen.Unseen = "its content is not given"
	for _, c := range []struct {
		name string
		file diff.File
		want Result
	}{
		{"a line in a script", codeChange("a.html", " <script>\n+eval(x)\n </script>\n"), Undecided},
		{"a line without context", codeChange("a.html", "+eval(x)\n"), Undecided},
		{"a line of text, which may be in a script", codeChange("a.html", "+<p>text</p>\n"), Undecided},
		{"a page of which a hunk is missing", codeChange("a.html", " <p>\n-a\n </p>\n"), Undecided},
		{"renamed alone", renamed, Kept},
		{"renamed, unseen", unseen, Undecided},
		{"a slash before the handler", shown("<svg/onload=eval(x)>\n"), Undecided},
		{"a handler in the next line", shown("<a\nonclick=\"eval(x)\">\n"), Undecided},
		{"a handler behind a quote", shown(`<a title='>'onclick=eval(x)>`), Undecided},
		{"a quote in a comment", shown(`<!-- <a title=" --> <b title=" > " onclick=eval(x)>`), Undecided},
		{"a handler far from its sign", shown("<a onclick" + strings.Repeat(" ", 200) + "=eval(x)>"), Undecided},
		{"characters by number", shown(`<a href="java&#115;cript:eval(x)">`), Undecided},
		{"characters by name", shown(`<a href="javascript&colon;eval(x)">`), Undecided},
		{"an address in two lines", shown("<a href=\"java\nscript:eval(x)\">\n"), Undecided},
		{"a page in an address", shown(`<iframe src="data:text/html;base64,PHNjcmlwdD4=">`), Undecided},
		{"a page in a page", shown(`<iframe srcdoc="&lt;b>">`), Undecided},
		{"a script with a prefix", shown(`<s:script>eval(x)</s:script>`), Undecided},
		{"an entity", shown(`<!DOCTYPE svg [<!ENTITY e "x">]>`), Undecided},
		{"a handler that is set", shown(`<set attributeName="onclick" to="eval(x)"/>`), Undecided},
		{"a template", shown(`<button @click="eval(x)">`), Undecided},
		{"prose", shown("<p>the only = sign</p>\n"), Kept},
		{"prose behind a quote", shown("<p class=\"a\" id=b>the only = sign, only='x' &#38;</p>\n<p title=\"a > b\">on = 1</p>"), Kept},
		{"no tag", shown("1 < 2 only = x\n"), Kept},
		{"empty", diff.File{Path: "a.html", Change: diff.Added}, Kept},
	} {
		p := mustCompile(t, &rule.Check{CEL: "!code.exists(f, f.calls.exists(c, 'eval' in c.targets))"})
		if out := p.Run(t.Context(), Prepare(&subject.Subject{Files: []diff.File{c.file}})); out.Result != c.want {
			t.Errorf("%s: %v (%s), want %v", c.name, out.Result, out.Reason, c.want)
		}
	}
}
