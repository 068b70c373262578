package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"tenet/internal/app"
	"tenet/internal/catalog"
	"tenet/internal/config"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
)

// withoutJSON are the commands that print no answer: what speaks a protocol of its own, serves, or prints a file in a format of its own.
var withoutJSON = map[string]string{
	"hook claude-code": "the agent's protocol", "hook cursor": "the agent's protocol", "hook codex": "the agent's protocol", "hook gemini": "the agent's protocol",
	"hook copilot": "the agent's protocol", "hook windsurf": "the agent's protocol", "hook pre-commit": "git's protocol", "hook git": "git's protocol",
	"hook reference-transaction": "git's protocol", "mcp": "MCP", "gateway mcp": "MCP",
	"serve": "serves", "edge": "serves", "witness": "serves",
	"audit prove": "writes a proof",
}

func TestEveryCommandPrintsJSON(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&grammar{}, kong.Name("tenet"), kong.NamedMapper("filled", kong.MapperFunc(filled)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		name, _, _ := strings.Cut(strings.TrimPrefix(leaf.FullPath(), "tenet "), " <")
		name, _, _ = strings.Cut(name, " [")
		has := slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "json" })
		if why := withoutJSON[name]; has == (why != "") {
			t.Errorf("%q has --json: %t; listed as one without it: %q", name, has, why)
		}
		seen[name] = true
	}
	for name := range withoutJSON {
		if !seen[name] {
			t.Errorf("%q is no command", name)
		}
	}
}

// Every list is an object with items and their total, also an empty one.
func TestListsHaveOneForm(t *testing.T) {
	data := t.TempDir()
	if code, _, errs := run(t, "", "rules", "new", "--statement", "Payments must be approved.", "--slug", "PAY-1", "--data", data); code != 0 {
		t.Fatal(errs)
	}
	for _, args := range []string{
		"agents list", "agents suspensions", "alerts list", "approvals list", "audit list", "candidates scans", "candidates exclusions", "cases list PAY-1", "config show", "conflicts list",
		"documents list", "evaluations list", "fleet list", "gateway pins list", "hook status", "hook test", "jobs list", "keys list", "holds list", "nodes list",
		"projects list", "queue list", "rules list", "rules pending", "rules history PAY-1", "rules diff PAY-1", "rules lint", "search payments", "search --conflicts PAY-1", "servers",
		"snapshots list", "snapshots history", "snapshots environments", "snapshots simulations", "waivers list", "webhooks list", "doctor", "man", "man rules",
	} {
		code, out, errs := run(t, "", append(strings.Fields(args), "--json", "--data", data)...)
		var list struct {
			Items []json.RawMessage `json:"items"`
			Total *int              `json:"total"`
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || list.Items == nil || list.Total == nil || code == exitFailed {
			t.Errorf("tenet %s --json exits with %d and prints %s %s: %v", args, code, out, errs, err)
		}
		if args == "rules list" && (len(list.Items) == 0 || *list.Total != len(list.Items)) {
			t.Errorf("the rules: %d items of %d", len(list.Items), *list.Total)
		}
	}
	for _, step := range []struct{ args, want string }{
		{"version", `"platform": "`},
		{"rules schema", `"$schema": `},
		{"completion bash", `"script": `},
		{"policy set --severity-min HIGH", `"severity_min": "HIGH"`},
		{"config check", `"settings": `},
		{"cache clear", `"deleted": 0`},
		{"projects create pay", `"id": "pay"`},
		{"rules submit PAY-1", `"to": "REVIEW"`},
		{"snapshots create one", `"rule_count": `},
		{"snapshots deploy one staging", `"environment": "staging"`},
		{"snapshots verify one", `"valid": true`},
		{"keys create --name ci --role admin --all-projects", `"secret": "tnt_`},
		{"keys set ci --name ci2", `"name": "ci2"`},
		{"keys revoke ci2", `"state": "revoked"`},
		{"nodes create acme --level organization", `"name": "acme"`},
		{"nodes delete acme --yes", `"state": "deleted"`},
		{"retention show", `"kinds"`},
		{"holds place --reason audit", `"reason": "audit"`},
	} {
		code, out, errs := run(t, "", append(strings.Fields(step.args), "--json", "--data", data)...)
		if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, step.want) {
			t.Errorf("tenet %s --json exits with %d and prints %s %s; want %s", step.args, code, out, errs, step.want)
		}
	}
}

