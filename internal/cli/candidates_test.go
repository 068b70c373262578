package cli

import (
	"archive/zip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrappedKeepsEveryWord(t *testing.T) {
	text := "Payments above 10,000 EUR must be approved by a second person who did not enter them, and " + strings.Repeat("x", 90) + " is one word."
	for _, width := range []int{0, 20, 40, 80, 140, 500} {
		lines := wrapped(text, width)
		for _, l := range lines {
			if width > 0 && utf8.RuneCountInString(l) > width {
				t.Errorf("at %d columns: a line of %d: %q", width, utf8.RuneCountInString(l), l)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := strings.Join(lines, " "); squeeze(got) != squeeze(text) || strings.Contains(got, "…") {
			t.Errorf("at %d columns: %q", width, lines)
		}
	}
	if lines := wrapped("aaa bbb ccc ddd eee fff ggg", 20); !slices.Equal(lines, []string{"aaa bbb ccc ddd eee", "  fff ggg"}) {
		t.Errorf("lines %q", lines)
	}
}

// TestTriageOnTheCommandLine scans an archive and decides on what is found in it.
func TestTriageOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "pay-1.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for path, text := range map[string]string{
		"pay-1/docs/policy.md": "# Payment policy\n\nPayments above 10,000 EUR must be approved by a second person.\n\nCard numbers must not be stored.\n\nReceipts must be kept for ten years.\n",
		"pay-1/manual/use.md":  "# Security policy\n\nPasswords must never be written into a log file of the service.\n",
		"pay-1/link.md":        "x",
	} {
		to, err := w.Create(path)
		if err == nil {
			_, err = to.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	environ := []string{"TENET_DATA=" + filepath.Join(dir, "data"), "TENET_NO_SEED=true"}
	run := func(want int, args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := runIn(t.Context(), t, "", environ, args...)
		if code != want {
			t.Fatalf("tenet %s: exits with %d, %s%s", strings.Join(args, " "), code, out, errs)
		}
		return out, errs
	}
	out, errs := run(0, "scan", name, "--sources", "policy_document")
	if !strings.Contains(out, "Payments above 10,000 EUR must be approved by a second person.\n  ") || !strings.Contains(errs, "4 candidates in 3 files") {
		t.Fatalf("scan: %s%s", out, errs)
	}
	id := func(statement string) string {
		t.Helper()
		out, _ := run(0, "candidates", "list", "--status", "all")
		m := regexp.MustCompile(regexp.QuoteMeta(statement) + `[^\n]*\n  .*  ([0-9a-f-]{36})\n`).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("%s is not in\n%s", statement, out)
		}
		return m[1]
	}
	pay, cards, receipts := id("Payments above"), id("Card numbers"), id("Receipts must")
	if out, _ := run(0, "candidates", "show", cards); !strings.Contains(out, ">     5  Card numbers must not be stored.") || !strings.Contains(out, "      3  Payments above") {
		t.Errorf("show: %s", out)
	}
	run(0, "candidates", "approve", pay, "--slug", "PAY-1")
	if out, _ := run(0, "candidates", "merge", cards, "--into", "PAY-1"); !strings.Contains(out, "merged") {
		t.Errorf("merge: %s", out)
	}
	if out, _ := run(0, "rules", "get", "PAY-1"); !strings.Contains(out, "docs/policy.md:5") {
		t.Errorf("the rule lacks the source of the merged candidate: %s", out)
	}
	run(0, "candidates", "reopen", cards)
	run(0, "candidates", "merge", cards, "--into", receipts, "--candidate")
	run(2, "candidates", "merge", cards, "--into", "PAY-1")

	out, errs = run(0, "candidates", "never-from", "manual", "--repository", "pay-1", "--reason", "not ours")
	exclusion := strings.TrimSpace(out)
	if !strings.Contains(errs, "1 candidates were dismissed") && !strings.Contains(errs, "1 candidate") {
		t.Errorf("never-from: %s", errs)
	}
	if out, _ := run(0, "candidates", "exclusions"); !strings.Contains(out, "manual") || !strings.Contains(out, "not ours") {
		t.Errorf("exclusions: %s", out)
	}
	if out, _ := run(0, "candidates", "list", "--path", "manual"); out != "" {
		t.Errorf("still pending: %s", out)
	}
	run(0, "candidates", "lift", exclusion)
	run(2, "candidates", "lift", exclusion)
	if out, _ := run(0, "candidates", "list", "--path", "manual"); !strings.Contains(out, "Passwords must never") {
		t.Errorf("after it was lifted: %s", out)
	}
	if _, errs := run(2, "scan", filepath.Join(dir, "data", "tenet.db")); !strings.Contains(errs, "neither a folder nor") {
		t.Errorf("a file that is no archive: %s", errs)
	}
}
