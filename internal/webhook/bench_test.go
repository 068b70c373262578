package webhook_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/webhook"
)

func BenchmarkDeliveries(b *testing.B) {
	for name, target := range map[string]func() string{
		"SQLite": func() string { return litetest.Dir(b) }, "PostgreSQL": func() string { return pgtest.DSN(b) },
	} {
		b.Run(name, func(b *testing.B) { benchmarkDeliveries(b, target()) })
	}
}

// How fast one policy's pending events reach an endpoint that answers at once, from the queue to the last mark.
func benchmarkDeliveries(b *testing.B, target string) {
	const events = 500
	bed := newBedAt(b, target)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(server.Close)
	bed.hooks = webhook.New(webhook.Config{Store: webhook.Store{Updater: bed.s, Webhooks: bed.s.Webhooks, Deliveries: bed.s.Deliveries}, Queue: job.NewQueue(time.Now), Now: time.Now, AllowNetworks: loopback})
	p := bed.policy(server.URL, nil)
	r := job.New(job.Config{Store: job.Store{Updater: bed.s, JobWatcher: bed.s, Jobs: bed.s.Jobs}, Handlers: map[string]job.Handler{webhook.DeliverKind: bed.hooks.Deliver}})
	r.Start()
	pending := func() int {
		_, n, err := bed.s.Deliveries.Find(b.Context(), store.DeliveryFilter{ProjectID: project, PolicyID: p.ID, State: store.DeliveryPending})
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	n := 0
	for b.Loop() {
		publish(b, bed, events)
		for n += events; pending() > 0; {
			time.Sleep(time.Millisecond)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deliveries/s")
	if err := r.Stop(context.Background()); err != nil {
		b.Error(err)
	}
}

func publish(b *testing.B, bed *bed, n int) {
	b.Helper()
	err := bed.s.Update(bed.ctx(), func(tx store.Tx) error {
		for range n {
			e := rule.Event{ID: audit.NewID(), ProjectID: project, Type: rule.AlertCreated, Time: time.Now(), Data: json.RawMessage(`{"message":"x"}`)}
			if err := bed.hooks.Publish(bed.ctx(), tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// What a hundred events cost their cause's transaction, without policies and with one that wants them.
func BenchmarkPublish(b *testing.B) {
	for name, target := range map[string]func() string{
		"SQLite": func() string { return litetest.Dir(b) }, "PostgreSQL": func() string { return pgtest.DSN(b) },
	} {
		for policies, label := range []string{"/nobody", "/one"} {
			b.Run(name+label, func(b *testing.B) {
				bed := newBedAt(b, target())
				for range policies {
					bed.policy("https://hooks.example.com", nil)
				}
				for b.Loop() {
					publish(b, bed, 100)
				}
			})
		}
	}
}
