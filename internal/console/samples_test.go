package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire/op"
)

// TestSampledVerdicts shows what the judge said of samples, and leads there from a rule.
func TestSampledVerdicts(t *testing.T) {
	data := litetest.Dir(t)
	n := newNode(t, map[string]string{"data": data})
	r, err := client.Get(t.Context(), n.api, op.GetRule.At("SEC-001"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.OpenSQLite(t.Context(), data, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx store.Tx) error {
		for i, judged := range []rule.Verdict{rule.Allow, rule.Deny, rule.NeedsConfirmation} {
			if err := tx.Samples.Put(t.Context(), store.Sample{
				ProjectID: "default", EvaluationID: "e" + string(rune('0'+i)), RuleID: r.ID, Kind: store.SampledCheck, RuleVersion: 1, Said: rule.Allow, Judged: judged, At: time.Now(),
			}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	v := n.visitor()
	page := v.get("/p/default/overview/samples?rule=SEC-001")
	for _, want := range []string{"Sampled verdicts", "SEC-001", "50.0 %", "95 %: 9.5 % to 90.5 %", "1 undecided by the judge", "/p/default/evaluations/e1"} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("%d, without %q: %s", page.status, want, page.body)
		}
	}
	if page := v.get("/p/default/overview/samples?rule=no-such-rule"); page.status != http.StatusOK || !strings.Contains(page.body, "There is no rule no-such-rule.") {
		t.Errorf("an unknown rule: %d", page.status)
	}
	if page := v.get("/p/default/rules/" + r.ID); !strings.Contains(page.body, "/p/default/overview/samples?rule="+r.ID) {
		t.Error("the rule does not lead to its samples")
	}
}