// served is the address of a server with the console and a rule. Settings may be added.
func served(t *testing.T, more ...map[string]string) string {
	t.Helper()
	settings := map[string]string{"data": litetest.Dir(t), "listen": "127.0.0.1:0"}
	for _, m := range more {
		maps.Copy(settings, m)
	}
	file, err := catalog.ParseYAML([]byte(`rules: [{slug: DATA-1, statement: "Customer data must be encrypted.", status: EFFECTIVE}]`))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load("", func(string) string { return "" }, settings)
	if err != nil {
		t.Fatal(err)
	}
	node, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Rules: []*wire.RuleFile{file}, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return "http://" + node.Addr()
}

var openLine = regexp.MustCompile(`(?m)^tenet: open (http\S+)$`)

// What a server has answered comes with the address of its page in the console, which exists.
func TestAnswersNameTheirPages(t *testing.T) {
	at := served(t)
	pages := map[string]string{
		"rules get DATA-1": "/p/default/rules/", "rules list": "/p/default/rules", "queue list": "/queue", "evaluations list": "/p/default/evaluations", "audit list": "/p/default/audit",
		"check --action pay --allow-empty": "/p/default/evaluations/", "snapshots create one": "/p/default/releases/snapshots/", "snapshots list": "/p/default/releases",
		"nodes create acme --level organization": "/p/default/federation/", "approvals list": "/p/default/approvals", "alerts list": "/p/default/alerts", "conflicts list": "/p/default/conflicts",
		"jobs list": "/p/default/operations/jobs", "keys list": "/p/default/operations/keys", "waivers list": "/p/default/overview/waivers", "retention show": "/p/default/operations/retention",
		"webhooks create on-call https://example.com/hook": "/p/default/webhooks/", "projects list": "/operations/projects", "config show": "/operations/settings", "servers": "/operations",
		"candidates exclusions": "/p/default/discovery/exclusions", "snapshots simulations": "/p/default/releases", "snapshots history": "/p/default/releases/history", "fleet list": "/p/default/fleet",
		"insights": "/p/default/overview", "usage": "/p/default/operations/usage", "audit verify": "/p/default/audit/verify", "audit show 1": "/p/default/audit/1", "agents list": "/p/default/agents",
	}
	for _, args := range slices.Sorted(maps.Keys(pages)) {
		_, out, errs := run(t, "", append([]string{"--server", at}, strings.Fields(args)...)...)
		found := openLine.FindStringSubmatch(errs)
		if found == nil || !strings.HasPrefix(found[1], at+pages[args]) || strings.Contains(out, "tenet: open") {
			t.Errorf("tenet %s prints %q and %q; want the page %s", args, out, errs, pages[args])
			continue
		}
		res, err := http.Get(found[1])
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s answers %d, %s", found[1], res.StatusCode, res.Header.Get("Content-Type"))
		}
	}
	_, report, errs := run(t, "", "--server", at, "check", "--action", "pay", "--allow-empty", "--format", "sarif")
	help := regexp.MustCompile(`"helpUri": *"([^"]+)"`).FindStringSubmatch(report)
	if help == nil {
		t.Fatalf("a report without an address of help: %s%s", report, errs)
	}
	res, err := http.Get(help[1])
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s answers %d", help[1], res.StatusCode)
	}
	if _, _, errs := run(t, "", "rules", "list", "--data", t.TempDir()); strings.Contains(errs, "open http") {
		t.Errorf("without a server: %q", errs)
	}
}

// A server that serves no console has no pages to open, in notes and in reports.
func TestAServerWithoutAConsoleHasNoPages(t *testing.T) {
	t.Parallel()
	at := served(t, map[string]string{"console": "false"})
	for _, args := range []string{"fleet list", "rules list", "rules get DATA-1", "evaluations list", "snapshots list", "config show"} {
		code, out, errs := run(t, "", append([]string{"--server", at}, strings.Fields(args)...)...)
		if code != 0 || strings.Contains(out+errs, "open http") {
			t.Errorf("tenet %s exits with %d and prints %q and %q; want no page", args, code, out, errs)
		}
	}
	_, report, _ := run(t, "", "--server", at, "check", "--action", "pay", "--allow-empty", "--format", "sarif")
	if !strings.Contains(report, `"DATA-1"`) || strings.Contains(report, at+"/p/") {
		t.Errorf("a report names pages that are not there: %s", report)
	}
}
