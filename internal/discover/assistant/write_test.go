package assistant_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tenet/internal/discover/assistant"
	"tenet/internal/discover/source"
	"tenet/internal/proptest"
	"tenet/internal/rule"
)

// said is what an export keeps of a rule.
type said struct {
	Statement  string
	Modality   rule.Modality
	Severity   rule.Severity
	Scope      []string
	Tags       []string
	Exceptions []string
	Rationale  string
	AppliesTo  *rule.AppliesTo
}

func read(t interface{ Fatalf(string, ...any) }, files map[string][]byte) []source.Found {
	var list []source.File
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !(assistant.Reader{}).Reads(path) {
			t.Fatalf("the reader does not read %s, which the writer made", path)
		}
		list = append(list, source.File{Path: path, Content: files[path]})
	}
	found, problems := assistant.Reader{}.Read(context.Background(), list)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return found
}

func sortSaid(list []said) []said {
	slices.SortFunc(list, func(a, b said) int { return strings.Compare(key(a), key(b)) })
	return list
}

func key(s said) string {
	k := s.Statement + string(s.Modality+"|") + string(s.Severity) + strings.Join(s.Scope, "|") + strings.Join(s.Tags, "|") + strings.Join(s.Exceptions, "|") + s.Rationale
	if a := s.AppliesTo; a != nil {
		k += strings.Join(slices.Concat(a.Paths, a.ExcludePaths, a.Repositories, a.Kinds, a.Tools), "|")
	}
	return k
}

func sayRule(r rule.Rule) said {
	r.Normalize()
	if a := r.AppliesTo; a != nil {
		r.AppliesTo = &rule.AppliesTo{Paths: none(a.Paths), ExcludePaths: none(a.ExcludePaths), Repositories: none(a.Repositories), Kinds: none(a.Kinds), Tools: none(a.Tools)}
	}
	return said{r.Statement, r.Modality, r.Severity, none(r.Scope), none(r.Tags), none(r.Exceptions), r.Rationale, r.AppliesTo}
}

func sayFound(f source.Found) said {
	return said{f.Statement, f.Modality, f.Severity, none(f.Scope), none(f.Tags), none(f.Exceptions), f.Rationale, f.AppliesTo}
}

func none(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// Whatever a rule says, each format keeps it.
func TestWriteThenReadGivesTheSameRules(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(drawRule).Filter(valid), 0, 6).Draw(t, "rules")
		format := rapid.SampledFrom(assistant.Formats).Draw(t, "format")
		files, err := assistant.Write(format, rules)
		if err != nil {
			t.Fatalf("write: %v", err)
		}
		var want, got []said
		for _, r := range rules {
			want = append(want, sayRule(r))
		}
		for _, f := range read(t, files) {
			got = append(got, sayFound(f))
		}
		if diff := cmp.Diff(sortSaid(want), sortSaid(got)); diff != "" {
			t.Fatalf("%s: read is not what was written (-want +got):\n%s\n%s", format, diff, files)
		}
	})
}

// texts are what statements are made of: words, and what could be taken for marks of the file.
var texts = []string{
	"Never log secrets", "use", "the API", "\n", "\n\n", "- item", "  ", "```go\nx := 1\n```", "`[MUST HIGH]`", "# Heading", "<!-- note -->", "`code`",
	"Except: x", "---", "~~~", "\r\n", "\t", "\\", "\"quoted\"", "über", "| a | b |", "1. one", "> quote", "*bold*", "{{x}}", "text:", "\u2028", "\u0085", "[", "]`", ".",
}

func drawText(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(texts), rapid.StringN(1, 8, -1)), 1, 6).Draw(t, label)
	s := strings.TrimSpace(strings.ReplaceAll(strings.Join(parts, " "), "\x00", ""))
	if s == "" {
		return "x"
	}
	return s
}

func drawList(t *rapid.T, label string, values ...string) []string {
	return rapid.SliceOfNDistinct(rapid.OneOf(rapid.SampledFrom(values), rapid.StringMatching(`[a-z*/,{} "'\\.#!&-]{0,6}[a-z]`)), 0, 3, func(s string) string { return strings.Trim(strings.TrimSpace(s), "/") }).Draw(t, label)
}

