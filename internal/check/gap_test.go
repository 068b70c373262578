package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/diff"
	"tenet/internal/ledger"
	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// added makes a hunk of added lines.
func added(lines ...string) []diff.Hunk {
	h := diff.Hunk{NewStart: 1, NewLines: len(lines)}
	for i, line := range lines {
		h.Lines = append(h.Lines, diff.Line{Op: diff.OpAdd, New: i + 1, Text: line})
	}
	return []diff.Hunk{h}
}

// hiding is a subject with a file that is shown and others that are not, or not wholly.
func hiding() *subject.Subject {
	modified := added("eval(x)", "b")
	modified[0].Lines[1].Op = diff.OpContext
	return &subject.Subject{Kinds: []subject.Kind{subject.CodeChange}, Files: []diff.File{
		{Path: "shown.py", Change: diff.Added, Hunks: added("a = 1")},
		{Path: "b.bin", Change: diff.Modified, Binary: true, OldBlob: "1111111", NewBlob: "2222222"},
		{Path: "part.py", Change: diff.Renamed, OldPath: "old.py", Unseen: "only what changed in it is given", Hunks: modified},
		{Path: "gone.bin", Change: diff.Deleted},
		{Path: "logo.png", Change: diff.Added, Media: "a PNG image"},
		{Path: "empty.py", Change: diff.Added, NewBlob: "e69de29"},
		{Path: "mode.sh", Change: diff.Mode, OldMode: "100644", NewMode: "100755"},
		{Path: "mod.py", Change: diff.Modified, Hunks: modified},
		{Path: "compared.bin", Change: diff.Modified, Binary: true},
	}}
}

// on returns an expression that looks at one file.
func on(path, cel string) string {
	return fmt.Sprintf("diff.files.filter(f, f.path == '%s').all(f, %s)", path, cel)
}

