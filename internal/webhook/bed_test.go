package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/webhook"
	"tenet/internal/wire"
)

// project is the one that tests work in.
const project = "default"

// loopback lets tests reach their own endpoints.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// clock is a clock that tests move. It begins now, since the standard's library knows no other time.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time       { return time.UnixMicro(c.at.Load()).UTC() }
func (c *clock) set(t time.Time)      { c.at.Store(t.UnixMicro()) }
func (c *clock) move(d time.Duration) { c.at.Add(d.Microseconds()) }

// bed is webhooks on a fresh database, with a clock and a log.
type bed struct {
	t     testing.TB
	s     store.Store
	clock *clock
	cfg   webhook.Config
	hooks *webhook.Webhooks
	log   *lockedBuffer
	seen  map[string]int // outcomes of attempts
	n     int            // events published
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// onBoth runs a test on a fresh database of each kind.
func onBoth(t *testing.T, test func(t *testing.T, b *bed)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newBed(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newBedAt(t, pgtest.DSN(t))) })
}

func newBed(t testing.TB) *bed { return newBedAt(t, litetest.Dir(t)) }

func openTarget(ctx context.Context, target string) (store.Store, error) {
	if strings.HasPrefix(target, "postgres") {
		return sqlstore.OpenPostgres(ctx, target, sqlstore.Options{})
	}
	return sqlstore.OpenSQLite(ctx, target, sqlstore.Options{})
}

func newBedAt(t testing.TB, target string) *bed {
	t.Helper()
	s, err := openTarget(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{t: t, s: s, clock: &clock{}, log: &lockedBuffer{}, seen: map[string]int{}}
	b.clock.set(time.Now())
	b.cfg = webhook.Config{
		Store: webhook.Store{Updater: s, Webhooks: s.Webhooks, Deliveries: s.Deliveries}, Queue: job.NewQueue(b.clock.now), Now: b.clock.now, AllowNetworks: loopback, Timeout: 10 * time.Second,
		Logger:  slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observe: func(outcome string, _ time.Duration) { b.seen[outcome]++ },
	}
	b.hooks = webhook.New(b.cfg)
	err = s.Update(t.Context(), func(tx store.Tx) error {
		return tx.Projects.Create(t.Context(), rule.Project{ID: project, Name: "Default", CreatedAt: b.clock.now(), UpdatedAt: b.clock.now()})
	})
	if err != nil && rule.CodeOf(err) != rule.CodeConflict {
		t.Fatal(err)
	}
	return b
}

func (b *bed) ctx() context.Context { return auth.WithActor(b.t.Context(), auth.Local("ann")) }

// policy makes a policy for all events.
func (b *bed) policy(url string, edit func(*webhook.Input)) wire.PolicyWithSecret {
	b.t.Helper()
	b.n++
	in := webhook.Input{Name: new(fmt.Sprintf("policy %d", b.n)), URL: &url, EventTypes: &rule.EventTypes}
	if edit != nil {
		edit(&in)
	}
	p, err := b.hooks.Create(b.ctx(), project, in, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// publish publishes an event and returns its id.
func (b *bed) publish() string {
	b.t.Helper()
	b.n++
	e := rule.Event{
		ID: audit.NewID(), ProjectID: project, Type: rule.AlertCreated, Time: b.clock.now(), Severity: rule.High,
		Data: json.RawMessage(fmt.Sprintf(`{"type":"dormant_rule","message":"number %d","rule_id":"r1"}`, b.n)),
	}
	b.publishEvent(e)
	return e.ID
}

func (b *bed) publishEvent(e rule.Event) {
	b.t.Helper()
	if err := b.s.Update(b.ctx(), func(tx store.Tx) error { return b.hooks.Publish(b.ctx(), tx, e) }); err != nil {
		b.t.Fatal(err)
	}
}

// work carries out the jobs that are due, one at a time, and returns how many there were.
func (b *bed) work() int {
	b.t.Helper()
	for n := 0; ; n++ {
		next, any, err := b.s.Jobs.Next(b.ctx()) // which costs much less than to claim in vain
		if err != nil {
			b.t.Fatal(err)
		}
		if !any || next.After(b.clock.now()) {
			return n
		}
		var jobs []store.Job
		err = b.s.Update(b.ctx(), func(tx store.Tx) (err error) {
			jobs, err = tx.Jobs.Claim(b.ctx(), store.JobClaim{Now: b.clock.now(), Kinds: []string{webhook.DeliverKind}, Owner: "test", Lease: b.clock.now().Add(time.Hour), Limit: 1})
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
		if len(jobs) == 0 {
			return n
		}
		j := jobs[0]
		err = b.hooks.Deliver(b.ctx(), wire.Job{ID: j.ID, ProjectID: j.ProjectID, Kind: j.Kind, Args: j.Args, Attempt: j.Attempt}, func(int, int) {})
		if err != nil {
			b.t.Fatal(err)
		}
		now := b.clock.now()
		j.State, j.FinishedAt = store.JobSucceeded, &now
		if err := b.s.Update(b.ctx(), func(tx store.Tx) error { return tx.Jobs.Finish(b.ctx(), []store.Job{j}) }); err != nil {
			b.t.Fatal(err)
		}
	}
}

// workUntil lets time pass from job to job until a moment.
func (b *bed) workUntil(end time.Time) {
	b.t.Helper()
	for {
		b.work()
		next, any, err := b.s.Jobs.Next(b.ctx())
		if err != nil {
			b.t.Fatal(err)
		}
		if !any || next.After(end) {
			b.clock.set(end)
			return
		}
		b.clock.set(next.Add(time.Millisecond))
	}
}

func (b *bed) sweep() {
	b.t.Helper()
	if err := b.hooks.Sweep(b.ctx(), wire.Job{}, func(int, int) {}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) deliveries(policyID, state string) []wire.Delivery {
	b.t.Helper()
	list, total, err := b.hooks.Deliveries(b.ctx(), project, policyID, state, 0, 1000)
	if err != nil || total != len(list) {
		b.t.Fatalf("%d of %d deliveries: %v", len(list), total, err)
	}
	return list
}

func (b *bed) get(id string) wire.Policy {
	b.t.Helper()
	p, err := b.hooks.Policy(b.ctx(), project, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// message is what an endpoint has got.
type message struct {
	header http.Header
	body   []byte
}

func (m *message) id() string { return m.header.Get("webhook-id") }

// endpoint is a server that events are sent to. Its answers are those of say, or 200.
type endpoint struct {
	*httptest.Server
	mu      sync.Mutex
	got     []message
	say     http.HandlerFunc
	at      atomic.Int64 // requests under way
	crowded atomic.Bool  // there were two at once
}

func newEndpoint(t testing.TB) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	if e.at.Add(1) > 1 {
		e.crowded.Store(true)
	}
	defer e.at.Add(-1)
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.got = append(e.got, message{r.Header.Clone(), body})
	say := e.say
	e.mu.Unlock()
	if say != nil {
		say(w, r)
	}
}

func (e *endpoint) answer(say http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.say = say
}

func (e *endpoint) messages() []message {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]message(nil), e.got...)
}

func (e *endpoint) ids() []string {
	var ids []string
	for _, m := range e.messages() {
		ids = append(ids, m.id())
	}
	return ids
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
