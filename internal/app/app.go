// Package app makes a Tenet node out of its parts: the only place where they meet.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/api"
	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/config"
	"tenet/internal/corpus"
	"tenet/internal/evidence"
	"tenet/internal/job"
	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/operate"
	"tenet/internal/rule"
	"tenet/internal/sso"
	"tenet/internal/store"
	"tenet/internal/tlsfile"
	"tenet/internal/wire"
)

// App is one node.
type App struct {
	cfg       config.Config
	log       *slog.Logger
	models    models
	store     store.Store
	live      *corpus.Live
	keys      *auth.Keys
	recorded  recorded
	proxies   []netip.Prefix
	callers   sso.Callers // keys, and the people of identity providers
	watch     *provider.Watch
	gauged    gauges // the models that are configured
	parts     *parts
	edge      *outpost                // nil for a server
	followers []func(context.Context) // run while the node serves
	handler   *rest.Server
	version   string
	runner    *job.Runner
	working   bool // the runner has been started
	servers   *operate.Servers
	proof     proof

	tls       *tlsfile.Source // nil: without TLS
	failModes rule.FailModes
	listener  net.Listener
	grpcAddr  net.Addr                          // where gateways ask; nil if they cannot
	ready     chan struct{}                     // closed once the default project is loaded
	failed    chan error                        // gets the error with which the HTTP server ends
	onStop    []func(ctx context.Context) error // what Stop calls, the last first
}

// Options replace the defaults of a node.
type Options struct {
	// Env looks up provider keys such as OPENAI_API_KEY; nil means the process environment.
	Env func(string) string
	// Model judges instead of the configured one.
	Model llm.Model
	// Confirm confirms denials of CRITICAL rules instead of the configured model.
	Confirm llm.Model
	// Embedder makes vectors instead of the configured model.
	Embedder llm.Embedder
	// FailModes are the demands of the server on hooks; nil without any.
	FailModes rule.FailModes
	// Version is shown in the API description.
	Version string
	// Work carries out background jobs although the node does not serve.
	Work bool
	// Follow keeps the rules as other nodes change them although the node does not serve.
	Follow bool
	// Rules seed the project default on a first start instead of the starter packs.
	Rules []*wire.RuleFile
	// Now is the clock of all but background jobs and keys; nil means time.Now. With another one, records of the past can be made.
	Now func() time.Time
	// Edge makes the node evaluate from bundles; nil for a server.
	Edge *Edge
	// NoCases leaves out the test cases of the starter packs: a throw-away node that only evaluates has no use for them.
	NoCases bool
}

// New opens the database, brings its schema up to date, loads the starter packs on a first start, and makes everything
// ready to serve. It does not listen yet. If it fails, it stops what it has started.
func New(ctx context.Context, cfg config.Config, log *slog.Logger, o Options) (_ *App, err error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &App{cfg: cfg, log: log, version: o.Version, failModes: o.FailModes, ready: make(chan struct{}), failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(ctx))
		}
	}()
	if a.models, err = openModels(cfg, log, o); err != nil {
		return nil, err
	}
	a.watch = provider.NewWatch(a.models.judge, log)
	a.gauged = gauge(&a.models, a.watch, log)
	if a.store, err = openSized(ctx, cfg, log, o.Edge != nil); err != nil {
		return nil, err
	}
	a.stopLast(a.store.Close)
	if o.Edge != nil {
		if err := openEdge(ctx, a, o.Edge, o.Now); err != nil {
			return nil, err
		}
	}
	a.recorded = recorded{evidence.NewInForce(a.store.InForce, log), a.store.Projects}
	if a.edge == nil { // a signature vouches for what an edge reads, not its own audit log
		a.store.Database = a.recorded.inForce.Guard(a.store.Database)
	}
	views := corpus.Config{
		Store: corpus.Store{
			Projects: a.store.Projects, Federation: a.store.Federation, Embeddings: a.store.Embeddings, Waivers: a.store.Waivers,
		},
		Logger: log, Poll: cfg.PollInterval, MaxBytes: cfg.ViewMemory, EmbeddingModel: a.models.embedding(),
	}
	a.keys = auth.NewKeys(a.store, a.store.Keys, time.Now)
	if a.edge == nil {
		views.InForce, a.keys.Explained = a.recorded.inForce, a.recorded.key
	}
	a.live = corpus.NewLive(views)
	if a.edge != nil {
		a.run(ctx, func(ctx context.Context) { _, _ = a.live.View(ctx, a.edge.project()) }) // while the rest is made; load reports errors
	}
	if a.proxies, err = auth.ParseNetworks(cfg.TrustedProxies); err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "trusted_proxies: %w", err)
	}
	if a.callers, err = a.openCallers(o.Env); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	a.keys.Observe = api.CountRefusals(registry)
	prices, err := cfg.Prices()
	if err != nil {
		return nil, err
	}
	a.gauged.observe(registry, prices, cfg.PriceCurrency)
	p, err := a.assemble(ctx, registry, o.Now)
	if err != nil {
		return nil, err
	}
	a.parts = p
	if a.edge == nil {
		if err := fill(ctx, a, o); err != nil {
			return nil, err
		}
	}
	a.followers = []func(context.Context){a.live.Run, a.load, a.watch.Run, p.documents.Follow, p.book.Run, p.approvals.Run}
	if p.embeddings != nil {
		a.followers = append(a.followers, p.embeddings.Run)
	}
	operations, err := a.operations(o.Env, o.Now)
	if err != nil {
		return nil, err
	}
	a.followers = append(a.followers, a.gauged.watchers(a.watch)...)
	a.servers = operations.Servers
	a.followers = append(a.followers, a.servers.Run, a.noteKeys)
	if a.edge != nil {
		a.followers = append(a.followers, a.edge.follower.Run, a.edge.ship.Run)
	} else {
		a.followers = append(a.followers, func(ctx context.Context) { a.recorded.follow(ctx, a.live) })
		if cfg.Alerts {
			a.followers = append(a.followers, p.fleet.Watch)
		}
	}
	a.handler = a.serveAPI(p, operations, registry, o.Version)
	a.runner = job.New(job.Config{
		Store: job.Store{Updater: a.store, JobWatcher: a.store, Jobs: a.store.Jobs}, Logger: log, Now: time.Now, Handlers: p.handlers(cfg), Periodic: p.periodic(cfg, a.edge != nil),
		Workers: cfg.JobWorkers, Poll: cfg.PollInterval, Lease: cfg.JobLease, Keep: cfg.JobKeep, Observe: observeJobs(registry),
	})
	p.registerGauges(registry, a.store.Pools, operations.Servers, log)
	if o.Work {
		a.work()
	}
	if o.Follow {
		a.run(ctx, a.live.Run)
	}
	return a, nil
}

