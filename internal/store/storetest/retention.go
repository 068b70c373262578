package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

func testRetentionOfProjects(t *testing.T, f *fixture) {
	if r, err := f.s.Retention.Get(f.ctx, "p"); err != nil || len(r.Times)+len(r.Holds) > 0 {
		t.Errorf("at first: %+v, %v", r, err)
	}
	put := func(project string, r rule.Retention) error {
		return f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Retention.Put(f.ctx, project, r) })
	}
	days, when := 0, at
	first := rule.Retention{HighRisk: true, Holds: []rule.LegalHold{{ID: "h", Reason: "r", PlacedAt: at, LiftedAt: &when}}, Lifts: 1}
	second := rule.Retention{Times: map[string]rule.KeepTime{"evaluation": {Days: &days, Minimum: 7}}, Proposal: &rule.RetentionProposal{By: "ann", At: at}}
	for _, want := range []rule.Retention{first, second} {
		if err := put("p", want); err != nil {
			t.Fatal(err)
		}
		got, err := f.s.Retention.Get(f.ctx, "p")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if err := put("none", first); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("without the project: %v; want not_found", err)
	}
	rows, err := f.s.InForce.Rows(f.ctx, "p", store.RetentionInForce, nil)
	if err != nil || len(rows) != 1 || rows[0].ID != "p" {
		t.Errorf("in force: %+v, %v", rows, err)
	}
}
