package app_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/audit"
	"tenet/internal/evaluate/record"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// The setting alerts says whether rules are watched in the background; without it, insights are still told.
func TestAlertsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	for setting, watched := range map[string]bool{"true": true, "false": false} {
		a := node(t, app.Options{Work: true}, map[string]string{"data": litetest.Dir(t), "no_seed": "true", "alerts": setting, "alert_deny_min": "1"})
		ask(t, a, http.MethodPost, "/api/v1/rules", `{"slug":"N-1","statement":"No x.","status":"EFFECTIVE","check":{"pattern":{"regex":"x"}}}`, nil)
		if code := ask(t, a, http.MethodPost, "/api/v1/evaluate", `{"files":[{"path":"a","content":"x"}]}`, nil); code != http.StatusOK {
			t.Fatal(code)
		}
		var o wire.Overview
		if code := ask(t, a, http.MethodGet, "/api/v1/insights", "", &o); code != http.StatusOK || o.Totals.Deny != 1 {
			t.Errorf("alerts %s: insights %d %+v", setting, code, o.Totals)
		}
		var alerts struct{ Total int }
		if code := ask(t, a, http.MethodGet, "/api/v1/alerts", "", &alerts); code != http.StatusOK || (alerts.Total == 1) != watched {
			t.Errorf("alerts %s: status %d, %d alerts", setting, code, alerts.Total)
		}
		var kinds []string
		for deadline := time.Now().Add(time.Minute); !slices.Contains(kinds, record.PruneKind) && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			var jobs struct{ Items []struct{ Kind string } }
			ask(t, a, http.MethodGet, "/api/v1/jobs?project_id=*&page_size=100", "", &jobs)
			kinds = nil
			for _, j := range jobs.Items {
				kinds = append(kinds, j.Kind)
			}
		}
		for _, kind := range []string{health.CountKind, health.MeasureKind, health.SweepKind} { // made in one transaction with the other
			if slices.Contains(kinds, kind) != watched {
				t.Errorf("alerts %s: the jobs are %v", setting, kinds)
			}
		}
	}
}

// Where nothing counts in the background, an answer counts all that is recorded: nobody else ever would.
func TestInsightsAreCompleteWithoutBackgroundWork(t *testing.T) {
	t.Parallel()
	const recorded = 2500
	for name, o := range map[string]struct {
		options app.Options
		alerts  string
	}{"embedded": {app.Options{}, "true"}, "alerts are off": {app.Options{Work: true}, "false"}} {
		dir := litetest.Dir(t)
		a := node(t, o.options, map[string]string{"data": dir, "no_seed": "true", "alerts": o.alerts})
		s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(t.Context(), func(tx store.Tx) error {
			for range recorded {
				err := audit.Append(t.Context(), tx, rule.DefaultProject, audit.Record{
					Kind: audit.KindEvaluation, At: time.Now(), Verdict: string(rule.Deny), Body: []byte(`{"evaluation":{"rule_verdicts":[]}}`),
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		var got wire.Overview
		if code := ask(t, a, http.MethodGet, "/api/v1/insights", "", &got); code != http.StatusOK || got.Totals.Deny != recorded || got.Uncounted != 0 {
			t.Errorf("%s: insights %d: %d of %d denials, %d entries are not counted", name, code, got.Totals.Deny, recorded, got.Uncounted)
		}
	}
}
