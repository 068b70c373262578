package app_test

import (
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

// The story of a violation: something comes in signed, the rules deny it, and an endpoint is told, by a signature that the
// standard's library verifies.
func TestAViolationIsTold(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { testTold(t, "data", litetest.Dir(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { testTold(t, "database_url", pgtest.DSN(t)) })
}

func testTold(t *testing.T, setting, database string) {
	secret := signature.NewSecret()
	a := node(t, app.Options{Work: true}, map[string]string{
		setting: database, "no_seed": "true", "webhook_allow_networks": "127.0.0.0/8", "ingest_secret": secret, "poll_interval": "20ms",
	})
	var made struct{ ID, Secret string }
	got := make(chan string, 9)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		theirs, err := standardwebhooks.NewWebhook(made.Secret)
		if err == nil {
			err = theirs.Verify(body, r.Header)
		}
		if err != nil {
			t.Error(err)
		}
		got <- string(body)
	}))
	t.Cleanup(endpoint.Close)
	policy := fmt.Sprintf(`{"name": "on-call", "url": %q, "event_types": ["evaluation.violated", "snapshot.deployed"], "filter": {"severity_min": "high"}}`, endpoint.URL)
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
	select {
	case body := <-got:
		if !strings.Contains(body, `"type":"evaluation.violated"`) || !strings.Contains(body, `"overall_verdict":"DENY"`) || !strings.Contains(body, `"rule_slug":"HIGH"`) {
			t.Errorf("told %s", body)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
	}
	var snapshot struct{ ID string }
	ask(t, a, http.MethodPost, "/api/v1/snapshots", `{"name": "one"}`, &snapshot)
	if code := ask(t, a, http.MethodPost, "/api/v1/snapshots/"+snapshot.ID+"/deploy", `{"environment": "staging"}`, nil); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	select {
	case body := <-got: // nothing of the two others came before it
		if !strings.Contains(body, `"type":"snapshot.deployed"`) || !strings.Contains(body, `"environment":"staging"`) {
			t.Errorf("told %s", body)
		}
	case <-time.After(time.Minute):
		t.Fatal("the deployment is not told")
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
