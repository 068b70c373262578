package app_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/store/litetest"
)

// served is a node with 10,000 rules, half of them CEL on facts, half patterns on Go files, in 100 scopes.
func served(b *testing.B) http.Handler {
	cfg, err := config.Load("", func(string) string { return "" }, map[string]string{"data": litetest.Dir(b), "no_seed": "true"})
	if err != nil {
		b.Fatal(err)
	}
	a, err := app.New(b.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Stop(b.Context()) })
	if code, answer := post(b, a.Handler(), "/api/v1/rules/import", rules(0, 10_000)); code != http.StatusOK {
		b.Fatalf("import: %d %.300s", code, answer)
	}
	return a.Handler()
}

func rules(from, n int) string {
	var s strings.Builder
	s.WriteString(`{"rules":[`)
	for i := from; i < from+n; i++ {
		if i > from {
			s.WriteByte(',')
		}
		check := fmt.Sprintf(`{"cel": "facts.amount <= %d || facts.approvals >= 2"}`, 1000+i)
		applies := `{"kinds": ["facts"]}`
		if i%2 == 1 {
			check, applies = fmt.Sprintf(`{"pattern": {"regex": "\\bforbidden_%d\\s*\\("}}`, i), `{"paths": ["**/*.go"]}`
		}
		fmt.Fprintf(&s, `{"slug":"B-%d","status":"EFFECTIVE","severity":"HIGH","scope":["unit%d"],"check":%s,"applies_to":%s,`+
			`"statement":"In unit %d, payments above %d must be approved by a second person (rule %d).","rationale":"Two see more than one."}`,
			i, i%100, check, applies, i%100, 1000+i, i)
	}
	s.WriteString("]}")
	return s.String()
}

func post(b *testing.B, h http.Handler, path, body string) (int, string) {
	req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	w.Body = new(bytes.Buffer)
	h.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// BenchmarkEvaluateOverHTTP is an evaluation through the whole node but for the network: 20 rules of the 100 in scope are
// decided by checks, and the record is durable.
func BenchmarkEvaluateOverHTTP(b *testing.B) {
	h := served(b)
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			body := fmt.Sprintf(`{"facts":{"amount":%d,"approvals":1,"reference":"P-%d","currency":"EUR"},"scope":"unit0/desk"}`, i%400, i)
			if code, answer := post(b, h, "/api/v1/evaluate", body); code != http.StatusOK {
				b.Errorf("%d %s", code, answer)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}

// BenchmarkImport imports 10,000 new rules in one request.
func BenchmarkImport(b *testing.B) {
	h := served(b)
	n := 10_000
	for b.Loop() {
		if code, answer := post(b, h, "/api/v1/rules/import", rules(n, 10_000)); code != http.StatusOK {
			b.Fatalf("%d %.300s", code, answer)
		}
		n += 10_000
	}
}
