package check

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// TestTextsThatLookAlikeHaveNoResult has a fact that people and many programs take for the text that a rule names.
func TestTextsThatLookAlikeHaveNoResult(t *testing.T) {
	for _, c := range []struct {
		role string
		want Result
	}{
		{"admin", Broken},
		{"user", Kept},
		{"", Kept},
		{"Admin", Kept}, // letter case is for the rule to say
		{"administrator", Kept},
		{"аdmin", Kept}, // a letter of another alphabet is another name
		{"admin ", Undecided},
		{"\\tadmin\\n", Undecided},
		{"adm\u200bin", Undecided},
		{"\ufeffadmin", Undecided},
		{"\uff41dmin", Undecided},
		{`\\u0061dmin`, Undecided},
		{"user ", Kept},
		{"us\u200ber", Kept},
	} {
		s := facts(t, `{"role": "`+c.role+`", "other": "admin", "list": ["x", "admin"], "map": {"k": "admin"}}`)
		for _, cel := range []string{
			"facts.role != 'admin'",
			"!(facts.role in ['root', 'admin'])",
			"facts.role != facts.other",
			"!(facts.role in facts.list)",
			"!facts.list.exists(e, e == facts.role)",
			"facts.map != {'k': facts.role}",
			"!sets.contains(facts.list, [facts.role])",
			"!(facts.role == 'admin') && !(facts.role == 'root')",
		} {
			out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(s))
			if out.Result != c.want {
				t.Errorf("%s of %q: %v (%s), want %v", cel, c.role, out.Result, out.Reason, c.want)
			}
			if out.Result == Undecided && !strings.Contains(out.Reason, "may mean the same") {
				t.Errorf("%s of %q: because %s", cel, c.role, out.Reason)
			}
		}
	}
}

// TestTextsThatLookAlikeThroughOtherDoors counts such texts, looks them up in maps, and has letters whose accents are written in two ways.
func TestTextsThatLookAlikeThroughOtherDoors(t *testing.T) {
	s := facts(t, `{"approvers": ["ann", "ann "], "two": ["ann", "bob", "ann"], "nested": [["ann"], ["ann "]], "role": "admin ", "roles": {"admin ": 1}, "user": {"ann": 1},
		"a": "Jos\u00e9", "b": "Jose\u0301", "c": "Jose", "d": "e\u0323\u0302x", "e": "\u00ea\u0323x", "han": "\uac00", "jamo": "\u1100\u1161", "marks": "e`+strings.Repeat("\u0301", 200)+`",
		"sep": ", ", "tab": "\t", "blank": " ", "hidden": "\u200b"}`)
	for _, c := range []struct {
		cel  string
		want Result
	}{
		{"size(facts.approvers.distinct()) >= 2", Undecided},
		{"facts.nested.distinct().size() == 2", Undecided},
		{"size(facts.two.distinct()) == 2", Kept},
		{"!(facts.role in {'admin': true})", Undecided},
		{"!(facts.role in {'root': true})", Kept},
		{"facts.role in {'admin ': true, 'admin': false}", Kept},
		{"!('admin' in facts.roles)", Undecided},
		{"!('root' in facts.roles) && 'admin ' in facts.roles", Kept},
		{"facts.roles != {'admin': 1}", Undecided},
		{"facts.roles != {'root': 1} && facts.user == {'ann': 1}", Kept},
		{"facts.a != facts.b", Undecided},
		{"!(facts.b in ['root', 'Jos\u00e9'])", Undecided},
		{"facts.a != facts.c && facts.b != facts.c", Kept},
		{"facts.d != facts.e", Undecided},
		{"facts.han != facts.jamo", Undecided},
		{"facts.marks != facts.a", Kept},
		{"facts.marks != '\u00e9'", Undecided},
		{"facts.sep != ','", Kept},
		{"facts.tab != ' '", Kept},
		{"facts.blank != ''", Undecided},
		{"facts.hidden != ''", Undecided},
	} {
		out := mustCompile(t, &rule.Check{CEL: c.cel}).Run(t.Context(), Prepare(s))
		if out.Result != c.want || c.want == Undecided && !strings.Contains(out.Reason, "may mean the same") {
			t.Errorf("%s: %v (%s), want %v", c.cel, out.Result, out.Reason, c.want)
		}
	}
}