func TestWhatADiffDoesNotShowIsUnknown(t *testing.T) {
	for _, c := range []struct {
		cel    string
		want   Result
		reason string
	}{
		{on("shown.py", "!f.added_text.contains('eval') && f.lines.size() == 1 && f.added.size() == 1 && f.removed_text == ''"), Kept, ""},
		{on("logo.png", "f.added_text == '' && f.lines.size() == 0 && f.removed_text == ''"), Kept, ""},
		{on("empty.py", "f.added_text == '' && f.lines.size() == 0"), Kept, ""},
		{on("gone.bin", "f.added_text == '' && f.lines.size() == 0 && f.added == []"), Kept, ""},
		{on("gone.bin", "f.removed_text == ''"), Undecided, "gone.bin: the diff does not show what it deletes"},
		{on("b.bin", "f.path == 'b.bin' && f.old_path == '' && f.change == 'modified' && f.binary"), Kept, ""},
		{on("b.bin", "has(f.added)"), Kept, ""},
		{on("compared.bin", "f.change != 'added'"), Undecided, "compared.bin: the diff does not say whether the file was there before"},
		{on("b.bin", "!f.added_text.contains('eval')"), Undecided, "b.bin: the file is binary"},

		// chmod brings no content, and leaves what was there.
		{on("mode.sh", "f.added_text == '' && f.added == [] && f.removed_text == '' && f.change == 'mode'"), Kept, ""},
		{on("mode.sh", "f.lines.all(l, l.text != 'eval')"), Undecided, "mode.sh: the diff shows only a part of it"},

		// Context lines are a part of the file, and added lines are all that the change adds.
		{on("mod.py", "f.added.size() == 1 && f.added_text == 'eval(x)' && f.removed_text == ''"), Kept, ""},
		{on("mod.py", "f.lines.exists(l, l.text == 'b')"), Kept, ""},
		{on("mod.py", "f.lines.all(l, l.text != 'b')"), Broken, ""},
		{on("mod.py", "f.lines.exists(l, l.text == 'import os')"), Undecided, "mod.py: the diff shows only a part of it"},
		{on("mod.py", "!f.lines.exists(l, l.text == 'import os')"), Undecided, "mod.py: the diff shows only a part of it"},

		// What is shown may decide.
		{on("part.py", "f.added.exists(l, l.text.contains('eval'))"), Kept, ""},
		{on("part.py", "f.added.all(l, !l.text.contains('eval'))"), Broken, ""},
		{on("part.py", "f.added.all(l, !l.text.contains('exec'))"), Undecided, "part.py: only what changed in it is given"},
		{on("part.py", "f.added.exists(l, l.text.contains('exec'))"), Undecided, "part.py"},
		{on("part.py", "f.added.exists_one(l, l.text.contains('eval'))"), Undecided, "part.py"},
		{on("part.py", "f.lines.exists(l, l.text == 'b')"), Kept, ""},
		{on("part.py", "!f.added_text.contains('eval(')"), Broken, ""},
		{on("part.py", "!f.added_text.lowerAscii().contains('eval(')"), Broken, ""},
		{on("part.py", "!f.added_text.matches('ev.l\\\\(')"), Broken, ""},
		{on("part.py", "!f.added_text.matches('^eval')"), Undecided, "part.py"},
		{on("part.py", "!f.added_text.contains('exec(')"), Undecided, "part.py"},
		{on("part.py", "f.added_text.contains('eval')"), Kept, ""},
		{on("part.py", "f.added_text.contains('eval(x)\\nb')"), Undecided, "part.py"},
		{"subject.text.contains('a = 1')", Kept, ""},
		{"!subject.text.contains('eval(')", Broken, ""},
		{"!subject.text.contains('exec(')", Undecided, "b.bin: the file is binary; part.py: only what"},
		{"diff.added_lines <= 2", Broken, ""},
		{"3 > diff.added_lines", Broken, ""},
		{"diff.added_lines >= 3 && diff.added_lines > 2 && 2 < diff.added_lines", Kept, ""},
		{"diff.added_lines <= 3", Undecided, "b.bin: the file is binary"},
		{"diff.added_lines == 3", Undecided, "b.bin"},
		{"diff.deleted_lines == 0", Undecided, "b.bin"},

		// An unknown goes through everything, and stops where something else decides.
		{on("part.py", "f.added.size() == 1"), Undecided, "part.py"},
		{on("part.py", "f.added.size() < 100 || true"), Kept, ""},
		{on("part.py", "f.added_text == 'eval(x)' && false"), Broken, ""},
		{on("part.py", "f.added_text == 'x' ? true : true"), Undecided, "part.py"},
		{on("part.py", "true ? true : f.added_text == 'x'"), Kept, ""},
		{on("part.py", "!(f.added_text in ['x', 'y'])"), Undecided, "part.py"},
		{on("part.py", "f.added_text != 'x'"), Undecided, "part.py"},
		{on("part.py", "f.added != []"), Undecided, "part.py"},
		{on("part.py", "f.added[0].text == 'eval(x)'"), Undecided, "part.py"},
		{on("part.py", "f.added[?0].?text.hasValue()"), Undecided, "part.py"},
		{on("part.py", "f.added.filter(l, l.text == 'exec').size() == 0"), Undecided, "part.py"},
		{on("part.py", "f.added.filter(l, l.text == 'exec').all(l, false)"), Undecided, "part.py"},
		{on("part.py", "f.added.filter(l, l.text == 'exec').exists(l, l.text == 'eval(x)')"), Undecided, "part.py"},
		{on("part.py", "f.added.slice(0, 0).all(l, false)"), Undecided, "part.py"},
		{on("part.py", "dyn(f).added.all(l, l.text == 'eval(x)')"), Undecided, "part.py"},
		{on("part.py", "f.added.map(l, l.text).exists(x, x == 'eval(x)')"), Undecided, "part.py"},
		{on("part.py", "f.added.map(l, l.text).sort()[0] == 'eval(x)'"), Undecided, "part.py"},
		{on("part.py", "f.added.sortBy(l, l.line).size() == 1"), Undecided, "part.py"},
		{on("part.py", "f.added.map(l, l.text).join(',') == 'eval(x)'"), Undecided, "part.py"},
		{on("part.py", "sets.contains(['eval(x)'], f.added.map(l, l.text))"), Undecided, "part.py"},
		{on("part.py", "sets.contains(['eval(x)'], [f.added_text])"), Undecided, "part.py"},
		{on("part.py", "[f.added_text].distinct().size() == 1 && {'a': f.added_text}.size() == 1"), Undecided, "part.py"},
		{on("part.py", "math.greatest(f.added.size(), 5) == 5"), Undecided, "part.py"},
		{on("part.py", "'%s'.format([f.added_text]) == 'eval(x)'"), Undecided, "part.py"},
		{on("part.py", "f.added_text.split('\\n').size() == 1 && f.added_text.replace('a', 'b') != '' && f.added_text.trim() != ''"), Undecided, "part.py"},
		{on("part.py", "f.added_text.startsWith('eval')"), Undecided, "part.py"},
		{on("part.py", "f.added_text.size() < 10 && size(f.added_text) < 10"), Undecided, "part.py"},
		{on("part.py", "glob(f.added_text, 'a*')"), Undecided, "part.py"},
		{on("part.py", "optional.of(f.added_text).orValue('') == 'eval(x)'"), Undecided, "part.py"},
		{on("part.py", "optional.of(f.added).hasValue()"), Undecided, "part.py"},
		{on("part.py", "optional.of(f.added_text).optMap(x, x + 'y').value() != ''"), Undecided, "part.py"},
		{on("part.py", "type(f.added_text) == string || string(f.added_text) == ''"), Undecided, "part.py"},
		{on("part.py", "[f.added_text, 'x'].exists(x, x == 'x')"), Undecided, "part.py"},
		{on("part.py", "f.added_text + 'x' == 'eval(x)x'"), Undecided, "part.py"},
		{on("part.py", "lists.range(f.added.size()).all(i, true)"), Undecided, "part.py"},
		{on("part.py", "{'eval(x)': 1}[f.added_text] == 1"), Undecided, "part.py"},
		{on("part.py", "1 / 0 == 1 || f.added_text == ''"), Undecided, "part.py"},
	} {
		p := mustCompile(t, &rule.Check{CEL: c.cel})
		in := Prepare(hiding())
		out := p.Run(t.Context(), in)
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%s: %v (%s), want %v with %q", c.cel, out.Result, out.Reason, c.want, c.reason)
		}
		if out.Result == Undecided && without(out.About, out.Seen).Empty() {
			t.Errorf("%s: no unit is named as missing", c.cel)
		}
		if out.Result == Kept && !without(out.About, out.Seen).Empty() {
			t.Errorf("%s: kept with a missing unit", c.cel)
		}
	}
}

