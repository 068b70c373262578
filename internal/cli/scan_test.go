package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// textFiles reads Markdown and PDF.
type textFiles struct{ source.Reader }

func (textFiles) Reads(path string) bool {
	return strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".pdf")
}

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestScanGathersWhatGitDoesNotIgnore(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"a.md": "a", "docs/b.md": "b", "c.go": "c", ".gitignore": "# not these\n*.tmp.md\n/out/\nlogs/**\n!logs/keep.md\n", "x.tmp.md": "x", "out/o.md": "o", "logs/l.md": "l", "logs/keep.md": "k",
		"sub/.gitignore": "/own.md\n", "sub/own.md": "x", "sub/out/o.md": "o", "sub/own/own.md": "y", "node_modules/n.md": "n", "big.md": strings.Repeat("x", maxScanFile+1),
		"bin.md": "\x00", "p.pdf": "%PDF", "latin.md": "caf\xe9", "empty.md": "",
	})
	want := map[string]string{
		"a.md": "a", "docs/b.md": "b", "logs/keep.md": "k", "sub/out/o.md": "o", "sub/own/own.md": "y", "latin.md": "caf\ufffd",
	}
	check := func(what string, want map[string]string) {
		t.Helper()
		got, err := gather(t.Context(), dir, []source.Reader{textFiles{}}, exclude.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.files); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		var left []string
		for _, l := range got.left {
			left = append(left, l.File)
		}
		if diff := cmp.Diff([]string{"big.md", "bin.md", "p.pdf"}, left); diff != "" {
			t.Errorf("%s: left out (-want +got):\n%s", what, diff)
		}
	}
	check("without a repository", want)
	if out, err := exec.Command("git", "-C", dir, "init", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	check("in a repository", want)
	outside := t.TempDir()
	hook, ran := filepath.Join(outside, "hook"), filepath.Join(outside, "ran")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "a.md"}, {"config", "core.fsmonitor", hook}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	check("in a repository that names a program", want)
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program that the settings of the repository name was run")
	}
}

func TestScanPartsHoldAllFiles(t *testing.T) {
	a := artifacts{files: map[string]string{}}
	for i := range 5 {
		a.files[fmt.Sprint(i)] = strings.Repeat("\x01", maxScanPart/12) // six bytes each as JSON
	}
	parts := a.parts()
	if len(parts) != 5 && len(parts) != 3 {
		t.Errorf("%d parts", len(parts))
	}
	all := map[string]string{}
	for _, p := range parts {
		size := 0
		for name, text := range p {
			size += jsonSize(name) + jsonSize(text)
		}
		if size > maxScanPart+16 {
			t.Errorf("a part has %d bytes", size)
		}
		maps.Copy(all, p)
	}
	if diff := cmp.Diff(a.files, all); diff != "" {
		t.Error("files are lost between parts")
	}
	two := halves(map[string]string{"a": "1", "b": "2", "c": "3"})
	if len(two) != 2 || len(two[0]) == 0 || len(two[1]) == 0 || len(two[0])+len(two[1]) != 3 {
		t.Errorf("halves: %v", two)
	}
}

// FuzzIgnore reads .gitignore files that anybody may have written.
func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!keep.log\n/out/\n**/x\n", "a/b.log")
	f.Add("[\n\\\n{a,b}\n!\n/\n", "a")
	f.Fuzz(func(t *testing.T, text, path string) {
		ignores(map[string][]ignore{".": parseIgnore(text)}, strings.Trim(path, "/")+"x", false)
	})
}

// What is exported as instructions and scanned again is the same rules.
func TestExportAndScanGiveTheSameRules(t *testing.T) {
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	text := `rules:
  - {slug: A-1, statement: "Payments above 10 EUR need a second person.", severity: CRITICAL, scope: [finance/pay], tags: [money], status: EFFECTIVE, exceptions: [Tests.]}
  - {slug: A-2, statement: Never commit secrets., modality: MUST_NOT, severity: HIGH, status: EFFECTIVE, applies_to: {paths: ["**/*.go"]}}
  - {slug: A-3, statement: Prefer short functions., modality: SHOULD, severity: LOW, status: APPROVED, rationale: They are read more often.}
  - {slug: A-4, statement: A draft is no instruction., severity: LOW}
`
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"TENET_DATA=" + filepath.Join(dir, "data"), "TENET_NO_SEED=true"}
	ok := func(args ...string) string {
		t.Helper()
		code, out, errs := runIn(t.Context(), t, "", environ, args...)
		if code != 0 {
			t.Fatalf("tenet %s: %d %s", strings.Join(args, " "), code, errs)
		}
		return out
	}
	ok("rules", "apply", rules, "--yes")
	if plan := ok("rules", "apply", rules, "--yes"); !strings.Contains(plan, "No changes: 4 rules are as the files say.") {
		t.Errorf("rules that are there already: %s", plan)
	}
	for _, folder := range []string{"out[", "app/[slug]"} { // the name of a folder is no pattern
		out := filepath.Join(dir, folder)
		ok("rules", "export", "--format", "cursor", "-o", out)
		older := filepath.Join(out, ".cursor", "rules", "tenet-older.mdc")
		put(t, older, string(written))
		if code, _, errs := runIn(t.Context(), t, "", environ, "rules", "export", "--format", "cursor", "-o", out); code != 0 || !strings.Contains(errs, older+" is of an earlier export") {
			t.Errorf("a second export into %s: %d %s", folder, code, errs)
		}
	}
	for _, format := range []string{"agents.md", "cursor"} {
		out := filepath.Join(dir, "out-"+format)
		ok("rules", "export", "--format", format, "-o", out)
		ok("rules", "export", "--format", format, "-o", out) // over its own files
		var report scanReport
		answer := ok("scan", out, "--format", "json", "--repository", format, "--sources", "assistant_md")
		if err := json.Unmarshal([]byte(answer), &report); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range report.Candidates {
			m := c.SuggestedMetadata
			paths := []string{}
			if m.AppliesTo != nil {
				paths = m.AppliesTo.Paths
			}
			got[c.Statement] = fmt.Sprint(m.Modality, " ", m.Severity, " ", m.Scope, " ", m.Exceptions, " ", paths, " ", m.Rationale)
			if !slices.Contains(m.Tags, "money") && m.Scope != "" || len(c.SimilarRules) == 0 || c.SimilarRules[0].Similarity != 1 {
				t.Errorf("%s: %+v", format, c)
			}
		}
		want := map[string]string{
			"Payments above 10 EUR need a second person.": fmt.Sprint(rule.Must, " critical finance/pay [Tests.] [] "),
			"Never commit secrets.":                       fmt.Sprint(rule.MustNot, " high  [] [**/*.go] "),
			"Prefer short functions.":                     fmt.Sprint(rule.Should, " low  [] [] They are read more often."),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Mine."), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runIn(t.Context(), t, "", environ, "rules", "export", "--format", "agents.md", "-o", dir); code != 2 || !strings.Contains(errs, "--force") {
		t.Errorf("writing over a file of somebody else: %d %s", code, errs)
	}
	if code, _, errs := runIn(t.Context(), t, "", environ, "rules", "export", "--format", "cursor"); code != 2 || !strings.Contains(errs, "--output") {
		t.Errorf("two files on one output: %d %s", code, errs)
	}
}

// YAML has the figures of a scan under result.
func TestScanAsYAML(t *testing.T) {
	var b strings.Builder
	if err := printYAML(&b, wire.Scan{ScanResult: wire.ScanResult{Files: 3}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "result:\n  files: 3\n") {
		t.Errorf("got\n%s", b.String())
	}
}