// valid reports whether a rule could be stored: an export holds no others.
func valid(r rule.Rule) bool {
	r.Normalize()
	return r.Validate() == nil
}

func drawRule(t *rapid.T) rule.Rule {
	r := rule.Rule{
		Statement: drawText(t, "statement"), Modality: rapid.SampledFrom(rule.Modalities).Draw(t, "modality"),
		Severity: rapid.SampledFrom(rule.Severities).Draw(t, "severity"), Slug: rapid.SampledFrom([]string{"", "SEC-003", "a.b"}).Draw(t, "slug"),
		Scope: drawList(t, "scope", "*", "finance/payments", "a b"), Tags: drawList(t, "tags", "security", "two words", "a,b"),
	}
	if rapid.Bool().Draw(t, "excepted") {
		r.Exceptions = []string{drawText(t, "exception")}
	}
	if rapid.Bool().Draw(t, "explained") {
		r.Rationale = drawText(t, "rationale")
	}
	if rapid.Bool().Draw(t, "narrowed") {
		r.AppliesTo = &rule.AppliesTo{
			Paths: drawList(t, "paths", "src/**", "*.go", "**/*.{ts,tsx}", "**", "/docs/"), ExcludePaths: drawList(t, "exclude", "vendor/**"),
			Repositories: drawList(t, "repositories", "acme/*"), Kinds: drawList(t, "kinds", "code_change", "transaction"),
			Tools: drawList(t, "tools", "filesystem/write_*", "push"),
		}
	}
	return r
}

// The files are meant to be read by people and assistants, too.
func TestWriteIsReadable(t *testing.T) {
	rules := []rule.Rule{
		{Statement: "Payments above 10000 need a second approver.", Severity: rule.Critical, Scope: []string{"finance/payments"}, Slug: "PAY-001"},
		{Statement: "Do not log secrets.", Modality: rule.MustNot, Severity: rule.High, Exceptions: []string{"Test keys."}, Rationale: "Logs are copied."},
		{Statement: "Prefer table-driven tests.", Modality: rule.Should, Severity: rule.Low, AppliesTo: &rule.AppliesTo{Paths: []string{"**/*_test.go"}}},
	}
	files, err := assistant.Write(assistant.AgentsMD, rules)
	if err != nil {
		t.Fatal(err)
	}
	want := "# Rules\n\n<!-- Written by `tenet rules export`: change the rules there. -->\n\n" +
		"The tag behind a rule tells how binding it is and how much a violation matters.\n\n## Everywhere\n\n" +
		"- Do not log secrets. `[MUST_NOT HIGH]`\n  - Except: Test keys.\n  - Why: Logs are copied.\n" +
		"- Prefer table-driven tests. `[SHOULD LOW paths:**/*_test.go]`\n\n## finance/payments\n\n" +
		"- Payments above 10000 need a second approver. `[MUST CRITICAL PAY-001 scope:finance/payments]`\n"
	if diff := cmp.Diff(want, string(files["AGENTS.md"])); diff != "" || len(files) != 1 {
		t.Errorf("AGENTS.md (-want +got):\n%s", diff)
	}
	found := read(t, files)
	if f := found[2]; f.Line != 16 || f.EndLine != 16 || f.Section != "Rules > finance/payments" || !strings.Contains(f.Note, "PAY-001") || f.Confidence != 1 {
		t.Errorf("found %+v", f)
	}
}

