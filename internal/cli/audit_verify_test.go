package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenet/internal/wire"
)

// The report names the entries that the run has verified, and no others: entries may be appended meanwhile, and a limit may end it before an entry
// that is expected and before the head, which the run then has not linked to the chain.
func TestVerifyNamesWhatItHasVerified(t *testing.T) {
	hash := strings.Repeat("a", 64)
	expected := []string{"--expect-seq", "12", "--expect-hash", hash}
	after := []string{"--after-seq", "3", "--after-hash", hash}
	head := "  head: --expect-seq 10 --expect-hash " + hash + "\n"
	next := "  go on: --after-seq 6 --after-hash " + hash
	const unreached = "entry 12, which is expected, was not reached"
	for name, test := range map[string]struct {
		entries, next int64
		args          []string
		want          string
		note          string // on stderr; empty if there must be none
	}{
		"all":                      {10, 0, nil, "all 10 entries are whole\n" + head, ""},
		"all, and two appended":    {12, 0, nil, "all 12 entries are whole\n" + head, ""},
		"the rest":                 {7, 0, after, "entries 4 to 10 are whole\n" + head, ""},
		"the rest, four appended":  {11, 0, after, "entries 4 to 14 are whole\n" + head, ""},
		"a part":                   {6, 6, []string{"--limit", "6"}, "entries 1 to 6 are whole\n" + next + "\n", ""},
		"a part from the middle":   {3, 6, append([]string{"--limit", "3"}, after...), "entries 4 to 6 are whole\n" + next + "\n", ""},
		"a part, expecting later":  {6, 6, append([]string{"--limit", "6"}, expected...), "entries 1 to 6 are whole\n" + next + " " + strings.Join(expected, " ") + "\n", unreached},
		"a part, expecting before": {6, 6, []string{"--limit", "6", "--expect-seq", "6", "--expect-hash", hash}, "entries 1 to 6 are whole\n" + next + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				report := wire.AuditReport{ProjectID: "default", Entries: test.entries, Head: wire.AuditHead{Seq: 10, Hash: hash}, Problems: []wire.AuditProblem{}}
				if test.next > 0 {
					report.Next = &wire.AuditHead{Seq: test.next, Hash: hash}
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(report)
			}))
			defer server.Close()
			args := append([]string{"audit", "verify", "--server", server.URL}, test.args...)
			code, out, errs := run(t, "", args...)
			if want := "✓ project default: " + test.want; code != 0 || out != want {
				t.Errorf("exits with %d and prints %q, want %q", code, out, want)
			}
			_, _, errsJSON := run(t, "", append(args, "--json")...)
			for _, errs := range []string{errs, errsJSON} {
				if !strings.Contains(errs, test.note) || strings.Contains(errs, "not reached") != (test.note != "") {
					t.Errorf("notes %q, want %q", errs, test.note)
				}
			}
		})
	}
}
