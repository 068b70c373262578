package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"tenet/internal/app"
	"tenet/internal/rule"
	"tenet/internal/signature"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
)

// told is a request that an endpoint has got.
type told struct{ id, body string }

// listener is an endpoint that gives what it gets, once the standard's library has verified it with the secret, which may be set
// later.
func listener(t *testing.T, secret *string) (url string, got <-chan told) {
	t.Helper()
	list := make(chan told, 9)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			var theirs *standardwebhooks.Webhook
			if theirs, err = standardwebhooks.NewWebhook(*secret); err == nil {
				err = theirs.Verify(body, r.Header)
			}
		}
		if err != nil {
			t.Error(err)
		}
		list <- told{r.Header.Get(signature.HeaderID), string(body)}
	}))
	t.Cleanup(endpoint.Close)
	return endpoint.URL, list
}

// next is what an endpoint gets next.
func next(t *testing.T, got <-chan told) told {
	t.Helper()
	select {
	case one := <-got:
		return one
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
		return told{}
	}
}

// The story of a contradiction: two rules are made, a job finds that they contradict each other, an alert is raised, and an endpoint is
// told, by a signature that the standard's library verifies; somebody acknowledges the alert and resolves it, which is told too.
func TestAContradictionIsTold(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { testContradiction(t, "data", litetest.Dir(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { testContradiction(t, "database_url", pgtest.DSN(t)) })
}

func testContradiction(t *testing.T, setting, database string) {
	a := node(t, app.Options{Work: true}, map[string]string{
		setting: database, "no_seed": "true", "webhook_allow_networks": "127.0.0.0/8", "poll_interval": "20ms",
	})
	do := func(want int, method, path, body string, into any) {
		t.Helper()
		if code := ask(t, a, method, path, body, into); code != want {
			t.Fatalf("%s %s: status %d, want %d", method, path, code, want)
		}
	}
	var made struct{ ID, Secret string }
	url, got := listener(t, &made.Secret)
	do(http.StatusCreated, http.MethodPost, "/api/v1/gateway/policies", fmt.Sprintf(`{"name": "on-call", "url": %q, "event_types": ["alert.created", "alert.resolved"]}`, url), &made)

	rules := map[string]string{} // by id
	for _, days := range []string{"30", "60"} {
		var r struct{ ID string }
		do(http.StatusCreated, http.MethodPost, "/api/v1/rules",
			`{"statement": "Invoices must be paid within `+days+` days.", "modality": "MUST", "severity": "HIGH", "status": "EFFECTIVE"}`, &r)
		rules[r.ID] = days
	}

	type event struct {
		Type rule.EventType
		Data rule.Alert
	}
	hears := func() (webhookID string, e event) {
		t.Helper()
		one := next(t, got)
		if err := json.Unmarshal([]byte(one.body), &e); err != nil {
			t.Fatal(err)
		}
		return one.id, e
	}
	first, created := hears()
	raised := created.Data
	if created.Type != rule.AlertCreated || raised.Type != rule.ConflictDetected || raised.Status != rule.AlertActive || rules[raised.RuleID] == "" {
		t.Fatalf("told %+v", created)
	}
	var alerts struct {
		Total  int
		Alerts []rule.Alert
	}
	do(http.StatusOK, http.MethodGet, "/api/v1/alerts?status=active", "", &alerts)
	if alerts.Total != 1 || alerts.Alerts[0].ID != raised.ID || alerts.Alerts[0].Message != raised.Message {
		t.Errorf("the alerts are %+v", alerts)
	}
	var found struct {
		Conflicts []struct{ Rule struct{ ID string } }
	}
	do(http.StatusOK, http.MethodPost, "/api/v1/search/conflict?rule_id="+raised.RuleID, "", &found)
	if len(found.Conflicts) != 1 || found.Conflicts[0].Rule.ID == raised.RuleID || rules[found.Conflicts[0].Rule.ID] == "" {
		t.Errorf("the conflicts are %+v", found)
	}

	at := "/api/v1/alerts/" + raised.ID
	var one rule.Alert
	do(http.StatusOK, http.MethodPost, at+"/acknowledge", "", &one)
	if one.Status != rule.AlertAcknowledged || one.AcknowledgedBy != "local" || one.AcknowledgedAt == nil {
		t.Errorf("acknowledged: %+v", one)
	}
	do(http.StatusOK, http.MethodPost, at+"/resolve", `{"resolution_note": "60 days it is."}`, &one)
	if one.Status != rule.AlertDone || one.ResolvedBy != "local" {
		t.Errorf("resolved: %+v", one)
	}
	do(http.StatusConflict, http.MethodPost, at+"/acknowledge", "", nil)

	second, resolved := hears() // and of nothing in between
	if resolved.Type != rule.AlertResolved || second == first || resolved.Data.ID != raised.ID || resolved.Data.AcknowledgedBy != "local" || resolved.Data.ResolutionNote != "60 days it is." {
		t.Errorf("told %+v", resolved)
	}
	var sent struct {
		Items []struct {
			EventID  string `json:"event_id"`
			Attempts int
		}
	}
	for end := time.Now().Add(time.Minute); len(sent.Items) < 2 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		do(http.StatusOK, http.MethodGet, "/api/v1/gateway/policies/"+made.ID+"/deliveries?state=delivered", "", &sent)
	}
	if len(sent.Items) != 2 || sent.Items[0].EventID != second || sent.Items[1].EventID != first || sent.Items[0].Attempts+sent.Items[1].Attempts != 2 {
		t.Errorf("delivered: %+v", sent)
	}
}

// The story of a violation: something comes in signed, the rules deny it, and an endpoint is told, by a signature that the
// standard's library verifies.
func TestAViolationIsTold(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { testTold(t, "data", litetest.Dir(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { testTold(t, "database_url", pgtest.DSN(t)) })
}

func testTold(t *testing.T, setting, database string) {
	secret := signature.NewSecret()
	a := node(t, app.Options{Work: true}, map[string]string{
		setting: database, "no_seed": "true", "webhook_allow_networks": "127.0.0.0/8", "ingest_secret": secret, "poll_interval": "20ms",
	})
	var made struct{ ID, Secret string }
	url, got := listener(t, &made.Secret)
	policy := fmt.Sprintf(`{"name": "on-call", "url": %q, "event_types": ["evaluation.violated", "snapshot.deployed"], "filter": {"severity_min": "high"}}`, url)
	if code := ask(t, a, http.MethodPost, "/api/v1/gateway/policies", policy, &made); code != http.StatusCreated {
		t.Fatalf("status %d", code)
	}
	for _, severity := range []string{"HIGH", "MEDIUM"} {
		body := fmt.Sprintf(`{"slug": %q, "statement": "Pay no more than 10.", "severity": %q, "status": "EFFECTIVE", "check": {"cel": "facts.amount <= %s"}}`,
			severity, severity, map[string]string{"HIGH": "10.0", "MEDIUM": "5.0"}[severity])
		if code := ask(t, a, http.MethodPost, "/api/v1/rules", body, nil); code != http.StatusCreated {
			t.Fatalf("status %d", code)
		}
	}
	send := func(id, mode string, amount int) {
		t.Helper()
		body := fmt.Sprintf(`{"mode": %q, "subject": {"kind": "transaction", "amount": %d}}`, mode, amount)
		now := time.Now()
		signed, err := signature.Sign(id, now, []byte(body), secret)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/v1/gateway/ingest/generic", strings.NewReader(body))
		r.Header.Set(signature.HeaderID, id)
		r.Header.Set(signature.HeaderTimestamp, fmt.Sprint(now.Unix()))
		r.Header.Set(signature.HeaderSignature, signed)
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusAccepted {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
	send("msg_1", string(rule.Preflight), 11) // it has not happened
	send("msg_2", string(rule.Posthoc), 7)    // no rule that is severe enough
	send("msg_3", string(rule.Posthoc), 11)
	if body := next(t, got).body; !strings.Contains(body, `"type":"evaluation.violated"`) || !strings.Contains(body, `"overall_verdict":"DENY"`) || !strings.Contains(body, `"rule_slug":"HIGH"`) {
		t.Errorf("told %s", body)
	}
	var snapshot struct{ ID string }
	ask(t, a, http.MethodPost, "/api/v1/snapshots", `{"name": "one"}`, &snapshot)
	if code := ask(t, a, http.MethodPost, "/api/v1/snapshots/"+snapshot.ID+"/deploy", `{"environment": "staging"}`, nil); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	// Nothing of the two others comes before it.
	if body := next(t, got).body; !strings.Contains(body, `"type":"snapshot.deployed"`) || !strings.Contains(body, `"environment":"staging"`) {
		t.Errorf("told %s", body)
	}

	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/metrics", nil)
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, r)
	for _, name := range []string{"tenet_webhook_deliveries_pending", "tenet_webhook_attempt_duration_seconds"} {
		if !strings.Contains(w.Body.String(), name) {
			t.Errorf("there is no metric %s", name)
		}
	}
}
