package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/webhook"
	"tenet/internal/wire"
)

func TestAnEventArrivesSigned(t *testing.T) { onBoth(t, testArrives) }

func testArrives(t *testing.T, b *bed) {
	e := newEndpoint(t)
	p := b.policy(e.URL+"/in?x=1", nil)
	e.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "thanks\x00\xff")
	})
	var want []string
	for range 70 { // more than a batch
		want = append(want, b.publish())
	}
	b.work()
	if diff := cmp.Diff(want, e.ids()); diff != "" {
		t.Fatalf("arrived (-want +got):\n%s", diff)
	}
	theirs, err := standardwebhooks.NewWebhook(p.Secret)
	if err != nil {
		t.Fatal(err)
	}
	first := e.messages()[0]
	if err := theirs.Verify(first.body, first.header); err != nil {
		t.Errorf("the standard's library: %v", err)
	}
	var body struct {
		Type      string
		Timestamp time.Time
		Data      struct{ Message string }
	}
	if err := json.Unmarshal(first.body, &body); err != nil || body.Type != "alert.created" || body.Data.Message == "" || !body.Timestamp.Equal(b.clock.now()) {
		t.Errorf("the body is %s", first.body)
	}
	if e.crowded.Load() {
		t.Error("two requests at once")
	}
	list := b.deliveries(p.ID, store.DeliveryDelivered)
	if len(list) != 70 || list[69].EventID != want[0] {
		t.Fatalf("%d delivered", len(list))
	}
	d := list[0]
	if d.LastStatus != 202 || d.Attempts != 1 || d.Answer != "thanks\uFFFD\uFFFD" || d.Reason != "" || d.EndedAt == nil || d.NextAt != nil {
		t.Errorf("a delivery: %+v", d)
	}
	if b.work() != 0 && len(e.messages()) != 70 {
		t.Error("something was sent again")
	}
}

// The endpoint is down for an hour: all that happened meanwhile arrives, once and soon after it is back, and what was not tried
// before in order.
func TestAnHourWithoutTheEndpoint(t *testing.T) { onBoth(t, testHour) }

func testHour(t *testing.T, b *bed) {
	e := newEndpoint(t)
	p := b.policy(e.URL, nil)
	var refused atomic.Int64
	e.answer(func(w http.ResponseWriter, _ *http.Request) {
		refused.Add(1)
		panic(http.ErrAbortHandler) // the connection breaks
	})
	var want []string
	began := b.clock.now()
	for minute := range 60 {
		want = append(want, b.publish())
		b.workUntil(began.Add(time.Duration(minute+1) * time.Minute))
	}
	if got := b.get(p.ID); got.State != wire.PolicyPaused || got.Failures < 5 || got.PausedUntil == nil {
		t.Errorf("after an hour: %+v", got)
	}
	if n := refused.Load(); n < 6 || n > 60 {
		t.Errorf("%d attempts in an hour, want few", n)
	}
	tried := e.ids()
	e.answer(nil)
	b.workUntil(began.Add(time.Hour + 20*time.Minute))
	arrived := e.ids()[len(tried):]
	fresh := slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(tried, id) })
	first := slices.DeleteFunc(slices.Clone(arrived), func(id string) bool { return slices.Contains(tried, id) })
	if diff := cmp.Diff(fresh, first); diff != "" || len(fresh) < 30 {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	slices.Sort(arrived) // ids sort by time
	if diff := cmp.Diff(want, arrived); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	if got := b.get(p.ID); got.State != wire.PolicyActive || got.Failures != 0 || got.PausedUntil != nil {
		t.Errorf("after all: %+v", got)
	}
}

