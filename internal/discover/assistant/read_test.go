package assistant_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/discover/assistant"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

func readText(path, text string) ([]source.Found, []source.Problem) {
	return assistant.Reader{}.Read(context.Background(), []source.File{{Path: path, Content: []byte(text)}})
}

// Files are told by their names.
func TestReads(t *testing.T) {
	for path, want := range map[string]bool{
		"CLAUDE.md": true, "AGENTS.md": true, "web/agents.md": true, "GEMINI.md": true, "CONVENTIONS.md": true, ".cursorrules": true, ".windsurfrules": true,
		".cursor/rules/go.mdc": true, "web/.cursor/rules/old.md": true, ".github/copilot-instructions.md": true, ".github/instructions/go.instructions.md": true,
		"pr_compliance_checklist.yaml": true, "README.md": false, "docs/rules.md": false, "policy.yaml": false, "cursorrules": false, "agents.md/x.md": false,
		".claude/skills/tdd/SKILL.md": true, "REVIEW.md": true, "docs/review.md": false, "docs/skill.md": false, "docs/agents.md": false, "docs/AGENTS.md": true, "site/guides/conventions.md": false,
	} {
		if got := (assistant.Reader{}).Reads(path); got != want {
			t.Errorf("Reads(%s) = %v", path, got)
		}
	}
}

// The path of a file, its front matter and its headings say what its rules apply to.
func TestAppliesTo(t *testing.T) {
	const body = "\n- Use tabs\n"
	paths := func(globs ...string) *rule.AppliesTo { return &rule.AppliesTo{Paths: globs} }
	tests := []struct {
		path, text string
		want       *rule.AppliesTo
	}{
		{"AGENTS.md", body, nil},
		{"web/app/AGENTS.md", body, paths("web/app/**")},
		{".claude/skills/tdd/SKILL.md", "---\nname: tdd\ndescription: x\n---" + body, nil},
		{"we[b]/CLAUDE.md", body, paths(`we\[b\]/**`)},
		{".cursor/rules/a.mdc", "---\nglobs: **/*.ts, src/**/*.{js,jsx}\n---" + body, paths("**/*.ts", "src/**/*.{js,jsx}")},
		{".cursor/rules/a.mdc", "---\nglobs: [\"*.py\", 'a b/**']\nalwaysApply: false\n---" + body, paths("*.py", "a b/**")},
		{".cursor/rules/a.mdc", "---\r\nglobs:\r\n  - \"*.py\"\r\n  - !gen/**\r\n---\r\n- Use tabs\r\n", &rule.AppliesTo{Paths: []string{"*.py"}, ExcludePaths: []string{"gen/**"}}},
		{".cursor/rules/a.mdc", "---\nglobs: *.py\nalwaysApply: true\n---" + body, nil},
		{".cursor/rules/a.mdc", "---\nglobs: **/*\n---" + body, nil},
		{"web/.cursor/rules/a.mdc", "---\nglobs: \"*.ts,/lib/**\"\n---" + body, paths("web/**/*.ts", "web/lib/**")},
		{".github/instructions/a.instructions.md", "---\ndescription: 'x'\napplyTo: '**/*.yaml, **/*.yml'\n---" + body, paths("**/*.yaml", "**/*.yml")},
		{"collected/rules/a.mdc", "---\ndescription: x\n---" + body, nil},
		{"AGENTS.md", "## TypeScript style" + body, paths("**/*.ts", "**/*.tsx")},
		{"AGENTS.md", "## Working in `internal/api`" + body, paths("internal/api/**")},
		{"AGENTS.md", "## Go away" + body, nil},
		{"web/AGENTS.md", "## Python" + body, paths("web/**")},
	}
	for _, test := range tests {
		found, problems := readText(test.path, test.text)
		if len(found) != 1 || len(problems) > 0 {
			t.Errorf("%s %q: found %+v, problems %v", test.path, test.text, found, problems)
			continue
		}
		if diff := cmp.Diff(test.want, found[0].AppliesTo); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", test.path, test.text, diff)
		}
	}
}

