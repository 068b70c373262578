package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkEdge evaluates facts at an edge with 10,000 rules, of which 100 are in scope, through its whole handler: request and answer as JSON, the record synced.
func BenchmarkEdge(b *testing.B) {
	o := newOrigin(b)
	for part := range 10 {
		var rules strings.Builder
		for i := part * 1000; i < (part+1)*1000; i++ {
			fmt.Fprintf(&rules, `,{"slug":"B-%d","statement":"Payments of kind %d above %d EUR need a second approval.","status":"EFFECTIVE","modality":"MUST","severity":"HIGH","scope":["unit%d"],`+
				`"applies_to":{"kinds":["facts"]},"check":{"cel":"facts.amount <= %d || facts.approvals >= 2"}}`, i, i%97, 1000+i, i%100, 1000+i)
		}
		if code := ask(b, o.App, "POST", "/api/v1/rules/import", `{"rules":[`+rules.String()[1:]+`]}`, nil); code != http.StatusOK {
			b.Fatal(code)
		}
	}
	o.deploy("production")
	e := o.edge(b.TempDir())
	evaluate := func(i int) {
		body := fmt.Sprintf(`{"facts":{"amount":%d,"approvals":1,"reference":"P-%d","currency":"EUR"},"scope":"unit7/desk"}`, 500+i%400, i)
		if code := ask(b, e, "POST", "/api/v1/evaluate", body, nil); code != http.StatusOK {
			b.Fatal(code)
		}
	}
	evaluate(0) // compiles the checks
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		evaluate(i)
	}
}