// Each fault counts as a failure that says what is wrong, and the event arrives once it has passed.
func TestFaultsOfEndpoints(t *testing.T) {
	b := newBedAt(t, pgtest.DSN(t)) // endpoints know of no database, and this one is the faster under the race detector
	patient := b.hooks
	b.cfg.Timeout = 200 * time.Millisecond
	hasty := webhook.New(b.cfg)
	trap := newEndpoint(t)
	untrusted := httptest.NewTLSServer(status(http.StatusOK))
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	t.Cleanup(untrusted.Close)
	var sent atomic.Int64
	for name, c := range map[string]struct {
		say    http.HandlerFunc
		url    string
		status int
		reason string
	}{
		"500":         {say: status(500), status: 500, reason: "answered 500"},
		"404":         {say: status(404), status: 404, reason: "answered 404"},
		"slow":        {say: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, reason: "no answer within 200ms"},
		"hanging up":  {say: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, reason: "no answer: EOF"},
		"certificate": {url: untrusted.URL + "/secret-path", reason: "certificate"},
		"redirect": {
			say: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
			}, status: 307, reason: "redirects are not followed",
		},
		"redirect to where it may go": {
			say: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, trap.URL, http.StatusFound) }, status: 302, reason: "redirects are not followed",
		},
		"huge header": {
			say:    func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 200<<10)) },
			reason: "no answer",
		},
		"huge answer to a failure": {
			say: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadGateway)
				chunk := []byte(strings.Repeat("x", 1<<20))
				for range 100 {
					n, err := w.Write(chunk)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
			}, status: 502, reason: "answered 502",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			e.answer(c.say)
			url := e.URL
			if c.url != "" {
				url = c.url
			}
			p := b.policy(url, nil)
			t.Cleanup(func() { _ = b.hooks.Delete(b.ctx(), project, p.ID) })
			id := b.publish()
			if name == "slow" {
				b.hooks = hasty
			}
			b.work()
			b.hooks = patient
			list := b.deliveries(p.ID, store.DeliveryPending)
			if len(list) != 1 || list[0].Attempts != 1 || list[0].LastStatus != c.status || !strings.Contains(list[0].Reason, c.reason) || len(list[0].Answer) > 4<<10 {
				t.Fatalf("after the fault: %+v", list)
			}
			if strings.Contains(list[0].Reason, "secret-path") {
				t.Error("the reason tells the path of the address")
			}
			if c.url != "" {
				return
			}
			e.answer(nil)
			b.workUntil(b.clock.now().Add(10 * time.Second))
			if got := e.ids(); len(got) != 2 || got[0] != id || got[1] != id {
				t.Errorf("arrived: %v, want %s twice", got, id)
			}
			if len(b.deliveries(p.ID, store.DeliveryDelivered)) != 1 {
				t.Error("it is not delivered")
			}
		})
	}
	if n := len(trap.messages()); n > 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
	if n := sent.Load(); n > 60<<20 {
		t.Errorf("%d MiB of an answer were taken", n>>20)
	}
}

// A success stays one however much the endpoint says.
func TestAHugeAnswerIsCutOff(t *testing.T) {
	b := newBed(t)
	e := newEndpoint(t)
	e.answer(func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			if _, err := w.Write([]byte(strings.Repeat("x", 1<<20))); err != nil {
				return
			}
		}
	})
	p := b.policy(e.URL, nil)
	b.publish()
	b.work()
	if list := b.deliveries(p.ID, store.DeliveryDelivered); len(list) != 1 || len(list[0].Answer) != 4<<10 {
		t.Errorf("%d deliveries", len(list))
	}
}

func TestAnEventThatFailsAlwaysHoldsUpNoOther(t *testing.T) {
	b := newBedAt(t, pgtest.DSN(t)) // under the race detector a day of attempts takes a tenth of the time there
	e := newEndpoint(t)
	p := b.policy(e.URL, nil)
	bad := b.publish()
	e.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("webhook-id") == bad {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	began := b.clock.now()
	for hour := range 24 {
		b.publish()
		b.workUntil(began.Add(time.Duration(hour+1) * time.Hour))
	}
	b.sweep()
	if n := len(b.deliveries(p.ID, store.DeliveryDelivered)); n != 24 {
		t.Errorf("%d of the others were delivered", n)
	}
	dead := b.deliveries(p.ID, store.DeliveryDead)
	if len(dead) != 1 || dead[0].EventID != bad || dead[0].Attempts < 80 || dead[0].Attempts > 110 || !strings.Contains(dead[0].Reason, "given up after 24h0m0s: the endpoint answered 400") {
		t.Fatalf("dead: %+v", dead)
	}
	before := len(e.ids())
	b.workUntil(b.clock.now().Add(48 * time.Hour))
	if n := len(e.ids()); n != before {
		t.Error("a dead delivery was tried")
	}

	// Somebody repairs the endpoint and sends it once more.
	e.answer(nil)
	d, err := b.hooks.Redeliver(b.ctx(), project, p.ID, dead[0].ID)
	if err != nil || d.State != store.DeliveryPending || d.Attempts != 0 {
		t.Fatalf("redelivered: %+v, %v", d, err)
	}
	_, err = b.hooks.Redeliver(b.ctx(), project, p.ID, dead[0].ID)
	if rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("redelivered while pending: %v", err)
	}
	b.work()
	if ids := e.ids(); ids[len(ids)-1] != bad || len(b.deliveries(p.ID, store.DeliveryDelivered)) != 25 {
		t.Errorf("the last to arrive is %s", ids[len(ids)-1])
	}
}