// Front matter that lies is told, and does not stop the rest.
func TestFrontMatterThatLies(t *testing.T) {
	found, problems := readText("a.mdc", "---\nglobs: [\"src/[a\", "+strings.Repeat("x", 300)+"]\n---\n- Use tabs\n")
	if len(found) != 1 || found[0].AppliesTo != nil || !strings.Contains(found[0].Note, "2 globs") || found[0].Line != 4 {
		t.Errorf("found %+v", found)
	}
	if len(problems) != 1 || problems[0].Line != 2 {
		t.Errorf("problems %+v", problems)
	}
	for _, globs := range []string{"../**", "src/../../*.go", "{}", "&a [*.go]", "{a: b}"} {
		found, problems = readText("web/.cursor/rules/a.mdc", "---\nglobs: "+globs+"\n---\n- Use tabs\n")
		if len(found) != 1 || strings.Join(found[0].AppliesTo.Paths, " ") != "web/**" || !strings.Contains(found[0].Note, "1 glob") || len(problems) != 1 {
			t.Errorf("%s: found %+v, problems %v", globs, found, problems)
		}
	}
	found, problems = readText("a.mdc", "---\na: &a [*a, *a]\nglobs: *a\n- Use tabs\n") // never closed
	if len(found) != 1 || found[0].Line != 4 || len(problems) > 0 {
		t.Errorf("found %+v, problems %v", found, problems)
	}
	found, problems = readText(strings.Repeat("x", 300)+"/AGENTS.md", "- Use tabs\n")
	if len(found) != 1 || found[0].AppliesTo != nil || !strings.Contains(found[0].Note, "folder") || len(problems) != 1 {
		t.Errorf("found %+v, problems %v", found, problems)
	}
	found, _ = readText("a.mdc", "---\ndescription: For reviews of the shop\n---\n- Use tabs\n")
	if len(found) != 1 || !strings.Contains(found[0].Note, "For reviews of the shop") {
		t.Errorf("found %+v", found)
	}
}

// A tag says what the wording does not. What carries one is read once, and not where it only shows how.
func TestTagsByHand(t *testing.T) {
	found, _ := readText("AGENTS.md", "# Rules\n\nUse tabs.\n\n- Payments need a second\n  approver. `[MUST CRITICAL scope:finance tags:money,\"two words\"]`\n"+
		"  - Except: refunds.\n\n```md\n- Use spaces. `[MUST HIGH]`\n```\n- Keep `x`[1] `[MAYBE HIGH]`\n")
	if len(found) != 3 {
		t.Fatalf("found %+v", found)
	}
	f := found[1]
	want := source.Found{
		Kind: wire.AssistantMD, Statement: "Payments need a second\napprover.", Modality: rule.Must, Severity: rule.Critical, Scope: []string{"finance"},
		Tags: []string{"money", "two words"}, Exceptions: []string{"refunds."}, File: "AGENTS.md", Line: 5, EndLine: 6,
		Quote: "- Payments need a second\n  approver. `[MUST CRITICAL scope:finance tags:money,\"two words\"]`", Section: "Rules", Method: "item of a list with a tag", Confidence: 1,
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found[0].Line != 3 || found[2].Line != 12 || !strings.HasPrefix(found[2].Statement, "Keep") {
		t.Errorf("found %+v", found)
	}
}

const checklist = `# what every change keeps
pr_compliances:
  - title: Errors
    compliance_label: true
    objective: "Calls of other services must not lose errors"
    success_criteria: Errors are returned.
    failure_criteria: |
      An error is dropped,
      or only logged
  - title: "Docs should follow the code"
  - compliance_label: false
`

// Every item of a checklist is a rule.
func TestChecklist(t *testing.T) {
	found, problems := readText("pr_compliance_checklist.yaml", checklist)
	if len(found) != 2 || len(problems) > 0 {
		t.Fatalf("found %+v, problems %v", found, problems)
	}
	f := found[0]
	if f.Statement != "Calls of other services must not lose errors" || f.Modality != rule.MustNot || f.Line != 3 || f.EndLine != 9 || f.Section != "Errors" ||
		f.Rationale != "Kept when: Errors are returned. Broken when: An error is dropped, or only logged." || !strings.HasPrefix(f.Quote, "  - title: Errors\n") {
		t.Errorf("found %+v", f)
	}
	if f := found[1]; f.Statement != "Docs should follow the code" || f.Modality != rule.Should || f.Line != 10 || f.EndLine != 10 {
		t.Errorf("found %+v", f)
	}
	for text, want := range map[string]string{
		"a: &a\n- title: *a\n":                      "anchors",
		"a: [" + strings.Repeat("[", 40):            "nested too deeply",
		"title: [":                                  "not YAML",
		"title: x":                                  "no list",
		strings.Repeat("a:\n", 80_000):              "more than 5000 keys",
		"a: " + strings.Repeat("x", 300<<10) + "\n": "larger",
	} {
		found, problems := readText("pr_compliance_checklist.yml", text)
		if len(found) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Reason, want) {
			t.Errorf("%.40q: found %v, problems %v, want %q", text, found, problems, want)
		}
	}
}

