package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"tenet/internal/app"
	"tenet/internal/catalog"
	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
)

// library is the address of a server with a few rules.
func library(t *testing.T) string {
	t.Helper()
	file, err := catalog.ParseYAML([]byte(`defaults: {status: EFFECTIVE}
rules:
  - {slug: DATA-1, statement: "Customer data must be encrypted.", severity: HIGH, scope: [eu/germany], tags: [privacy],
     rationale: "Lost disks must not become lost data.", source_refs: [{kind: law, uri: GDPR, section: Art. 32}],
     relationships: [{kind: CONFLICTS_WITH, to: DATA-2, reason: "rest or backup"}]}
  - {slug: DATA-2, statement: "Backups are kept for ninety days.", effective_period: {until: "2026-07-01T00:00:00Z"}}
  - {slug: HR-1, statement: "Leave is approved.", scope: ["role:manager"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load("", func(string) string { return "" }, map[string]string{"data": litetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	node, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{
		Rules: []*wire.RuleFile{file}, Env: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(node.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := node.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

func TestSearchFindsARuleInSeveralWays(t *testing.T) {
	at := library(t)
	for _, test := range []struct {
		args []string
		want string // slugs in order
		note string
	}{
		{[]string{"customer", "money"}, "DATA-1", ""},
		{[]string{"disks"}, "DATA-1", ""},
		{[]string{"backups", "leave"}, "", ""},
		{[]string{"customer", "--severity", "LOW"}, "", "no rule is found"},
		{[]string{"customer", "--mode", "hybrid"}, "DATA-1", "no embedding service"},
		{[]string{"--tag", "PRIVACY"}, "DATA-1", ""},
		{[]string{"--status", "EFFECTIVE"}, "DATA-1 DATA-2 HR-1", ""},
		{[]string{"--status", "EFFECTIVE", "--page-size", "2"}, "DATA-1 DATA-2", "2 of 3 rules; --page 2 shows more"},
		{[]string{"--status", "EFFECTIVE", "--page-size", "2", "--page", "2"}, "HR-1", ""},
		{[]string{"--status", "EFFECTIVE", "--page", "9"}, "", "there is no page 9"},
		{[]string{"--as-of", "2026-06-30"}, "DATA-1 DATA-2 HR-1", ""},
		{[]string{"--as-of", "2026-08-01", "ninety", "days"}, "", "no rule is found"},
		{[]string{"--cites", "gdpr art. 32"}, "DATA-1", ""},
		{[]string{"--location", "Germany"}, "DATA-1", ""},
		{[]string{"--role", "manager"}, "HR-1", ""},
		{[]string{"--conflicts", "DATA-2"}, "DATA-1", ""},
		{[]string{"--conflicts", "HR-1"}, "", "no conflict is known"},
		{[]string{"--situation", "disks are lost", "--scope", "eu"}, "DATA-1", "no model"},
	} {
		code, out, errs := run(t, "", append([]string{"--server", at, "search"}, test.args...)...)
		var slugs []string
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, " ") {
				slug, _, _ := strings.Cut(line, " ")
				slugs = append(slugs, slug)
			}
		}
		got := strings.Join(slugs, " ")
		if test.args[0] == "backups" {
			if code != 0 || !strings.Contains(got, "DATA-2") || !strings.Contains(got, "HR-1") {
				t.Errorf("search %v exits with %d and finds %q", test.args, code, got)
			}
			continue
		}
		if code != 0 || got != test.want || !strings.Contains(errs, test.note) || (test.note == "") != (errs == "") {
			t.Errorf("search %v exits with %d, finds %q (want %q) and says %q (want %q)", test.args, code, got, test.want, errs, test.note)
		}
	}
	if code, _, errs := run(t, "", "--server", at, "search", "--conflicts", "NO-1"); code != 2 || !strings.Contains(errs, "NO-1") {
		t.Errorf("an unknown rule exits with %d and %q", code, errs)
	}
	if code, _, errs := run(t, "", "--server", at, "search", "x", "--mode", "vector"); code != 2 || !strings.Contains(errs, "TENET_EMBEDDING_MODEL") {
		t.Errorf("vector search without a service exits with %d and %q", code, errs)
	}
	if code, _, errs := run(t, "", "--server", at, "search", "--as-of", "soon"); code != 2 || !strings.Contains(errs, "as_of") {
		t.Errorf("a bad date exits with %d and %q", code, errs)
	}
	_, out, _ := run(t, "", "--server", at, "search", "customer", "--json")
	var found wire.RuleSearchPage
	if err := json.Unmarshal([]byte(out), &found); err != nil || found.Total != 1 || found.Items[0].Rule.Slug != "DATA-1" || found.Mode != wire.Keyword {
		t.Errorf("--json prints %s: %v", out, err)
	}
	_, out, _ = run(t, "", "--server", at, "search", "--conflicts", "DATA-1", "-f", "json")
	var conflicts wire.Page[wire.RuleConflict]
	if err := json.Unmarshal([]byte(out), &conflicts); err != nil || conflicts.Total != 1 || conflicts.Items[0].Reason != "rest or backup" {
		t.Errorf("--conflicts as JSON prints %s: %v", out, err)
	}
}

func TestSearchHighlights(t *testing.T) {
	at := library(t)
	_, out, _ := run(t, "", "--server", at, "--color", "always", "search", "encrypted", "disks")
	if !strings.Contains(out, "be \x1b[1;33mencrypted\x1b[0m.") || !strings.Contains(out, "Lost \x1b[1;33mdisks\x1b[0m must") {
		t.Errorf("printed %q", out)
	}
	if _, out, _ = run(t, "", "--server", at, "search", "encrypted", "disks"); strings.Contains(out, "\x1b") || !strings.Contains(out, "be encrypted.") {
		t.Errorf("without a terminal, printed %q", out)
	}
}

// Where the server has an embedding model, words are looked for by meaning too, unless another mode is asked for.
func TestSearchChoosesTheBestMode(t *testing.T) {
	var asked []string
	model := "fake:words"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, path.Base(r.URL.Path)+" "+r.URL.Query().Get("mode"))
		if strings.HasSuffix(r.URL.Path, "/status") {
			_ = json.NewEncoder(w).Encode(wire.SearchStatus{EmbeddingModel: model})
			return
		}
		hostile := rule.Rule{ID: "x", Statement: "Stop\x1b[2J here\nor not"}
		_ = json.NewEncoder(w).Encode(wire.RuleSearchPage{Total: 1, Page: 1, PageSize: 10, Items: []wire.RuleSearchItem{{
			Rule: hostile, Reason: "a\x1b]0;b", Highlights: []wire.Highlight{{Field: "statement", Start: -5, End: 900}, {Field: "statement", Start: 3, End: 1}},
		}}})
	}))
	defer server.Close()
	code, out, _ := run(t, "", "--server", server.URL, "search", "words")
	if code != 0 || strings.Contains(out, "\x1b") || !strings.Contains(out, "Stop [2J here or not") {
		t.Errorf("exits with %d and prints %q", code, out)
	}
	model = ""
	run(t, "", "--server", server.URL, "search", "words")
	run(t, "", "--server", server.URL, "search", "words", "--mode", "VECTOR")
	want := "status |search hybrid|status |search keyword|search vector"
	if got := strings.Join(asked, "|"); got != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
}
