package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// sizeEnv names the variable that holds the number of rules; 10,000 without it.
const sizeEnv = "TENET_BENCH_RULES"

// BenchmarkScreens measures the time of the server for a screen, over HTTP, without the browser. Bars at 100,000 rules: lists 50 ms,
// a rule 50 ms, an evaluation 30 ms.
func BenchmarkScreens(b *testing.B) {
	size := 10_000
	if text := os.Getenv(sizeEnv); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	n := newNode(b, nil)
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
				Status: status, Severity: rule.High, Scope: []string{fmt.Sprintf("unit%d", i%100)}, Tags: []string{"payments"},
				SourceRefs: []rule.SourceRef{{Kind: "policy", URI: "Policy", Section: fmt.Sprintf("Art. %d", i%500)}},
				AppliesTo:  &rule.AppliesTo{Kinds: []string{"facts"}}, Check: &rule.Check{CEL: fmt.Sprintf("facts.amount <= %d || facts.approvals >= 2", i)},
			})
		}
		if _, err := client.Call(b.Context(), n.api, op.ImportRules, file); err != nil {
			b.Fatal(err)
		}
	}
	for range 200 {
		n.evaluate("default", `{"facts": {"amount": 500, "approvals": 1, "payment_id": "PMT-1"}, "scope": "unit7", "repository": "acme/payments"}`)
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
	payment := n.evaluate("default", `{"facts": {"amount": 500, "approvals": 1, "payment_id": "PMT-2"}, "scope": "unit7"}`)
	large := n.evaluate("default", `{"diff": `+string(text)+`}`)
	v := n.visitor()
	for _, s := range []struct{ name, path string }{
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
		{"operations", "/operations"},
		{"jobs", "/operations/jobs"},
		{"operations of a project", "/p/default/operations"},
		{"evaluation of a payment", "/p/default/evaluations/" + payment},
		{"evaluation of 1,000 lines", "/p/default/evaluations/" + large},
	} {
		b.Run(s.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				if a := v.get(s.path); a.status != http.StatusOK {
					b.Fatalf("%d %s", a.status, a.body)
				}
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, "p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1e3, "p99-ms")
		})
	}
}
