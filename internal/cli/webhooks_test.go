package cli

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"tenet/internal/store/litetest"
)

func TestWebhookCommands(t *testing.T) {
	data, status := litetest.Dir(t), http.StatusOK
	var secret string
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		theirs, err := standardwebhooks.NewWebhook(secret)
		if err != nil || theirs.Verify(body, r.Header) != nil {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("hello\x1b[2J"))
	}))
	t.Cleanup(endpoint.Close)
	tenet := func(args ...string) (int, string, string) {
		return runIn(t.Context(), t, "", []string{"TENET_NO_SEED=true", "TENET_WEBHOOK_ALLOW_NETWORKS=127.0.0.0/8"}, append(args, "--data", data)...)
	}
	if code, _, errs := tenet("webhooks", "create", "x", "http://169.254.169.254/"); code != 2 || !strings.Contains(errs, "public internet") {
		t.Errorf("an address inside: exit %d, %s", code, errs)
	}
	code, out, errs := tenet("webhooks", "create", "on-call", endpoint.URL, "--event", "snapshot.deployed", "--severity-min", "high")
	secret = strings.TrimSpace(out)
	if code != 0 || !regexp.MustCompile(`^whsec_[A-Za-z0-9+/=]{44}\n$`).MatchString(out) || !strings.Contains(errs, "on-call") {
		t.Fatalf("create: exit %d, %q, %q", code, out, errs)
	}
	step := func(want int, text string, args ...string) string {
		t.Helper()
		code, out, errs := tenet(append([]string{"webhooks"}, args...)...)
		if code != want || !strings.Contains(out+errs, text) || strings.Contains(out+errs, secret) || strings.Contains(out+errs, "\x1b") {
			t.Errorf("%v: exit %d, %q, %q; want %d and %q", args, code, out, errs, want, text)
		}
		return out
	}
	step(0, "snapshot.deployed", "list")
	step(0, `"severity_min": "HIGH"`, "list", "-f", "json")
	step(0, "delivered: 200", "test", "on-call")
	status = http.StatusTeapot
	step(1, "answered 418", "test", "on-call")
	step(2, "there is no webhook", "test", "nobody")
	for _, args := range [][]string{{"snapshots", "create", "one"}, {"snapshots", "deploy", "one", "staging"}} {
		if code, _, errs := tenet(args...); code != 0 {
			t.Fatalf("%v: %s", args, errs)
		}
	}
	step(0, "snapshot.deployed  pending", "deliveries", "on-call")
	step(2, "still pending", "redeliver", "on-call", "1")
	step(0, `"items": []`, "deliveries", "on-call", "--state", "dead", "-f", "json")
	if next := strings.TrimSpace(step(0, "whsec_", "rotate", "on-call", "--overlap", "1h")); next == secret {
		t.Error("the secret stays")
	}
	step(0, "is disabled", "disable", "on-call")
	step(0, "is active", "enable", "on-call")
	step(0, "is deleted", "delete", "on-call")
	step(0, "there are no webhooks", "list")
}