// TestLinesAndWordsAreMeantAsTheyAreWritten compares lines of files and words of commands, in which blanks and escapes have a meaning.
func TestLinesAndWordsAreMeantAsTheyAreWritten(t *testing.T) {
	s := &subject.Subject{Action: `echo " . " -x && grep '\x2e' > " out"`, Files: []diff.File{codeChange("a.txt", "+    pass\n+x = 1 \n")}}
	s.Facts = map[string]any{"word": "."}
	for _, c := range []struct {
		cel  string
		want Result
	}{
		{"!diff.files.exists(f, f.added.exists(l, l.text == 'pass'))", Kept},
		{"!diff.files.exists(f, f.added.exists(l, l.text in ['pass', 'x = 1']))", Kept},
		{"diff.files.exists(f, f.added.exists(l, l.text in ['pass', '    pass']))", Kept},
		{"!diff.files.exists(f, f.added.exists(l, l.text == 'x = 1 '))", Broken},
		{"!commands.exists(c, c.words.exists(w, w in ['sh', '.']))", Kept},
		{"!commands.exists(c, '.' in c.words || c.words[0] == '.')", Kept},
		{"commands.exists(c, c.words.exists(w, w == ' . ')) && commands.exists(c, c.args.exists(a, a == '-x'))", Kept},
		{"commands.all(c, c.redirects.all(r, r.target != 'out'))", Kept},
		{"!commands.exists(c, c.words.exists(w, w == facts.word))", Kept},
		{"commands.all(c, c.redirects.all(r, r.path != 'out'))", Undecided},
		{"!diff.files.exists(f, f.added.exists(l, [' pass'].exists(l, l == 'pass')))", Undecided},
	} {
		out := mustCompile(t, &rule.Check{CEL: c.cel}).Run(t.Context(), Prepare(s))
		if out.Result != c.want {
			t.Errorf("%s: %v (%s), want %v", c.cel, out.Result, out.Reason, c.want)
		}
	}
}

// TestHiddenCharactersAreReadWithinBounds has long texts without anything that shows, which many comparisons would read.
func TestHiddenCharactersAreReadWithinBounds(t *testing.T) {
	names := make([]string, 50)
	for i := range names {
		names[i] = "'role" + strings.Repeat("i", i) + "'"
	}
	p := mustCompile(t, &rule.Check{CEL: "!(facts.role in [" + strings.Join(names, ", ") + "])"})
	for _, hidden := range []string{"\u200b", " ", "\u0301", `\u0020`} {
		s := &subject.Subject{Facts: map[string]any{"role": strings.Repeat(hidden, 10<<20/len(hidden)) + "x"}}
		began := time.Now()
		out := p.Run(t.Context(), Prepare(s))
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%q took %v", hidden, took)
		}
		if hidden != "\u0301" && out.Result != Undecided {
			t.Errorf("%q: %v (%s)", hidden, out.Result, out.Reason)
		}
	}
}