// TestChangesOfMode checks that patterns and expressions read a change of mode alike: chmod brings nothing, a change of type does.
func TestChangesOfMode(t *testing.T) {
	const head = "diff --git a/run.sh b/run.sh\n"
	for text, hides := range map[string]bool{
		head + "old mode 100644\nnew mode 100755\n":                                   false,
		head + "old mode 100755\nnew mode 100644\n":                                   false,
		head + "old mode 100644\nnew mode 120000\n":                                   true,
		head + "old mode 100644\nnew mode 160000\n":                                   true,
		head + "old mode 120000\nnew mode 100644\n":                                   true,
		head + "old mode 160000\nnew mode 100755\n":                                   true,
		head + "new mode 100755\n":                                                    true,
		head + "old mode 100644\n":                                                    true,
		head + "old mode 100644\nnew mode 040000\n":                                   true,
		head + "old mode 100644\nnew mode 100755\nindex 1111111..2222222\n":           true,
		head + "old mode 100644\nnew mode 120000\nindex 1111111..2222222 100644\n":    true,
		"diff --cc run.sh\nmode 100644,120000..100755\n":                              true,
		"Property changes on: run.sh\n_____\nAdded: svn:executable\n   + *\n":         false,
		"Property changes on: run.sh\n_____\nAdded: svn:special\n## -0,0 +1 ##\n+*\n": true,
	} {
		s, err := subject.Build(subject.Input{Diff: text})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want := Kept
		if hides {
			want = Undecided
		}
		in := Prepare(s)
		for _, cel := range []string{"diff.files.all(f, !f.added_text.contains('eval'))", "diff.files.all(f, f.added.all(l, l.text != 'eval'))", "!subject.text.contains('eval')", "diff.added_lines < 3"} {
			if out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), in); out.Result != want {
				t.Errorf("%q: %s: %v (%s), want %v", text, cel, out.Result, out.Reason, want)
			}
		}
		if out := mustCompile(t, &rule.Check{Pattern: &rule.Pattern{Regex: "eval"}}).Run(t.Context(), in); (out.Result == Undecided) != hides {
			t.Errorf("%q: the pattern: %v (%s)", text, out.Result, out.Reason)
		}
		if unseen := in.Units().Content(0) >= 0; unseen != hides {
			t.Errorf("%q: the judge has a unit of content that it cannot see: %v", text, unseen)
		}
	}
}