func TestGoneDisablesThePolicy(t *testing.T) {
	b := newBed(t)
	e := newEndpoint(t)
	p := b.policy(e.URL, nil)
	e.answer(status(http.StatusGone))
	b.publish()
	second := b.publish()
	b.workUntil(b.clock.now().Add(time.Hour))
	got := b.get(p.ID)
	if got.Enabled || got.State != wire.PolicyDisabled || !strings.Contains(got.DisabledReason, "410") || len(e.ids()) != 1 {
		t.Fatalf("after 410: %+v, %d requests", got, len(e.ids()))
	}
	b.publish() // nobody wants it
	if dead, pending := b.deliveries(p.ID, store.DeliveryDead), b.deliveries(p.ID, store.DeliveryPending); len(dead) != 1 || len(pending) != 1 {
		t.Errorf("%d dead, %d pending", len(dead), len(pending))
	}
	_, err := b.hooks.Redeliver(b.ctx(), project, p.ID, b.deliveries(p.ID, store.DeliveryDead)[0].ID)
	if rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("redelivering to a disabled policy: %v", err)
	}
	e.answer(nil)
	if got, err := b.hooks.Change(b.ctx(), project, p.ID, webhook.Input{Enabled: new(true)}); err != nil || got.DisabledReason != "" || got.State != wire.PolicyActive {
		t.Fatalf("enabled: %+v, %v", got, err)
	}
	b.work()
	if ids := e.ids(); len(ids) != 2 || ids[1] != second {
		t.Errorf("after it was enabled: %v", ids)
	}
	entries, _, err := b.s.Audit.Find(b.ctx(), store.AuditFilter{ProjectID: project, Kind: "webhook", Limit: 9})
	if err != nil || len(entries) != 3 || entries[1].Actor != "system" || entries[0].Actor != "ann" {
		t.Errorf("audit: %+v, %v", entries, err)
	}
}

// A node that stops begins no other delivery, and ends the one under way; the others are left to another node.
func TestANodeThatStopsCutsNoDeliveryOff(t *testing.T) {
	b, e := newBed(t), newEndpoint(t)
	p := b.policy(e.URL, nil)
	for range 3 {
		b.publish()
	}
	var attempt atomic.Pointer[context.Context]
	deliver := func(ctx context.Context, j wire.Job, progress func(done, total int)) error {
		attempt.Store(&ctx)
		return b.hooks.Deliver(ctx, j, progress)
	}
	runner := job.New(job.Config{Store: job.Store{Updater: b.s, JobWatcher: b.s, Jobs: b.s.Jobs}, Poll: 5 * time.Millisecond, Handlers: map[string]job.Handler{webhook.DeliverKind: deliver}})
	stopped := make(chan error, 1)
	stop := sync.OnceFunc(func() { go func() { stopped <- runner.Stop(b.ctx()) }() })
	e.answer(func(http.ResponseWriter, *http.Request) {
		stop()
		for !job.Stopping(*attempt.Load()) {
			time.Sleep(time.Millisecond)
		}
	})
	runner.Start()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if n := len(b.deliveries(p.ID, store.DeliveryDelivered)); n != 1 || len(e.ids()) != 1 {
		t.Errorf("%d delivered by %d requests, want one", n, len(e.ids()))
	}
	e.answer(nil)
	b.work()
	if n := len(b.deliveries(p.ID, store.DeliveryDelivered)); n != 3 || len(e.ids()) != 3 {
		t.Errorf("%d delivered by %d requests in the end, want three", n, len(e.ids()))
	}
}

