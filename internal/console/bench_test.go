package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// sizeEnv names the variable that holds the number of rules; 10,000 without it.
const sizeEnv = "TENET_BENCH_RULES"

func benchSize(b *testing.B) int {
	b.Helper()
	text := os.Getenv(sizeEnv)
	if text == "" {
		return 10_000
	}
	size, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return size
}

// measure requests a page again and again, and reports the median and the 99th percentile.
func measure(b *testing.B, v *visitor, path string) {
	b.Helper()
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		if a := v.get(path); a.status != http.StatusOK {
			b.Fatalf("%d %s", a.status, a.body)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1e3, "p99-ms")
}

// keepEnv names the variable that holds a folder for the databases that BenchmarkScreens fills: what it finds there of an earlier run it measures
// again. Without it each run fills fresh ones.
const keepEnv = "TENET_BENCH_KEEP"

// BenchmarkScreens measures the time of the server for a screen, over HTTP, without the browser, on both databases. Bars at 100,000 rules:
// lists 50 ms, a rule 50 ms, an evaluation 30 ms, an overview 100 ms.
func BenchmarkScreens(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) (settings map[string]string, again func() (store.Store, error)){
		"SQLite": func(b *testing.B) (map[string]string, func() (store.Store, error)) {
			dir := os.Getenv(keepEnv)
			if dir == "" {
				dir = litetest.Dir(b)
			}
			return map[string]string{"data": dir}, func() (store.Store, error) { return sqlstore.OpenSQLite(b.Context(), dir, quiet) }
		},
		"PostgreSQL": func(b *testing.B) (map[string]string, func() (store.Store, error)) {
			if os.Getenv(pgtest.Env) == "" {
				b.Skipf("%s is not set", pgtest.Env)
			}
			dsn := benchDSN(b)
			return map[string]string{"database_url": dsn}, func() (store.Store, error) { return sqlstore.OpenPostgres(b.Context(), dsn, quiet) }
		},
	} {
		b.Run(name, func(b *testing.B) {
			settings, again := open(b)
			pages, filled := keptPages(b, name)
			n := newNode(b, settings)
			if !filled {
				began := time.Now()
				pages = fillScreens(b, n, again)
				b.Logf("filled in %.0f s", time.Since(began).Seconds())
				keepPages(b, name, pages)
			}
			prepare(b, again)
			v := n.visitor()
			for _, p := range pages {
				b.Run(p.Name, func(b *testing.B) { measure(b, v, p.Path) })
			}
		})
	}
}

// benchDSN returns the address of the PostgreSQL database that is kept, or else of a fresh one.
func benchDSN(b *testing.B) string {
	b.Helper()
	dir := os.Getenv(keepEnv)
	if dir == "" {
		return pgtest.DSN(b)
	}
	return pgtest.Named(b, "kept_"+filepath.Base(dir))
}

// keptPages returns the pages of a database that an earlier run has filled.
func keptPages(b *testing.B, name string) (pages []benchPage, filled bool) {
	b.Helper()
	dir := os.Getenv(keepEnv)
	if dir == "" {
		return nil, false
	}
	body, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err == nil {
		err = json.Unmarshal(body, &pages)
	}
	if err != nil {
		b.Fatal(err)
	}
	return pages, true
}

func keepPages(b *testing.B, name string, pages []benchPage) {
	b.Helper()
	dir := os.Getenv(keepEnv)
	if dir == "" {
		return
	}
	body, err := json.Marshal(pages)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".json"), body, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}

var quiet = sqlstore.Options{Logger: slog.New(slog.DiscardHandler)}

type benchPage struct{ Name, Path string }