func TestWhenThatIsUnknown(t *testing.T) {
	for _, c := range []struct {
		when string
		want Result
	}{
		{"diff.files.exists(f, f.path == 'part.py' && f.added_text.contains('import torch'))", Undecided},
		{"diff.files.exists(f, f.path == 'mod.py' && f.lines.exists(l, l.text == 'import torch'))", Undecided},
		{"diff.files.exists(f, f.path == 'mod.py' && f.lines.exists(l, l.text == 'b'))", Broken},
		{"diff.files.exists(f, f.path == 'mod.py' && f.added_text.contains('import torch'))", NotConcerned},
	} {
		for _, check := range []rule.Check{{When: c.when, CEL: "false"}, {When: c.when, Pattern: &rule.Pattern{Regex: "eval"}}} {
			in := Prepare(hiding())
			out := mustCompile(t, &check).Run(t.Context(), in)
			if out.Result != c.want {
				t.Errorf("%s: %v (%s), want %v", c.when, out.Result, out.Reason, c.want)
			}
			if c.want == Undecided && (!strings.HasPrefix(out.Reason, "the condition when depends on what is not known: ") || out.About == nil) {
				t.Errorf("%s: %s", c.when, out.Reason)
			}
		}
	}
	content := "x"
	whole, err := subject.Build(subject.Input{Files: []subject.InputFile{{Path: "migrations/1.sql", Content: &content}}})
	if err != nil {
		t.Fatal(err)
	}
	out := mustCompile(t, &rule.Check{When: "diff.files.exists(f, glob(f.path, 'migrations/**'))", CEL: "false"}).Run(t.Context(), Prepare(whole))
	if out.Result != Undecided || !strings.Contains(out.Reason, "look at files too") {
		t.Errorf("a when that looks at diff only: %v (%s)", out.Result, out.Reason)
	}
}