// What is said about a policy while its deliveries are being sent holds from the next one on.
func TestAPolicyIsChangedWhileItIsDelivered(t *testing.T) {
	for name, change := range map[string]func(b *bed, id, url string) error{
		"disabled": func(b *bed, id, _ string) error {
			_, err := b.hooks.Change(b.ctx(), project, id, webhook.Input{Enabled: new(false)})
			return err
		},
		"deleted": func(b *bed, id, _ string) error { return b.hooks.Delete(b.ctx(), project, id) },
		"another address": func(b *bed, id, url string) error {
			_, err := b.hooks.Change(b.ctx(), project, id, webhook.Input{URL: &url})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, e, other := newBed(t), newEndpoint(t), newEndpoint(t)
			p := b.policy(e.URL, nil)
			for range 3 {
				b.publish()
			}
			e.answer(func(http.ResponseWriter, *http.Request) {
				if err := change(b, p.ID, other.URL); err != nil {
					t.Error(err)
				}
				time.Sleep(60 * time.Millisecond) // longer than the policy counts as it was read
			})
			b.work()
			if n := len(e.ids()); n != 1 {
				t.Errorf("%d requests, want one", n)
			}
			want := 0
			if name == "another address" {
				want = 2
			}
			if n := len(other.ids()); n != want {
				t.Errorf("%d requests went elsewhere, want %d", n, want)
			}
		})
	}
}

// Another address begins afresh: what has failed at the old one is sent at once, and the attempt that was under way there does not
// pause it.
func TestAnotherAddressBeginsAfresh(t *testing.T) { onBoth(t, testAfresh) }