// TestTextsAreReadAsFarAsTheyAreEqual compares long texts often, which must not take long.
func TestTextsAreReadAsFarAsTheyAreEqual(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	began := time.Now()
	for range 100_000 {
		if lookAlike("a", long) || lookAlike(long, "aab") {
			t.Fatal("they are taken for alike")
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for _, c := range [][2]string{{"ab", "a b"}, {"ab", "abc"}, {"", "a"}, {`a\`, "a"}} {
		if lookAlike(c[0], c[1]) || lookAlike(c[1], c[0]) {
			t.Errorf("%q and %q are alike", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{"", "  \u200b "}, {" \u200b a", "a"}, {"a\u200b b", "a b \n"}, {`\u0061b`, "ab"}, {"\ufb01x", "fix"}} {
		if !lookAlike(c[0], c[1]) || !lookAlike(c[1], c[0]) {
			t.Errorf("%q and %q are not alike", c[0], c[1])
		}
	}
}

// TestFactsWhoseNamesAreAlikeAreNotKnown has a second fact that programs without regard to letter case may read.
func TestFactsWhoseNamesAreAlikeAreNotKnown(t *testing.T) {
	for _, c := range []struct {
		facts string
		want  Result
	}{
		{`{"amount": 5, "pay": {"amount": 5}}`, Kept},
		{`{"amount": 5, "amounts": 5000, "pay": {"amount": 5, "a_mount": 5000}, "n": [{"x": 1, "y": 1}]}`, Kept},
		{`{"amount": 5000, "pay": {"amount": 5}}`, Broken},
		{`{"amount": 5, "Amount": 5000, "pay": {"amount": 5}}`, Undecided},
		{`{"amount": 5, "amount ": 5000, "pay": {"amount": 5}}`, Undecided},
		{`{"amount": 5, "am\u200bount": 5000, "pay": {"amount": 5}}`, Undecided},
		{`{"amount": 5, "pay": {"amount": 5, "AMOUNT": 5000}}`, Undecided},
		{`{"amount": 5, "pay": {"amount": 5}, "PAY": {"amount": 5000}}`, Undecided},
		{`{"amount": 5, "pay": {"amount": 5, "amoun\u0074\u0301": 1}}`, Kept},
		{`{"amount": 5000, "pay": {"amount": 5, "Amount": 5}}`, Broken}, // the other fact breaks it
		{`{"amount": 5, "pay": {"amount": 5}, "Path": "/a", "PATH": "/b", "l": [{"k": 1, "K": 2}]}`, Kept},
	} {
		for _, cel := range []string{"facts.amount <= 1000 && facts.pay.amount <= 1000", "facts['amount'] <= 1000 && int(facts.pay.amount) <= 1000"} {
			out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(facts(t, c.facts)))
			if out.Result != c.want {
				t.Errorf("%s of %s: %v (%s), want %v", cel, c.facts, out.Result, out.Reason, c.want)
			}
			if out.Result == Undecided && !strings.Contains(out.Reason, "is also named") {
				t.Errorf("%s of %s: because %s", cel, c.facts, out.Reason)
			}
		}
	}
}

// TestANameAloneIsAnotherFact holds what is documented of twins: a fact with the other name alone is another one.
func TestANameAloneIsAnotherFact(t *testing.T) {
	const cel = "!has(facts.amount) || facts.amount <= 1000"
	for text, want := range map[string]Result{`{"Amount": 5000}`: Kept, `{"Amount": 5000, "amount": 5}`: Undecided} {
		if out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(facts(t, text))); out.Result != want {
			t.Errorf("%s: %v (%s), want %v", text, out.Result, out.Reason, want)
		}
	}
}

// TestNamesOfFactsAreFolded holds which names count as one.
func TestNamesOfFactsAreFolded(t *testing.T) {
	for _, c := range [][2]string{
		{"\u03c3\u03c2", "\u03a3\u03a3"}, {"ma\u00dfe", "MASSE"}, {"ma\u1e9ee", "masse"}, {"jos\u00e9", "JOSE\u0301"}, {"k", "\u212a"}, {" a\u200b", "A"},
	} {
		if a, b := foldedName(c[0]), foldedName(c[1]); a != b {
			t.Errorf("%q and %q are %q and %q", c[0], c[1], a, b)
		}
	}
	if foldedName("jos\u00e9") == foldedName("jose") {
		t.Error("an accent does not count")
	}
}

// TestBackslashesReadTheSameEverywhere holds that an escaped backslash begins no escape, in lines and in comparisons.
func TestBackslashesReadTheSameEverywhere(t *testing.T) {
	for text, want := range map[string]string{
		`\\x41`: `\\x41`, `\x41`: "A", `\\\x41`: `\\A`, `\u0065val\`: `eval\`, `a\\`: `a\\`, `\q\x41`: `\qA`, `C:\x64\bin`: `C:d\bin`,
	} {
		if got := unescaped(text); got != want || plain(text) != (text == want) {
			t.Errorf("%s reads as %s (plain: %v), want %s", text, got, plain(text), want)
		}
		if got := lookAlike(text, want); text != want && !got {
			t.Errorf("%s and %s are not alike", text, want)
		}
	}
	if lookAlike(`\\x41`, `\A`) || lookAlike(`a\\x41`, `a\A`) {
		t.Error("an escaped backslash begins an escape")
	}
}