func TestPathsOfSeveralReadings(t *testing.T) {
	s := &subject.Subject{Files: []diff.File{{Path: "a/src/x.py", Others: []string{"src/x.py"}, Change: diff.Added, Hunks: added("a")}}}
	for cel, want := range map[string]Result{
		"diff.files.all(f, glob(f.path, '*.py') && f.path.endsWith('.py') && f.path.contains('src/') && f.path != 'b')": Kept,
		"diff.files.all(f, !glob(f.path, '*.go'))":                Kept,
		"diff.files.all(f, glob(f.path, '*.go'))":                 Broken,
		"diff.files.all(f, !glob(f.path, 'src/**'))":              Undecided,
		"diff.files.all(f, !f.path.startsWith('src/'))":           Undecided,
		"diff.files.all(f, f.path == 'a/src/x.py')":               Undecided,
		"diff.files.all(f, f.path.matches('^(a/)?src/'))":         Kept,
		"diff.files.all(f, f.path in ['a/src/x.py', 'src/x.py'])": Undecided,
		"diff.files.map(f, f.path).size() == 1":                   Undecided,
	} {
		out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(s))
		if out.Result != want || want == Undecided && !strings.Contains(out.Reason, "may also be read as src/x.py") {
			t.Errorf("%s: %v (%s), want %v", cel, out.Result, out.Reason, want)
		}
	}
}

func TestGlobsInAnotherCase(t *testing.T) {
	s := &subject.Subject{Files: []diff.File{{Path: "SRC/a.py", Change: diff.Added, Hunks: added("a")}, {Path: "SRC/b.py", Change: diff.Added, Hunks: added("a")}}}
	for cel, want := range map[string]Result{
		"diff.files.exists(f, glob(f.path, 'SRC/**'))":           Kept,
		"diff.files.all(f, !glob(f.path, 'lib/**'))":             Kept,
		"diff.files.all(f, !glob(f.path, 'src/**'))":             Undecided,
		"diff.files.exists(f, glob(f.path, 'src/**'))":           Undecided,
		"diff.files.map(f, f.path).exists(p, glob(p, 'src/**'))": Undecided,
	} {
		out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(s))
		if out.Result != want || want == Undecided && !strings.HasSuffix(out.Reason, "SRC/a.py: it matches a glob only if case is ignored; and 1 more") {
			t.Errorf("%s: %v (%s), want %v", cel, out.Result, out.Reason, want)
		}
	}
}

func TestManyGapsAreNamedInPart(t *testing.T) {
	s := &subject.Subject{}
	for i := range 2_000 {
		s.Files = append(s.Files, diff.File{Path: fmt.Sprintf("%d.bin", i), Change: diff.Added, Binary: true})
	}
	in := Prepare(s)
	out := mustCompile(t, &rule.Check{CEL: "diff.files.all(f, !f.added_text.contains('x'))"}).Run(t.Context(), in)
	if out.Result != Undecided || !strings.HasSuffix(out.Reason, "; and 1995 more") || !strings.Contains(out.Reason, "0.bin: the file is binary") {
		t.Errorf("%v (%s)", out.Result, out.Reason)
	}
	if n := len(slices.Collect(without(out.About, out.Seen).All)); n != 2_000 {
		t.Errorf("%d units are missing, want 2000", n)
	}
}

// TestAboutOfExpressions checks that an expression is about the kinds of units that it reads.
func TestAboutOfExpressions(t *testing.T) {
	s := &subject.Subject{
		Action: "deploy", Facts: map[string]any{"n": 1.0},
		Files: []diff.File{{Path: "a.py", Change: diff.Added, Hunks: added("a")}, {Path: "b.bin", Change: diff.Added, Binary: true}},
	}
	const action, facts, names, texts = "action ", "facts ", "names ", "texts "
	for cel, want := range map[string]string{
		"true":                                 action + facts + names + texts,
		"subject.scope == ''":                  action + facts + names + texts,
		"facts.n == 1":                         facts,
		"subject.action == 'deploy'":           action,
		"subject.intent == '' && 'n' in facts": facts,
		"diff.files.all(f, f.path != 'x')":     names,
		"diff.files.all(f, f.binary || f.added_text != 'x')":                                 names + texts,
		"diff.files.all(f, f.binary || dyn(f)['added_text'] != 'x')":                         names + texts,
		"diff.files.all(f, f.binary || dyn(f)[facts.n == 1 ? 'added_text' : 'path'] != 'x')": facts + names + texts,
		"subject.text.contains('deploy')":                                                    action + texts,
		"dyn(subject).action == 'deploy'":                                                    action + texts,
		"[1].all(facts, facts == 1)":                                                         action + facts + names + texts,
	} {
		in := Prepare(s)
		out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), in)
		got := ""
		for i, kind := range []ledger.Kind{ledger.Action, ledger.Facts, ledger.Name, ledger.Text} {
			if slices.ContainsFunc(slices.Collect(out.About.All), func(unit int) bool { return in.Units().At(unit).Kind == kind }) {
				got += []string{action, facts, names, texts}[i]
			}
		}
		if out.Result != Kept || got != want {
			t.Errorf("%s: %v (%s) about %s, want kept about %s", cel, out.Result, out.Reason, got, want)
		}
	}
}