// A tag that asks for what no rule can have is told, and its item is not a rule.
func TestTagThatGivesNoRule(t *testing.T) {
	found, problems := readText("AGENTS.md", "- Use tabs `[MUST HIGH tags:"+strings.Repeat("x", 300)+"]`\n")
	if len(found) > 0 || len(problems) != 1 || problems[0].Line != 1 || !strings.Contains(problems[0].Reason, "tags") {
		t.Errorf("found %v, problems %v", found, problems)
	}
}

func TestBinaryIsAProblem(t *testing.T) {
	found, problems := readText("CLAUDE.md", "- Use\x00tabs")
	if len(found) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Reason, "binary") {
		t.Errorf("found %v, problems %v", found, problems)
	}
}

// Files come in the order they were given, and rules in the order of lines.
func TestOrder(t *testing.T) {
	files := []source.File{{Path: "b/CLAUDE.md", Content: []byte("- Use tabs\n- Write tests `[MUST LOW]`\n- Keep it short\n")}, {Path: "AGENTS.md", Content: []byte("- Use tabs\n")}}
	found, _ := assistant.Reader{}.Read(context.Background(), files)
	var got []string
	for _, f := range found {
		got = append(got, f.File+" "+f.Statement)
	}
	if want := []string{"b/CLAUDE.md Use tabs", "b/CLAUDE.md Write tests", "b/CLAUDE.md Keep it short", "AGENTS.md Use tabs"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if found, _ := (assistant.Reader{}).Read(ctx, files); len(found) > 0 {
		t.Errorf("a scan that was called off found %v", found)
	}
}

// FuzzRead holds that whatever the file, what is found is a valid rule that stands where it is said to stand.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"- Use tabs `[MUST HIGH A-1 scope:a,\"b c\" paths:**/*.go]`\n  - Except: x\n", "---\nglobs: {{{,}}}\n---\nNever log.", checklist, "\ufeff- Never\r\n  do it\r\n",
		"> - Must:\n>   1. not\n\n~~~\n- x\n~~~\n| a | must not |\n", "\xff\xfeM\x00u\x00s\x00t\x00", "***`[a](b<!--\n\"must\" (not; and must. Must",
		"- a: &a *a\n", "Title\n---\n❌ Use x\n\n\tcode must\n", "[[[[](((( \\ must be ` and must never `` `",
	} {
		for kind := range 3 {
			f.Add(kind, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		path := []string{"a/AGENTS.md", ".cursor/rules/x.mdc", "pr_compliance_checklist.yaml"}[uint(kind)%3]
		found, _ := assistant.Reader{}.Read(context.Background(), []source.File{{Path: path, Content: data}})
		for _, c := range found {
			checkFound(t, c, data)
		}
	})
}

// checkFound holds what every candidate keeps.
func checkFound(t *testing.T, c source.Found, data []byte) {
	t.Helper()
	if lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1; c.Line < 1 || c.EndLine < c.Line || c.EndLine > lines {
		t.Fatalf("lines %d to %d of %d: %+v", c.Line, c.EndLine, lines, c)
	}
	if c.Confidence <= 0 || c.Confidence > 1 || c.Method == "" || c.Quote == "" || utf8.RuneCountInString(c.Quote) > 2000 {
		t.Fatalf("confidence, method or quote: %+v", c)
	}
	r := rule.Rule{
		Statement: c.Statement, Modality: c.Modality, Severity: c.Severity, Scope: c.Scope, Tags: c.Tags, Exceptions: c.Exceptions, AppliesTo: c.AppliesTo,
		Rationale: c.Rationale, SourceRefs: []rule.SourceRef{{Kind: "document", URI: "x", Section: c.Section, Quote: c.Quote}},
	}
	r.Normalize()
	if err := r.Validate(); err != nil {
		t.Fatalf("%v: %+v", err, c)
	}
}