func testAfresh(t *testing.T, b *bed) {
	e, other := newEndpoint(t), newEndpoint(t)
	p := b.policy(e.URL, nil)
	var want []string
	for range 5 {
		want = append(want, b.publish())
	}
	e.answer(func(w http.ResponseWriter, _ *http.Request) {
		if len(e.ids()) == 5 { // after this failure the endpoint would be left alone
			if _, err := b.hooks.Change(b.ctx(), project, p.ID, webhook.Input{URL: &other.URL}); err != nil {
				t.Error(err)
			}
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	b.work()
	if got := b.get(p.ID); got.State != wire.PolicyActive || got.Failures != 0 {
		t.Errorf("after another address was given: %+v", got)
	}
	if diff := cmp.Diff(want[:4], other.ids()); diff != "" {
		t.Errorf("arrived at once (-want +got):\n%s", diff)
	}
	b.workUntil(b.clock.now().Add(10 * time.Second)) // the one that was under way
	if diff := cmp.Diff(want, other.ids()); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	b := newBed(t)
	for header, want := range map[string][2]time.Duration{ // at least, at most
		"90": {90 * time.Second, 90 * time.Second}, "999999999": {time.Hour, time.Hour}, "soon": {5 * time.Second, 6 * time.Second},
		"-5": {5 * time.Second, 6 * time.Second}, b.clock.now().Add(10 * time.Minute).Format(http.TimeFormat): {9 * time.Minute, 10 * time.Minute},
	} {
		e := newEndpoint(t)
		e.answer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		p := b.policy(e.URL, nil)
		b.publish()
		b.publish()
		now := b.clock.now()
		b.work()
		list := b.deliveries(p.ID, store.DeliveryPending)
		slices.Reverse(list)
		if wait := list[0].NextAt.Sub(now); wait < want[0] || wait > want[1] {
			t.Errorf("Retry-After %s: next in %s", header, wait)
		}
		if held := list[1].Attempts == 0; held != (want[0] > 6*time.Second) {
			t.Errorf("Retry-After %s: the next delivery was tried %d times", header, list[1].Attempts)
		}
		if err := b.hooks.Delete(b.ctx(), project, p.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRotation(t *testing.T) {
	b := newBed(t)
	e := newEndpoint(t)
	p := b.policy(e.URL, nil)
	next, err := b.hooks.Rotate(b.ctx(), project, p.ID, "", time.Hour)
	if err != nil || next.Secret == p.Secret || next.OldSecretUntil == nil {
		t.Fatalf("rotated: %+v, %v", next.Policy, err)
	}
	verified := func(secret string) bool {
		theirs, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		all := e.messages()
		return theirs.VerifyIgnoringTimestamp(all[len(all)-1].body, all[len(all)-1].header) == nil
	}
	for _, c := range []struct {
		after    time.Duration
		old, new bool
	}{{0, true, true}, {time.Hour, false, true}} {
		b.clock.move(c.after)
		b.publish()
		b.work()
		if verified(p.Secret) != c.old || verified(next.Secret) != c.new {
			t.Errorf("after %s: the old secret verifies: %v, the new one: %v", c.after, verified(p.Secret), verified(next.Secret))
		}
	}
	if b.get(p.ID).OldSecretUntil != nil {
		t.Error("the old secret still counts")
	}
	if _, err := b.hooks.Rotate(b.ctx(), project, p.ID, next.Secret, time.Hour); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("rotated to the same: %v", err)
	}
	last, err := b.hooks.Rotate(b.ctx(), project, p.ID, "", 0)
	if err != nil || last.OldSecretUntil != nil {
		t.Fatalf("rotated at once: %+v, %v", last.Policy, err)
	}
	b.publish()
	b.work()
	if verified(next.Secret) || !verified(last.Secret) {
		t.Error("a rotation without overlap has one")
	}
}

func TestPing(t *testing.T) {
	b := newBed(t)
	e := newEndpoint(t)
	p := b.policy(e.URL, nil)
	r, err := b.hooks.Test(b.ctx(), project, p.ID)
	if err != nil || !r.Delivered || r.Status != 200 || r.EventID != e.ids()[0] || !strings.Contains(string(e.messages()[0].body), `"type":"ping"`) {
		t.Errorf("ping: %+v, %v", r, err)
	}
	e.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "short and stout")
	})
	if r, err = b.hooks.Test(b.ctx(), project, p.ID); err != nil || r.Delivered || r.Status != 418 || r.Answer != "short and stout" || r.Reason == "" {
		t.Errorf("ping: %+v, %v", r, err)
	}
	if len(b.deliveries(p.ID, "")) != 0 || b.get(p.ID).Failures != 0 {
		t.Error("a test leaves something behind")
	}
}

func TestSecretsAreShownOnceAndNowhereElse(t *testing.T) {
	b := newBed(t)
	e := newEndpoint(t)
	e.answer(status(500))
	p := b.policy(e.URL+"/T0/B0/token", nil)
	next, err := b.hooks.Rotate(b.ctx(), project, p.ID, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		b.publish()
	}
	b.workUntil(b.clock.now().Add(time.Hour))
	if _, err := b.hooks.Change(b.ctx(), project, p.ID, webhook.Input{Name: new("other")}); err != nil {
		t.Fatal(err)
	}
	policies, err := b.hooks.Policies(b.ctx(), project)
	if err != nil {
		t.Fatal(err)
	}
	told, err := json.Marshal([]any{policies, b.deliveries(p.ID, "")})
	if err != nil {
		t.Fatal(err)
	}
	told = append(told, b.log.String()...)
	entries, _, err := b.s.Audit.Find(b.ctx(), store.AuditFilter{ProjectID: project, Limit: 9})
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, entry := range entries {
		body := auditBody(t, entry)
		if told = append(told, body...); strings.Contains(body, "token") || !strings.Contains(body, strings.TrimPrefix(e.URL, "http://")) {
			t.Errorf("the audit entry is %s", body)
		}
	}
	for _, m := range e.messages() {
		told = append(told, m.body...)
	}
	for _, secret := range []string{p.Secret, next.Secret} {
		if strings.Contains(string(told), strings.TrimPrefix(secret, "whsec_")) {
			t.Error("a secret is told")
		}
	}
	if log := b.log.String(); !strings.Contains(log, "left alone") || strings.Contains(log, "token") {
		t.Errorf("the log: %s", log)
	}
}