// TestResultsHoldForWhateverIsHidden checks the law of unknowns on random files: an expression that has a result for a file of which a
// part is hidden has the same for every content of that part.
func TestResultsHoldForWhateverIsHidden(t *testing.T) {
	var programs []*Program
	for _, cel := range []string{
		"diff.files.all(f, f.added.all(l, !l.text.contains('eval')))", "diff.files.exists(f, f.added.exists(l, l.text == 'a'))",
		"diff.files.exists(f, f.added.exists_one(l, l.text == 'a'))", "diff.files.all(f, !f.added_text.contains('eval'))",
		"diff.files.all(f, f.added_text.contains('a'))", "!subject.text.lowerAscii().contains('eval')", "subject.text.matches('(?m)^a$')",
		"diff.files.all(f, f.added_text.matches('^a'))", "diff.files.all(f, !f.added_text.matches('\\\\beval\\\\b'))",
		"diff.added_lines <= 3", "diff.added_lines > 2", "4 > diff.added_lines", "diff.added_lines == 2", "diff.added_lines != 2",
		"diff.files.all(f, f.added.size() < 3)", "diff.files.all(f, f.added.filter(l, l.text == 'a').size() == 0)",
		"diff.files.all(f, f.path != 'p' || f.added_text == 'a')", "diff.files.exists(f, f.added.map(l, l.text).exists(x, x == 'eval'))",
		"diff.files.all(f, f.added_text != '' ? true : f.path != 'p')", "diff.files.all(f, f.lines.all(l, l.text != 'b'))",
		"diff.files.all(f, f.lines.exists(l, l.text == 'b') || f.path == 'q')", "diff.files.all(f, f.added.all(l, l.line > 0) && f.added_text in ['a', 'b'])",
		"!diff.files.exists(f, f.added.exists(l, l.text.matches('^eval')) && f.added_text.contains('b'))",
		"diff.files.all(f, f.added == [] || f.added[0].text == 'a')", "diff.files.map(f, f.added_text).join('').contains('eval')",
	} {
		programs = append(programs, mustCompile(t, &rule.Check{CEL: cel}))
	}
	proptest.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "eval", "x eval(a)", "EVAL", ""}), 1, 6).Draw(t, "lines")
		shown := slices.DeleteFunc(slices.Clone(lines), func(string) bool { return rapid.Bool().Draw(t, "hidden") })
		whole := diff.File{Path: "p", Change: diff.Added, Hunks: added(lines...)}
		part := diff.File{Path: "p", Change: diff.Added, Hunks: added(shown...), Unseen: "it is cut"}
		if rapid.Bool().Draw(t, "all hidden") {
			part.Hunks = nil
		}
		other := diff.File{Path: "q", Change: diff.Added, Hunks: added("b")}
		for _, p := range programs {
			of := func(f diff.File) Outcome {
				return p.Run(context.Background(), Prepare(&subject.Subject{Files: []diff.File{f, other}}))
			}
			if some, all := of(part), of(whole); some.Result != Undecided && some.Result != all.Result {
				t.Fatalf("%s: %v of %q, and %v of %q", p.cel.short, some.Result, shown, all.Result, lines)
			}
		}
	})
}
