package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/webhook"
	"tenet/internal/wire"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	onBoth(t, testWebhooks)
}

func testWebhooks(t *testing.T, n *node) {
	got := make(chan *http.Request, 9)
	var secret string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		theirs, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = theirs.Verify(body, r.Header)
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "got it")
		got <- r
	}))
	t.Cleanup(receiver.Close)

	made := n.call("POST", policiesPath, fields{"name": "on-call", "url": receiver.URL, "event_types": []string{"alert.created"}}).want(http.StatusCreated)
	p := into[wire.PolicyWithSecret](made)
	secret = p.Secret
	if made.header.Get("Location") != policiesPath+"/"+p.ID || !p.Enabled || p.Format != wire.FormatStandard || p.CreatedBy != "local" {
		t.Errorf("made: %s", made.body)
	}
	path := policiesPath + "/" + p.ID
	n.call("POST", policiesPath, fields{"name": "on-call", "url": receiver.URL, "event_types": []string{"alert.created"}}).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", policiesPath, fields{"name": "x", "url": "http://169.254.169.254/", "event_types": []string{"x"}, "secret": "x"}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "url", "event_types", "secret")

	if r := into[wire.TestResult](n.call("POST", path+"/test", nil).want(http.StatusOK)); !r.Delivered || r.Answer != "got it" || (<-got).Header.Get("webhook-id") != r.EventID {
		t.Errorf("ping: %+v", r)
	}
	// An event is sent by the job, and its delivery is there to see.
	n.publish(rule.Event{ID: "0b9d7a1e-0000-7000-8000-000000000001", ProjectID: rule.DefaultProject, Type: rule.AlertCreated, Time: time.Now(), Data: []byte(`{"a":1}`)})
	runner := job.New(job.Config{Store: job.Store{Updater: n.store, JobWatcher: n.store, Jobs: n.store.Jobs}, Poll: 10 * time.Millisecond, Handlers: map[string]job.Handler{webhook.DeliverKind: n.cfg.Webhooks.Deliver}})
	runner.Start()
	t.Cleanup(func() {
		if err := runner.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	if id := (<-got).Header.Get("webhook-id"); id != "0b9d7a1e-0000-7000-8000-000000000001" {
		t.Errorf("webhook-id %s", id)
	}
	d := n.delivered(path)
	again := into[wire.Delivery](n.call("POST", fmt.Sprintf("%s/deliveries/%d/redeliver", path, d.ID), nil).want(http.StatusAccepted))
	if again.State != store.DeliveryPending || (<-got).Header.Get("webhook-id") != d.EventID {
		t.Errorf("redelivered: %+v", again)
	}
	n.call("POST", path+"/deliveries/999999/redeliver", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", path+"/deliveries?state=late", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "state")

	rotated := into[wire.PolicyWithSecret](n.call("POST", path+"/secret", fields{"overlap_seconds": 60}).want(http.StatusOK))
	if rotated.Secret == secret || rotated.OldSecretUntil == nil {
		t.Errorf("rotated: %+v", rotated.Policy)
	}
	for _, overlap := range []any{-1, 1 << 40, nil} {
		n.call("POST", path+"/secret", fields{"overlap_seconds": overlap}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "overlap_seconds")
	}
	changed := into[wire.Policy](n.call("PATCH", path, fields{"name": "night", "filter": fields{"severity_min": "high"}, "enabled": false}).want(http.StatusOK))
	if changed.Name != "night" || changed.Filter.SeverityMin != rule.High || changed.State != wire.PolicyDisabled || changed.URL != receiver.URL {
		t.Errorf("changed: %+v", changed)
	}
	if changed = into[wire.Policy](n.call("PATCH", path, fields{"filter": nil}).want(http.StatusOK)); changed.Filter.SeverityMin != "" {
		t.Errorf("the filter is not cleared: %+v", changed)
	}
	n.call("PATCH", path, fields{"name": nil}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "name")
	n.call("PATCH", path, fields{"secret": "x"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "secret")
	list, one := n.call("GET", policiesPath, nil).want(http.StatusOK), n.call("GET", path, nil).want(http.StatusOK)
	if page := into[wire.Page[wire.Policy]](list); page.Total != 1 || page.Items[0].ID != p.ID {
		t.Errorf("policies: %+v", page)
	}
	for _, told := range []string{string(list.body), string(one.body), n.log.String()} {
		if strings.Contains(told, "whsec_") || strings.Contains(told, rotated.Secret) {
			t.Errorf("a secret is told: %s", told)
		}
	}
	n.makeProject("pay")
	n.call("GET", path+"?project_id=pay", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("DELETE", path, nil).want(http.StatusNoContent)
	for _, call := range [][2]string{{"GET", path}, {"DELETE", path}, {"GET", path + "/deliveries"}, {"POST", path + "/test"}} {
		n.call(call[0], call[1], nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
}

func (n *node) publish(e rule.Event) {
	n.t.Helper()
	ctx := auth.WithActor(n.t.Context(), auth.Local("test"))
	if err := n.store.Update(ctx, func(tx store.Tx) error { return n.cfg.Webhooks.Publish(ctx, tx, e) }); err != nil {
		n.t.Fatal(err)
	}
}

// delivered waits until a policy's one delivery is marked as delivered.
func (n *node) delivered(path string) wire.Delivery {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		page := into[wire.Page[wire.Delivery]](n.call("GET", path+"/deliveries?state=delivered", nil).want(http.StatusOK))
		if page.Total == 1 {
			return page.Items[0]
		}
	}
	n.t.Fatal("nothing is delivered")
	return wire.Delivery{}
}