// fillScreens makes rules, evaluations, alerts, deliveries and candidates, and lists the pages to measure.
func fillScreens(b *testing.B, n *node, again func() (store.Store, error)) []benchPage {
	b.Helper()
	size := benchSize(b)
	importRules(b, n, size)
	const evaluations = 500
	for i := range evaluations {
		if i%50 == 0 { // no rule covers it, so it waits for a person: with a million records, about 10,000 of the last two weeks do
			n.evaluate("default", fmt.Sprintf(`{"action": "Deploy release %d of the payments service", "scope": "deployments", "repository": "acme/app%d"}`, i, i%40))
			continue
		}
		n.evaluate("default", fmt.Sprintf(`{"facts": {"amount": %d, "approvals": 1, "payment_id": "PMT-%d"}, "scope": "unit%d", "repository": "acme/app%d"}`, i, i, i%100, i%40))
	}
	var change strings.Builder
	change.WriteString("--- a/app.py\n+++ b/app.py\n@@ -1,500 +1,501 @@\n")
	for i := range 500 {
		fmt.Fprintf(&change, "-value_%d = compute(\"old\", %d)\n+value_%d = compute(\"new\", %d)\n", i, i, i, i)
	}
	text, err := json.Marshal(change.String() + "+eval(text)\n")
	if err != nil {
		b.Fatal(err)
	}
	payment := n.evaluate("default", `{"facts": {"amount": 500, "approvals": 1, "payment_id": "PMT-A"}, "scope": "unit7"}`)
	large := n.evaluate("default", `{"diff": `+string(text)+`}`)
	policy, err := client.Call(b.Context(), n.api, op.CreatePolicy, wire.CreatePolicy{
		Name: "on-call", URL: "https://hooks.example.com/tenet", EventTypes: []rule.EventType{rule.AlertCreated}, Enabled: wire.Some(false),
	})
	if err != nil {
		b.Fatal(err)
	}
	s, err := again()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	storeAlerts(b, n, s, policy.ID)
	scan, candidate := storeCandidates(b, n, s)
	settle(b, s)
	if _, err := client.Call(b.Context(), n.api, op.MeasureInsights, wire.None{}); err != nil {
		b.Fatal(err)
	}
	return []benchPage{
		{"overview", "/p/default/overview"},
		{"overview of a team", "/p/default/overview?team=team-7"},
		{"overview of all projects", "/overview"},
		{"rules by health", "/p/default/overview/rules"},
		{"rules never asked", "/p/default/overview/rules?standing=never_asked"},
		{"repositories", "/p/default/overview/repositories"},
		{"repositories that were never judged", "/p/default/overview/unjudged"},
		{"rules", "/p/default/rules"},
		{"last page of rules", fmt.Sprintf("/p/default/rules?page=%d", size/50)},
		{"rules by words", "/p/default/rules?q=unit%2077&severity=HIGH"},
		{"rules with tests", "/p/default/rules?has_tests=false&sort=-health"},
		{"rules of a source", "/p/default/rules?cites=Art.+7&col=source&col=health"},
		{"search by words", "/p/default/search?q=second+person+unit7"},
		{"search by citation and date", "/p/default/search?q=payments+Policy+Art.+7+in+force+now"},
		{"one rule", "/p/default/rules/B-7"},
		{"evaluations", "/p/default/evaluations"},
		{"evaluations by fact", "/p/default/evaluations?fact=payment_id:PMT-2"},
		{"queue", "/queue"},
		{"queue by words", "/queue?q=unit+payments&severity_min=HIGH"},
		{"queue of evaluations by words", "/queue?q=deploy+payments&kind=evaluation"},
		{"audit", "/p/default/audit"},
		{"audit of a rule", "/p/default/audit?rule=B-7"},
		{"alerts", "/p/default/alerts"},
		{"alerts, last page", "/p/default/alerts?page=100"},
		{"webhooks", "/p/default/webhooks"},
		{"deliveries", "/p/default/webhooks/" + policy.ID},
		{"scans", "/p/default/discovery"},
		{"candidates", "/p/default/discovery/scans/" + scan},
		{"candidates, last page", "/p/default/discovery/scans/" + scan + "?page=100"},
		{"one candidate", "/p/default/discovery/candidates/" + candidate},
		{"operations", "/operations"},
		{"jobs", "/operations/jobs"},
		{"operations of a project", "/p/default/operations"},
		{"evaluation of a payment", "/p/default/evaluations/" + payment},
		{"evaluation of 1,000 lines", "/p/default/evaluations/" + large},
	}
}

// prepare adds the records that are asked for, and waits until jobs have counted and indexed them.
func prepare(b *testing.B, again func() (store.Store, error)) {
	b.Helper()
	s, err := again()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	addRecords(b, s)
	settle(b, s)
}

