package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"tenet/internal/job"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/webhook"
)

// crashTarget names the database whose events this test binary delivers until it is killed, instead of running tests.
const crashTarget = "TENET_TEST_WEBHOOK_TARGET"

func TestMain(m *testing.M) {
	if target := os.Getenv(crashTarget); target != "" {
		fmt.Fprintln(os.Stderr, deliverUntilKilled(target))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func deliverUntilKilled(target string) error {
	s, err := openTarget(context.Background(), target)
	if err != nil {
		return err
	}
	hooks := webhook.New(webhook.Config{Store: webhook.Store{Updater: s, Webhooks: s.Webhooks, Deliveries: s.Deliveries}, Queue: job.NewQueue(time.Now), Now: time.Now, AllowNetworks: loopback})
	job.New(job.Config{Store: job.Store{Updater: s, JobWatcher: s, Jobs: s.Jobs}, Lease: time.Second, Poll: 20 * time.Millisecond, Handlers: map[string]job.Handler{webhook.DeliverKind: hooks.Deliver}}).Start()
	select {}
}

// A node is killed right after an endpoint has said yes: every event arrives, under its one id, and none more than twice.
func TestKilledBetweenSendingAndMarking(t *testing.T) {
	// Both wait most of the time, for a lease to end.
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		testKilled(t, litetest.Dir(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		testKilled(t, pgtest.DSN(t))
	})
}

func testKilled(t *testing.T, target string) {
	const events, killedAt = 40, 20
	b := newBedAt(t, target)
	e := newEndpoint(t)
	p := b.policy(e.URL, nil)
	var want []string
	for range events {
		want = append(want, b.publish())
	}
	node := func() *exec.Cmd {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), crashTarget+"="+target)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill() // it may have been killed before
			_ = c.Wait()
		})
		return c
	}
	n := 0 // requests come one at a time
	reached := make(chan bool)
	e.answer(func(w http.ResponseWriter, r *http.Request) {
		if n++; n == killedAt {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			reached <- true
			<-r.Context().Done()
		}
	})
	first := node()
	<-reached
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	node()
	for end := time.Now().Add(time.Minute); len(b.deliveries(p.ID, store.DeliveryDelivered)) < events; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d delivered", len(b.deliveries(p.ID, store.DeliveryDelivered)))
		}
	}
	times := map[string]int{}
	for _, id := range e.ids() {
		times[id]++
	}
	repeated := 0
	for _, id := range want {
		if times[id] < 1 || times[id] > 2 {
			t.Errorf("%s arrived %d times", id, times[id])
		}
		repeated += times[id] - 1
	}
	if len(times) != events || repeated < 1 || repeated > 20 {
		t.Errorf("%d events arrived, %d of them twice", len(times), repeated)
	}
	if arrived := slices.Compact(slices.Sorted(slices.Values(e.ids()))); !slices.Equal(arrived, want) {
		t.Error("something else arrived")
	}
}