// fill loads the starter packs on a first start.
func fill(ctx context.Context, a *App, o Options) error {
	if err := a.parts.catalog.CountUncounted(auth.WithActor(ctx, auth.Local("tenet")), a.recorded.inForce.Explained); err != nil {
		return err
	}
	if err := guardEmptied(ctx, a.cfg, a.store.Projects); err != nil {
		return err
	}
	if err := seed(ctx, a.store.Projects, a.parts.catalog, a.cfg, o); err != nil {
		return err
	}
	if a.cfg.FirstKey != "" {
		if err := auth.EnsureFirst(auth.WithActor(ctx, auth.Local("settings")), a.keys, a.cfg.FirstKey); err != nil {
			return err
		}
	}
	a.recorded.inForce.Strict()
	return markFilled(a.cfg)
}

// stopLast has Stop call fn, after everything that is started later has stopped.
func (a *App) stopLast(fn func() error) {
	a.onStop = append(a.onStop, func(context.Context) error { return fn() })
}

// run starts loops that end when the node stops.
func (a *App) run(ctx context.Context, loops ...func(context.Context)) {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(func() { loop(background) })
	}
	a.stopLast(func() error {
		cancel()
		running.Wait()
		return nil
	})
}

// work starts to carry out background jobs.
func (a *App) work() {
	a.runner.Start()
	a.working = true
	a.onStop = append(a.onStop, a.runner.Stop)
}

// Stop ends the server and the background jobs, letting requests and jobs finish until ctx ends, and closes the database.
func (a *App) Stop(ctx context.Context) error {
	var errs []error
	for _, stop := range slices.Backward(a.onStop) {
		errs = append(errs, stop(ctx))
	}
	a.onStop = nil
	return errors.Join(errs...)
}

// Handler is the HTTP API for callers in this process, who act as the local administrator: they can read and write the
// database anyway.
func (a *App) Handler() http.Handler { return a.HandlerFor("local") }

// HandlerFor is [App.Handler] for a caller with a name, under which records are made.
func (a *App) HandlerFor(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.handler.ServeHTTP(w, r.WithContext(auth.WithActor(r.Context(), auth.Local(name))))
	})
}

// Rules counts the rules of the default project and reports whether API keys are required.
func (a *App) Rules(ctx context.Context) (rules int, keys bool, err error) {
	view, err := a.live.View(ctx, a.edge.project())
	if err != nil {
		return 0, false, err
	}
	keys, err = a.callers.Required(ctx)
	return view.Len(), keys, err
}

// Model names the model that judges, or is empty.
func (a *App) Model() string { return a.models.judging() }