// settle waits until the jobs have counted and indexed what was recorded, and looked for conflicts, for two minutes at most; with many records
// for half an hour.
func settle(b *testing.B, s store.Store) {
	b.Helper()
	patience := 2 * time.Minute
	if os.Getenv(recordsEnv) != "" {
		patience = 30 * time.Minute
	}
	for began := time.Now(); time.Since(began) < patience; time.Sleep(200 * time.Millisecond) {
		uncounted, err := s.Counts.Uncounted(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		unindexed, err := s.Terms.Unindexed(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		counts, err := s.Jobs.Count(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		looking := slices.ContainsFunc(counts, func(c store.JobCount) bool { return c.Kind == "conflicts.find" && c.State != "failed" && c.Count > 0 })
		if !looking && len(uncounted)+len(unindexed) == 0 {
			return
		}
	}
	b.Log("jobs go on beside the measurement")
}

func importRules(b *testing.B, n *node, size int) {
	b.Helper()
	const batch = 10_000
	for from := 0; from < size; from += batch {
		file := &wire.RuleFile{}
		for i := from; i < min(from+batch, size); i++ {
			status := rule.Effective
			if i%50 == 0 {
				status = rule.Review
			}
			file.Rules = append(file.Rules, wire.RuleInput{
				Slug: new(fmt.Sprintf("B-%d", i)), Statement: fmt.Sprintf("In unit %d, payments above %d must be approved by a second person.", i%100, i),
				Status: status, Severity: rule.High, Scope: []string{fmt.Sprintf("unit%d", i%100)}, Tags: []string{"payments"}, Owner: new(fmt.Sprintf("team-%d", i%40)),
				SourceRefs: []rule.SourceRef{{Kind: "policy", URI: "Policy", Section: fmt.Sprintf("Art. %d", i%500)}},
				AppliesTo:  &rule.AppliesTo{Kinds: []string{"facts"}}, Check: &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d || facts.approvals >= 2", i)},
			})
		}
		if _, err := client.Call(b.Context(), n.api, op.ImportRules, file); err != nil {
			b.Fatal(err)
		}
	}
}

// stored is how many alerts, deliveries and candidates the benchmark stores.
const stored = 10_000

// storeAlerts stores alerts of rules, of which a tenth is resolved, and deliveries of a policy.
func storeAlerts(b *testing.B, n *node, s store.Store, policyID string) {
	b.Helper()
	var ids []string
	for page := 1; len(ids) < stored && page <= stored/100; page++ {
		list, err := client.Get(b.Context(), n.api, op.ListRules.Where(wire.PageQuery{Page: page, PageSize: 100}))
		if err != nil {
			b.Fatal(err)
		}
		for i := range list.Items {
			ids = append(ids, list.Items[i].ID)
		}
	}
	now := rule.Instant(time.Now())
	err := s.Update(b.Context(), func(tx store.Tx) error {
		for i, id := range ids {
			a := rule.Alert{
				ID: audit.NewID(), ProjectID: rule.DefaultProject, Type: rule.DormantRule, Status: rule.AlertActive, RuleID: id, Message: "It had no verdict for 90 days.",
				Metadata: map[string]any{"idle_days": 90 + i}, CreatedAt: now.Add(-time.Duration(i) * time.Second),
			}
			if _, err := tx.Alerts.Insert(b.Context(), a); err != nil {
				return err
			}
			e := store.WebhookEvent{ProjectID: rule.DefaultProject, ID: audit.NewID(), Type: rule.AlertCreated, Time: a.CreatedAt, Data: json.RawMessage(`{"alert":{}}`)}
			if err := tx.Deliveries.Insert(b.Context(), e, []string{policyID}, now.Add(time.Hour), now.Add(2*time.Hour)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// storeCandidates stores a scan like a real one of a single candidate, and returns its id and that of a candidate.
func storeCandidates(b *testing.B, n *node, s store.Store) (scanID, candidateID string) {
	b.Helper()
	small, err := client.Call(b.Context(), n.api, op.StartScan, wire.ScanRequest{
		Sources: []wire.SourceKind{wire.PolicyDocument}, Repository: "acme/app",
		Files: map[string]string{"docs/policy.md": "# Payments\n\nPayments above 10000 must be approved by two people.\n"},
	})
	for wait := 0; err == nil && small.Status != wire.Completed; wait++ {
		if wait > 600 {
			b.Fatal("the scan does not end")
		}
		time.Sleep(100 * time.Millisecond)
		small, err = client.Get(b.Context(), n.api, op.GetScan.At(small.ID))
	}
	if err != nil {
		b.Fatal(err)
	}
	found, _, err := s.Candidates.Find(b.Context(), store.CandidateFilter{ProjectID: rule.DefaultProject, ScanID: small.ID, Limit: 1})
	if err != nil || len(found) != 1 {
		b.Fatal(len(found), err)
	}
	excerpt, err := s.Candidates.Excerpt(b.Context(), rule.DefaultProject, found[0].ID)
	if err != nil {
		b.Fatal(err)
	}
	scan, err := s.Scans.Get(b.Context(), rule.DefaultProject, small.ID)
	if err != nil {
		b.Fatal(err)
	}
	result := scan.Result
	scan.ID, scan.Repository, scan.State, scan.Result, scan.EndedAt = audit.NewID(), "acme/large", store.ScanOpen, nil, nil
	list := make([]store.Candidate, stored)
	for i := range list {
		list[i] = found[0]
		list[i].ID, list[i].ScanID, list[i].N, list[i].Repository, list[i].Excerpt = audit.NewID(), scan.ID, i+1, scan.Repository, excerpt
		list[i].Fingerprint, list[i].SourceFile = fmt.Sprintf("f%d", i), fmt.Sprintf("docs/%d/policy.md", i%200)
	}
	err = s.Update(b.Context(), func(tx store.Tx) error {
		if err := tx.Scans.Insert(b.Context(), scan, nil); err != nil {
			return err
		}
		return tx.Scans.Complete(b.Context(), rule.DefaultProject, scan.ID, result, list, rule.Instant(time.Now()))
	})
	if err != nil {
		b.Fatal(err)
	}
	return scan.ID, list[stored/2].ID
}
