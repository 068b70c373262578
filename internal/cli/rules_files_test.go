package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenet/internal/rule"
)

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, path, content)
	}
	return dir
}

func TestFolderIsReadInPathOrderWithoutHiddenFiles(t *testing.T) {
	dir := folder(t, map[string]string{
		"b.yaml":          "rules: [{slug: B-1, statement: b}]",
		"a/z.yml":         "defaults: {severity: LOW, tags: [x]}\nrules: [{slug: A-1, statement: a, tags: [y]}, {slug: A-2, statement: a}]",
		"c.json":          `{"rules": [{"slug": "C-1", "statement": "c"}]}`,
		".git/x.yaml":     "no: [",
		".hidden.yaml":    "no: [",
		"README.md":       "# no",
		"a/.more/y.yaml":  "no: [",
		"nested/d/e.YAML": "rules: [{slug: E-1, statement: e}]",
	})
	files, err := loadRules(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	joined, err := files.join()
	if err != nil {
		t.Fatal(err)
	}
	var slugs []string
	for _, in := range joined.Rules {
		slugs = append(slugs, *in.Slug)
	}
	if want := []string{"A-1", "A-2", "B-1", "C-1", "E-1"}; !slices.Equal(slugs, want) {
		t.Errorf("rules are %v, want %v", slugs, want)
	}
	if a := joined.Rules[0]; a.Severity != rule.Low || !slices.Equal(a.Tags, []string{"x", "y"}) {
		t.Errorf("defaults of the first file are not applied: %+v", a)
	}
	if b := joined.Rules[2]; b.Severity != "" || b.Tags != nil {
		t.Errorf("defaults of one file reach the rules of another: %+v", b)
	}
}

func TestRuleFileErrorsNameTheFile(t *testing.T) {
	dir := folder(t, map[string]string{"good.yaml": "rules: []", "wrong.yaml": "rules: [{sluggish: x}]"})
	if _, err := loadRules(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), "wrong.yaml") || !strings.Contains(err.Error(), "sluggish") {
		t.Errorf("error is %v, want the file and the key", err)
	}
	if _, err := loadRules(t.Context(), folder(t, nil), nil); err == nil || !strings.Contains(err.Error(), "no rule files") {
		t.Errorf("empty folder gives %v", err)
	}
	if _, err := loadRules(t.Context(), filepath.Join(dir, "missing.yaml"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file gives %v", err)
	}
}

func TestErrorsOfJoinedFilesNameFileAndPlace(t *testing.T) {
	dir := folder(t, map[string]string{
		"1.yaml": "rules: [{slug: A, statement: a}, {slug: B, statement: b}]",
		"2.yaml": "rules: [{slug: C, statement: c}]",
	})
	files, err := loadRules(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var p rule.Problems
	p.Add("rules[2].check.cel", `has the same slug as rules[1]`)
	p.Add("rules[99].statement", "is beyond all files")
	p.Add("defaults", "is no rule")
	e, ok := errors.AsType[*rule.Error](files.locate(p.Err("invalid")))
	if !ok {
		t.Fatal("the error has lost its type")
	}
	want := []rule.FieldError{
		{Field: filepath.Join(dir, "2.yaml") + ":1:10: rules[0].check.cel", Message: "has the same slug as " + filepath.Join(dir, "1.yaml") + ":1:35: rules[1]"},
		{Field: "rules[99].statement", Message: "is beyond all files"},
		{Field: "defaults", Message: "is no rule"},
	}
	if !slices.Equal(e.Fields, want) {
		t.Errorf("fields are %v, want %v", e.Fields, want)
	}
}

func TestEffectiveKeepsAStatusThatIsWritten(t *testing.T) {
	dir := folder(t, map[string]string{
		"1.yaml": "rules: [{slug: A, statement: a}, {slug: B, statement: b, status: DRAFT}]",
		"2.yaml": "defaults: {status: DRAFT}\nrules: [{slug: C, statement: c}]",
	})
	files, err := loadRules(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := files.effective()
	if list[0].Defaults.Status != rule.Effective || list[0].Rules[1].Status != rule.Draft || list[1].Defaults.Status != rule.Draft {
		t.Errorf("defaults are %+v and %+v", list[0].Defaults, list[1].Defaults)
	}
}

func TestDefaultsForOneRuleAreRefusedInAnyFile(t *testing.T) {
	dir := folder(t, map[string]string{
		"1.yaml": "rules: [{slug: A, statement: a}]",
		"2.yaml": "defaults: {slug: X}\nrules: [{slug: C, statement: c}]",
	})
	if _, err := loadRules(t.Context(), dir, nil); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "2.yaml:1:12: defaults.slug") {
		t.Errorf("a slug in defaults gives %v", err)
	}
}

func FuzzPlace(f *testing.F) {
	f.Add("rules[0].x")
	f.Add("rules[99999999999999999999]")
	f.Add("a rules[1] b rules[0]")
	f.Fuzz(func(t *testing.T, field string) {
		r := &ruleFiles{paths: []string{"f"}, files: nil}
		if got := r.place(rule.FieldError{Field: field}); got != field {
			t.Errorf("without files, place(%q) = %q", field, got)
		}
	})
}

// What only the corpus knows is said together with errors of form.
func TestErrorsOfFormComeWithUnknownCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", `rules:
  - {slug: A-1, statement: One must pay., severty: HIGH}
cases:
  - {rule: NO-1, name: unknown, expect: DENY, action: pay}
  - {rule: A-1, name: of this file, expect: DENY, action: pay}
  - {rule: B-1, name: of the other file, expect: DENY, action: pay}
`)
	write("b.yaml", `rules:
  - {slug: B-1, statement: Two must pay., check: {cel: "facts."}}
cases:
  - {rule: NO-2, name: unknown, expect: DENY, action: pay}
`)
	for _, command := range []string{"import", "plan"} {
		code, _, errs := run(t, "", "rules", command, dir, "--data", t.TempDir())
		if code == 0 || strings.Contains(errs, `"A-1", which`) || strings.Contains(errs, `"B-1", which`) {
			t.Errorf("%s exits with %d: %s", command, code, errs)
		}
		for _, want := range []string{"a.yaml:2:43: rules[0].severty", `a.yaml:4:12: cases[0].rule: is "NO-1", which is no rule`, "b.yaml:2:", `b.yaml:4:12: cases[0].rule: is "NO-2", which is no rule`} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s does not say %q: %s", command, want, errs)
			}
		}
	}
}

// A rule that cannot be read may be the one that a case means.
func TestCasesMayNameRulesThatCannotBeRead(t *testing.T) {
	const one = "{slug: A-1, statement: One must pay.}"
	for name, tt := range map[string]struct{ file, fault string }{
		"without a name":          {"rules: [{slugg: A-1, statement: One must pay.}]\n", "slugg"},
		"broken YAML":             {"rules:\n  - " + one + "\n  - {slug: A-2, statement: [\n", "a.yaml"},
		"broken JSON":             {`{"rules": [{"slug": "A-1", "statement": "One must pay."},,]}`, "a.yaml"},
		"two documents":           {"rules: [" + one + "]\n---\nrules: [" + one + "]\n", "more than one YAML document"},
		"an alias":                {"rules: [&one " + one + ", *one]\n", "a.yaml"},
		"rules that are none":     {"rules: {A-1: " + one + "}\n", "a list"},
		"a list alone":            {"- " + one + "\n", "a mapping"},
		"a key that is not known": {"rulez: [" + one + "]\n", "rulez"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"a.yaml": tt.file, "b.yaml": `rules: [{slug: B-1, statement: Two must pay.}]
cases: [{rule: A-1, name: of the other file, expect: DENY, action: pay}]
`})
			_, _, errs := run(t, "", "rules", "plan", dir, "--data", t.TempDir())
			if !strings.Contains(errs, tt.fault) || strings.Contains(errs, "which is no rule") {
				t.Errorf("it says %s", errs)
			}
		})
	}
}