// Cursor and Copilot read globs from front matter, so rules for some files stand in files of their own.
func TestWriteSplitsByGlobs(t *testing.T) {
	rules := []rule.Rule{
		{Statement: "Use strict mode.", AppliesTo: &rule.AppliesTo{Paths: []string{"**/*.ts", "web/**"}}},
		{Statement: "Keep the licence header."},
	}
	for format, want := range map[assistant.Format]map[string]string{
		assistant.Cursor:  {".cursor/rules/tenet.mdc": "alwaysApply: true\n", ".cursor/rules/tenet-ts-web.mdc": "globs: \"**/*.ts,web/**\"\nalwaysApply: false\n"},
		assistant.Copilot: {".github/copilot-instructions.md": "# Rules\n", ".github/instructions/tenet-ts-web.instructions.md": "applyTo: \"**/*.ts,web/**\"\n"},
	} {
		files, err := assistant.Write(format, rules)
		if err != nil || len(files) != 2 {
			t.Fatalf("%s: %d files, %v", format, len(files), err)
		}
		for prefix, text := range want {
			found := false
			for path, content := range files {
				found = found || strings.HasPrefix(path, prefix) && strings.Contains(string(content), text)
			}
			if !found {
				t.Errorf("%s: no file %s with %q in %s", format, prefix, text, files)
			}
		}
	}
	if _, err := assistant.Write("word", rules); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("an unknown format gives %v", err)
	}
}

// Files of different globs have different names, which people can read.
func TestWriteNamesFilesReadably(t *testing.T) {
	var rules []rule.Rule
	for _, globs := range [][]string{nil, {"src/**/*.py"}, {"src/*.py"}, {"é/**"}} {
		rules = append(rules, rule.Rule{Statement: "Rule for " + strings.Join(globs, ","), AppliesTo: &rule.AppliesTo{Paths: globs}})
	}
	files, err := assistant.Write(assistant.Cursor, rules)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(files))
	want := []string{"tenet-files.mdc", "tenet-src-py.mdc", "tenet-src-py_2.mdc", "tenet.mdc"}
	for i := range want {
		want[i] = ".cursor/rules/" + want[i]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if again, _ := assistant.Write(assistant.Cursor, rules); !maps.EqualFunc(files, again, bytes.Equal) {
		t.Error("the same rules give other files")
	}
}

// The order that rules come in does not matter, so that an export changes only when rules do.
func TestWriteIsStable(t *testing.T) {
	a := rule.Rule{ID: "1", Statement: "One.", Slug: "A-1"}
	b := rule.Rule{ID: "2", Statement: "Two.", Slug: "A-2"}
	one, _ := assistant.Write(assistant.ClaudeMD, []rule.Rule{a, b})
	two, _ := assistant.Write(assistant.ClaudeMD, []rule.Rule{b, a})
	if string(one["CLAUDE.md"]) != string(two["CLAUDE.md"]) {
		t.Errorf("another order gives another file:\n%s\n%s", one["CLAUDE.md"], two["CLAUDE.md"])
	}
}

// Files stay within a size by leaving out the least severe rules, and say so; their names begin with the globs that they are for.
func TestWriteWithin(t *testing.T) {
	t.Parallel()
	var rules []rule.Rule
	for i := range 200 {
		r := rule.Rule{ID: fmt.Sprint(i), Slug: fmt.Sprintf("R-%d", i), Statement: fmt.Sprintf("Thing %d must be done well.", i), Severity: rule.Severities[i%4]}
		r.AppliesTo = &rule.AppliesTo{Paths: []string{"src/**/*.py"}}
		rules = append(rules, r)
	}
	for _, f := range assistant.Formats {
		all, left, err := assistant.WriteWithin(f, rules, 1<<20)
		if err != nil || left != 0 {
			t.Fatalf("%s: %d, %v", f, left, err)
		}
		for path, content := range all {
			if bytes.Contains(content, []byte("Left out")) || (f == assistant.Cursor || f == assistant.Copilot) && !strings.Contains(path, "tenet-src-py.") {
				t.Errorf("%s: %s", path, content[len(content)-200:])
			}
		}
		some, left, err := assistant.WriteWithin(f, rules, 6000)
		if err != nil || left < 50 || left > 190 {
			t.Fatalf("%s: %d, %v", f, left, err)
		}
		for path, content := range some {
			if len(content) > 6000 || len(content) < 5500 || !bytes.Contains(content, []byte("CRITICAL")) || bytes.Contains(content, []byte("LOW")) ||
				!bytes.Contains(content, fmt.Appendf(nil, "%d of 200 rules", left)) {
				t.Errorf("%s: %d bytes, %d left out\n%s", path, len(content), left, content)
			}
		}
		if _, _, err := assistant.WriteWithin(f, rules, 50); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %v", f, err)
		}
	}
}
