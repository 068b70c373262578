package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// A download shows how much has come, and the file gets all of it.
func TestDownloadsShowTheirSize(t *testing.T) {
	t.Parallel()
	var to bytes.Buffer
	var shown []int64
	w := &counted{to: &to, show: func(n int64) { shown = append(shown, n) }}
	for range 3 {
		if n, err := io.WriteString(w, "four"); n != 4 || err != nil {
			t.Fatal(n, err)
		}
	}
	if to.String() != "fourfourfour" || len(shown) == 0 || shown[0] != 4 || w.n != 12 {
		t.Errorf("%q, shown %v, counted %d", to.String(), shown, w.n)
	}
	s := &session{err: io.Discard}
	if got, done := received(s, "exporting", &to); got != io.Writer(&to) {
		t.Error("where there is no terminal, something is shown")
	} else {
		done()
	}
}

// A dash is the output, and no file of that name appears.
func TestADashIsTheOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	data := t.TempDir()
	if code, _, errs := run(t, "", "rules", "new", "--statement", "Payments must be approved.", "--slug", "PAY-1", "--data", data); code != 0 {
		t.Fatal(errs)
	}
	for args, want := range map[string]string{
		"rules schema -o -": `"$schema"`, "rules export -o -": "PAY-1", "audit export -o -": `"action":"`, "rules export --format agents.md --status DRAFT -o -": "Payments must be approved",
	} {
		code, out, errs := run(t, "", append(strings.Fields(args), "--data", data)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("tenet %s exits with %d and prints %q %q; want %q", args, code, out, errs, want)
		}
	}
	if _, err := os.Lstat("-"); err == nil {
		t.Error("there is a file -")
	}
}
