package console_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

var pictures = flag.String("pictures", "", "folder to write the pictures of the guide to; see `make screenshots`")

// samples is a server with the starter packs, on which the sample change and the sample payment have been judged.
func samples(t *testing.T) (address, change, payment string) {
	t.Helper()
	cfg, err := config.Load("", none, map[string]string{"listen": "127.0.0.1:0", "data": litetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none, Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
		defer cancel()
		_ = a.Stop(ctx) // the browser keeps connections
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	api, err := client.New("http://localhost", "", &http.Client{Transport: client.InProcess(a.Handler())})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(request wire.EvaluateRequest) string {
		e, err := client.Call(t.Context(), api, op.Evaluate, any(request))
		if err != nil {
			t.Fatal(err)
		}
		return e.EvaluationID
	}
	text, err := os.ReadFile("../../examples/change.diff")
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile("../../examples/payment.json")
	if err != nil {
		t.Fatal(err)
	}
	var facts map[string]any
	if err := json.Unmarshal(body, &facts); err != nil {
		t.Fatal(err)
	}
	for _, r := range []wire.RuleInput{
		{Slug: new("PAY-014"), Statement: "Refunds above 500 EUR must name the order that they are for.", Severity: rule.High, Owner: new("payments")},
		{Slug: new("OPS-022"), Statement: "Backups must be restored on trial once a quarter.", Severity: rule.Medium, Owner: new("platform")},
		{Slug: new("PAY-021"), Statement: "Invoices of suppliers must be paid within 14 days.", Severity: rule.High, Owner: new("payments")},
		{Slug: new("PAY-022"), Statement: "Invoices of suppliers must be paid in at most 30 days.", Severity: rule.Medium, Owner: new("treasury")},
	} {
		r.Status = rule.Review
		if _, err := client.Call(t.Context(), api, op.CreateRule, wire.CreateRule{RuleInput: r}); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		found, err := client.Get(t.Context(), api, op.ListConflicts)
		if err != nil || time.Now().After(end) {
			t.Fatalf("no conflict is found: %v", err)
		}
		if found.Total > 0 {
			break
		}
	}
	for i, name := range []string{"2026-10", "2026-11", "2026-12"} {
		s, err := client.Call(t.Context(), api, op.CreateSnapshot, wire.CreateSnapshot{Name: name, Description: "The rules of the month."})
		for _, environment := range []string{"production", "staging"} {
			if err == nil && (i < 2 || environment == "staging") {
				_, err = client.Call(t.Context(), api, op.DeploySnapshot.At(s.ID), wire.DeploySnapshot{Environment: environment, Reason: "Monthly release."})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	judge(wire.EvaluateRequest{Facts: map[string]any{"supplier": "S-1042", "country": "CH"}, Intent: "Pay the invoice of a new supplier"})
	change = judge(wire.EvaluateRequest{Diff: string(text), Repository: "acme/payments"})
	return "http://" + a.Addr(), change, judge(wire.EvaluateRequest{Facts: facts})
}

// sampleScan has a policy scanned, and returns the scan and a candidate that is like a rule of the starter packs.
func sampleScan(t *testing.T, address string) (scan, candidate string) {
	t.Helper()
	api, err := client.New(address, "", http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, api: api}
	scan, _ = n.scanned("acme/payments", map[string]string{
		"docs/security/policy.md": "# Security policy\n\nThis policy is for everybody who writes code of the payment service.\n\n## Secrets\n\n" +
			"Secrets must never be committed to a repository. Use the vault.\n\n- Passwords must have at least 16 characters.\n" +
			"- API keys must be rotated every 90 days.\n- Production data must not be copied to a laptop.\n\n## Card data\n\n" +
			"Card numbers must not be written to a log.\nThey must not be stored for longer than 24 hours.\n",
		"docs/handbook/payments.md": "# Payments handbook\n\nPayments above 10,000 EUR must be approved by a second person.\n\nRefunds should name the order that they are for.\n",
	})
	list, err := client.AllCandidates(t.Context(), api, scan, wire.CandidateQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Statement == "Card numbers must not be written to a log." {
			return scan, c.ID
		}
	}
	t.Fatalf("the sample has no such candidate: %+v", list)
	return "", ""
}

// sampleFederation makes a project with the sample federation, and returns the id of the node payments.
func sampleFederation(t *testing.T, address string) string {
	t.Helper()
	send := func(method, path, contentType string, body io.Reader, into any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", contentType)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s, %v", path, res.StatusCode, text, err)
		}
		if into != nil {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(http.MethodPost, "/api/v1/projects", "application/json", strings.NewReader(`{"id": "acme", "name": "Acme"}`), nil)
	file, err := os.Open("../../examples/federation/acme.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	send(http.MethodPost, "/api/v1/rules/import?project_id=acme", "application/yaml", file, nil)
	var found wire.Page[wire.NodeSummary]
	send(http.MethodGet, "/api/v1/federations/nodes?project_id=acme&q=acme/payments", "application/json", nil, &found)
	for i, repository := range []string{"acme/ledger", "acme/checkout", "acme/site", "acme/ledger", "acme/checkout", "acme/ledger", "acme/shop", "acme/site"} {
		send(http.MethodPost, "/api/v1/evaluate?project_id=acme", "application/json",
			strings.NewReader(fmt.Sprintf(`{"repository": %q, "facts": {"amount": %d, "approvals": 1}}`, repository, 400+1700*i)), nil)
	}
	send(http.MethodPost, "/api/v1/insights/measure?project_id=acme", "application/json", nil, nil)
	return found.Items[0].ID
}

// sampleApproval asks for an approval of an action and returns its id.
func sampleApproval(t *testing.T, address string) string {
	t.Helper()
	c, err := client.New(address, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := client.Call(t.Context(), c, op.Evaluate, any(map[string]any{
		"action": "Send the customer list of March to partner@example.com\u200b.attacker.example", "facts": map[string]any{"records": 1284, "format": "csv"}, "repository": "acme/crm",
		"request_approval": true, "approval": map[string]any{"reason": "The partner needs it for the spring campaign."},
	}))
	if err != nil || e.Approval == nil {
		t.Fatalf("no approval was asked for: %v, %s", err, e.OverallVerdict)
	}
	return e.Approval.ID
}

// small returns a picture with at most 256 colours, its most frequent ones, which takes a third of the bytes.
func small(t *testing.T, full []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(full))
	if err != nil {
		t.Fatal(err)
	}
	frequent := map[color.RGBA]int{}
	bounds := from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := from.At(x, y).RGBA()
			frequent[color.RGBA{uint8(r>>8) | 3, uint8(g>>8) | 3, uint8(b>>8) | 3, 255}]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(frequent), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(frequent[b], frequent[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	to := image.NewPaletted(bounds, palette)
	draw.Draw(to, bounds, from, bounds.Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTheSamplesCanBeRead opens what `make run` leads to, and with -pictures takes the pictures of the guide there.
func TestTheSamplesCanBeRead(t *testing.T) {
	address, change, payment := samples(t)
	scan, candidate := sampleScan(t, address)
	payments, approval := sampleFederation(t, address), sampleApproval(t, address)
	tab := browsertest.Open(t, address)
	tab.Width(1100)
	for _, shot := range []struct {
		name, path string
		dark       bool
		height     float64
	}{
		{"evaluations", "/", false, 420},
		{"overview", "/p/acme/overview", false, 1000},
		{"queue", "/queue", false, 460},
		{"evaluation-change", "/p/default/evaluations/" + change, false, 1000},
		{"evaluation-payment", "/p/default/evaluations/" + payment, true, 900},
		{"rules", "/p/default/rules?severity=CRITICAL", false, 700},
		{"rule", "/p/default/rules/FIN-002", false, 900},
		{"try", "/p/default/try?kind=transaction", false, 900},
		{"new-rule", "/p/default/rules/new", false, 900},
		{"edit-rule", "/p/default/rules/FIN-002/edit", false, 900},
		{"operations", "/operations", false, 620},
		{"project", "/p/default/operations", false, 860},
		{"conflicts", "/p/default/conflicts", false, 420},
		{"releases", "/p/default/releases", false, 560},
		{"search", "/p/default/search?q=payment+approval+in+force+now", false, 700},
		{"approval", "/p/default/approvals/" + approval, false, 980},
		{"audit", "/p/default/audit", false, 420},
		{"discovery", "/p/default/discovery/scans/" + scan, false, 620},
		{"triage", "/p/default/discovery/candidates/" + candidate, false, 760},
		{"federation", "/p/acme/federation", false, 300},
		{"federation-diff", "/p/acme/federation/" + payments + "?view=diff", false, 560},
		{"federation-preview", "/p/acme/federation/" + payments + "/detach?rule=PAY-001", false, 560},
	} {
		tab.Dark(shot.dark)
		if status := tab.Open(shot.path); status != http.StatusOK {
			t.Errorf("%s: %d", shot.path, status)
		}
		if p := tab.Problems(); len(p) > 0 {
			t.Errorf("%s: %v", shot.path, p)
		}
		if *pictures != "" {
			if err := os.WriteFile(filepath.Join(*pictures, shot.name+".png"), small(t, tab.Picture(shot.height)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
