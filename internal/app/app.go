// Package app wires a Tenet node: the only place where the parts meet.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/agent"
	"tenet/internal/alert"
	"tenet/internal/api"
	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/check"
	"tenet/internal/config"
	"tenet/internal/conflict"
	"tenet/internal/corpus"
	"tenet/internal/document"
	"tenet/internal/evaluate"
	"tenet/internal/insight"
	"tenet/internal/job"
	"tenet/internal/judge"
	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/redact"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
	"tenet/internal/webhook"
)

// maxPrograms is how many compiled checks are kept.
const maxPrograms = 20_000

// maxTried is how many compiled checks of the sandbox are kept.
const maxTried = 2_000

// App is one node.
type App struct {
	cfg       config.Config
	log       *slog.Logger
	store     store.Store
	live      *corpus.Live
	writer    *audit.Writer
	keys      *auth.Keys
	catalog   *catalog.Catalog
	model     llm.Model
	confirm   llm.Model
	slots     *provider.Slots // bound the calls to each provider, whatever they are for
	kept      *judge.Cache
	watch     *watch
	documents *document.Documents
	hooks     *webhook.Webhooks
	alerts    *alert.Alerts
	insights  *insight.Insights
	conflicts *conflict.Conflicts
	handler   http.Handler
	runner    *job.Runner
	working   bool // the runner has been started

	embedder   llm.Embedder // makes vectors for search; nil without an embedding model
	embeddings *embeddings  // keeps those of rules; nil without an embedding model

	background context.CancelFunc
	running    sync.WaitGroup
	server     *http.Server
	listener   net.Listener
	ready      chan struct{} // closed once the default project is loaded
}

// Options are what a caller may put in place of the defaults.
type Options struct {
	// Env looks up provider keys such as OPENAI_API_KEY; nil means the process environment.
	Env func(string) string
	// Model judges instead of the configured one.
	Model llm.Model
	// Confirm confirms denials of CRITICAL rules instead of the configured model.
	Confirm llm.Model
	// Embedder makes vectors instead of the configured model.
	Embedder llm.Embedder
	// Version is shown in the API description.
	Version string
	// Work carries out background jobs although the node does not serve.
	Work bool
	// Follow keeps the rules as other nodes change them although the node does not serve.
	Follow bool
	// Rules seed the project default on a first start instead of the starter packs.
	Rules []*catalog.File
	// NoCases leaves out the test cases of the starter packs: a throw-away node that only evaluates has no use for them.
	NoCases bool
}

// New opens the database, brings its schema up to date, loads the starter packs on a first start, and makes everything
// ready to serve. It does not listen yet.
func New(ctx context.Context, cfg config.Config, log *slog.Logger, o Options) (*App, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	a := &App{cfg: cfg, log: log, embedder: o.Embedder, slots: provider.NewSlots(cfg.JudgeParallel), ready: make(chan struct{})}
	var err error
	if a.model, err = model(o.Model, cfg.JudgeModel, a.slots, cfg, log, o); err != nil {
		return nil, err
	}
	if a.confirm, err = model(o.Confirm, cfg.ConfirmModel, a.slots, cfg, log, o); err != nil {
		return nil, err
	}
	a.watch = newWatch(a.model, log)
	if err := a.openEmbedder(o.Env); err != nil {
		return nil, err
	}
	if a.store, err = open(ctx, cfg, log); err != nil {
		return nil, err
	}
	if err := a.wire(ctx, o); err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	return a, nil
}

// model is the given model, or else the one with a name, or nil without a name.
func model(given llm.Model, name string, slots *provider.Slots, cfg config.Config, log *slog.Logger, o Options) (llm.Model, error) {
	if given != nil || name == "" {
		return given, nil
	}
	return provider.New(name, o.Env, provider.Options{Timeout: cfg.JudgeTimeout, Slots: slots, Logger: log})
}

func open(ctx context.Context, cfg config.Config, log *slog.Logger) (store.Store, error) {
	opts := sqlstore.Options{Logger: log}
	if cfg.DatabaseURL != "" {
		return sqlstore.OpenPostgres(ctx, cfg.DatabaseURL, opts)
	}
	dir := cfg.Data
	if dir == "" {
		var err error
		if dir, err = DefaultData(os.Getenv); err != nil {
			return nil, err
		}
	}
	return sqlstore.OpenSQLite(ctx, dir, opts)
}

// DefaultData is the folder of the embedded database where none is given: tenet below XDG_DATA_HOME or ~/.local/share.
func DefaultData(env func(string) string) (string, error) {
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tenet"), nil
	}
	home := env("HOME")
	if home == "" {
		return "", rule.Errorf(rule.CodeInvalid, "there is no home folder to keep data in; give a folder with --data")
	}
	return filepath.Join(home, ".local", "share", "tenet"), nil
}

func (a *App) wire(ctx context.Context, o Options) error {
	now := time.Now
	a.live = corpus.NewLive(corpus.Config{
		Store: a.store, Logger: a.log, Poll: a.cfg.PollInterval, MaxBytes: a.cfg.ViewMemory, EmbeddingModel: a.embeddingModel(),
	})
	registry := prometheus.NewRegistry()
	jobs := job.NewJobs(a.store, now)
	work := work{handlers: map[string]job.Handler{}}
	if err := a.webhooks(&work, now, registry); err != nil {
		return err
	}
	a.watchRules(&work, now, registry)
	a.watchConflicts(&work, now)
	a.catalog = catalog.New(a.store, a.live, sandbox.CaseFiles{Now: now}, now)
	a.catalog.OnChange(a.conflicts.Changed)
	if err := a.seed(ctx, o); err != nil {
		return err
	}
	a.writer = audit.NewWriter(a.store)
	a.keys = auth.NewKeys(a.store, now)
	a.kept = judge.NewCache(judge.CacheConfig{
		Store: a.store, MaxMemory: a.cfg.CacheMemory, MaxStored: a.cfg.CacheMaxMB << 20, Now: now, Logger: a.log,
	})
	a.embeddingWork(&work, now)
	a.documents = a.library(work)
	snapshots := release.NewViews(a.store, a.live)
	judging := a.judge(a.kept)
	evaluator := evaluate.New(evaluate.Config{
		Views: a.live, Released: snapshots, Recorder: a.writer, Records: a.store, Checks: check.NewCache(maxPrograms), Now: now,
		Judge: judging, Estimate: judging.Estimate, Fresh: a.judge(nil), Queue: job.NewQueue(now), Redact: redact.New(), Subjects: evaluate.Keep(a.cfg.RecordSubjects),
		Documents: a.documents, Publish: a.hooks.Publish,
	})
	// The sandbox keeps nothing, and so has a judge and checks of its own, which nothing else is answered from.
	tried := sandbox.New(sandbox.Config{
		Store: a.store, Recorded: evaluator, Views: a.live, Snapshots: snapshots, Queue: job.NewQueue(now), Model: a.model, Now: now,
		Evaluator: evaluate.New(evaluate.Config{Checks: check.NewCache(maxTried), Now: now, Judge: a.judge(nil)}),
	})
	declared, err := a.declaredAgents()
	if err != nil {
		return err
	}
	searcher := a.searcher(a.conflicts)
	agents := agent.New(agent.Config{
		Evaluator: agentEvaluator{evaluator}, Rules: agentRules{evaluator, searcher, snapshots}, Drafts: agentDrafts{a.catalog, tried}, Recorder: a.writer,
		Model: a.model, Confirm: a.confirm, Timeout: a.cfg.JudgeTimeout, Declared: declared, Now: now, Logger: a.log,
		Bare:     a.cfg.RecordSubjects == "none" || a.cfg.RecordRetention > 0,
		Sessions: agent.Limits{Count: a.cfg.SessionCount, Age: a.cfg.SessionAge},
	})
	releases := release.New(release.Config{
		Store: a.store, Views: snapshots, Replayer: replayer{evaluator}, Queue: job.NewQueue(now), Now: now, Publish: a.hooks.Publish,
	})
	work.handlers[sandbox.RunKind] = tried.HandleRun
	work.handlers[release.SimulateKind] = releases.HandleSimulation
	work.handlers[evaluate.JobKind] = evaluator.CarryOut
	work.handlers[evaluate.PruneKind] = evaluator.Prune(evaluate.Retention{
		Records: time.Duration(a.cfg.RecordRetention) * 24 * time.Hour, Submissions: a.cfg.SubmissionRetention,
	})
	work.periodic = append(work.periodic, job.Periodic{Kind: evaluate.PruneKind, Every: evaluate.PruneEvery, Priority: job.Last})
	taken, err := a.ingest(work.handlers, evaluator, now)
	if err != nil {
		return err
	}
	var protocol http.Handler
	if a.cfg.MCP {
		protocol = a.modelProtocol(o.Version)
	}
	a.handler = api.New(api.Config{
		Catalog: a.catalog, Documents: a.documents, Evaluator: evaluator, Search: searcher, Releases: releases, Verdicts: a.kept, Keys: a.keys,
		Agents: agents, RESTPrefix: a.restPrefix(), MCP: protocol,
		Jobs: jobs, Conflicts: a.conflicts, Sandbox: tried, Discover: a.discovery(&work, now), Alerts: a.alerts, Insights: a.insights,
		Webhooks: a.hooks, Ingest: taken, Store: a.store, Logger: a.log, Version: o.Version,
		Registry: registry, Ready: a.Ready, JudgeState: a.watch.now, RequireLoopbackHost: loopbackOnly(a.cfg.Listen), RequireKey: !loopbackOnly(a.cfg.Listen),
		Limits: api.Limits{
			MaxBody: a.cfg.MaxBody, MaxImportBody: a.cfg.MaxImportBody, MaxDocument: a.cfg.MaxDocument, RatePerSecond: a.cfg.RateLimit, Burst: a.cfg.RateBurst,
		},
	})
	a.runner = newRunner(job.Config{
		Store: a.store, Logger: a.log, Now: now, Handlers: work.handlers, Periodic: work.periodic,
		Workers: a.cfg.JobWorkers, Poll: a.cfg.PollInterval, Lease: a.cfg.JobLease, Keep: a.cfg.JobKeep,
	}, jobs, registry)
	if o.Work {
		a.startJobs()
	}
	if o.Follow {
		background, cancel := context.WithCancel(context.WithoutCancel(ctx))
		a.background = cancel
		a.running.Go(func() { a.live.Run(background) })
	}
	return nil
}

// judge makes a judge that keeps verdicts in a cache, or keeps none.
func (a *App) judge(kept *judge.Cache) *judge.Judge {
	c := judgeConfig(a.cfg, a.model, a.confirm, a.log)
	c.Cache = kept
	return judge.New(c)
}

// judgeConfig sets up a judge as the settings say.
func judgeConfig(cfg config.Config, judging, confirming llm.Model, log *slog.Logger) judge.Config {
	return judge.Config{
		Model: judging, Confirm: confirming, Timeout: cfg.JudgeTimeout, Concurrency: cfg.JudgeParallel, MaxTokens: cfg.JudgeTokens, Logger: log,
	}
}

// Handler is the HTTP API for callers in this process, who act as the local administrator: whoever runs the program can
// read and write its database anyway.
func (a *App) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.handler.ServeHTTP(w, r.WithContext(auth.WithActor(r.Context(), auth.Local("local"))))
	})
}

// Ready returns nil if the node can answer, else an unavailable error that says what it waits for.
func (a *App) Ready(ctx context.Context) error {
	select {
	case <-a.ready:
	default:
		return rule.Errorf(rule.CodeUnavailable, "the rules are still being loaded")
	}
	return a.store.Ping(ctx)
}

// Start listens and serves in the background, follows other nodes, and loads the default project. It refuses an address
// that others can reach as long as there is no API key.
func (a *App) Start(ctx context.Context) error {
	if err := a.mayListen(ctx); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return err
	}
	a.listener = listener
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.background = cancel
	a.running.Go(func() { a.live.Run(background) })
	a.running.Go(func() { a.load(background) })
	a.running.Go(func() { a.missingDocuments(background) })
	a.running.Go(func() { a.watch.run(background) })
	if !a.working {
		a.startJobs()
	}
	if a.embeddings != nil {
		a.running.Go(func() { a.followEmbeddings(background) })
	}
	a.server = &http.Server{
		Handler: a.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		WriteTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	a.running.Go(func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.ErrorContext(background, "the server has ended", slog.Any("error", err))
		}
	})
	return nil
}

// loopbackOnly reports whether an address to listen on can be reached from this machine only.
func loopbackOnly(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// mayListen refuses an address that others can reach as long as there is no API key.
func (a *App) mayListen(ctx context.Context) error {
	if loopbackOnly(a.cfg.Listen) {
		return nil
	}
	required, err := a.keys.Required(ctx)
	if err != nil {
		return err
	}
	if !required {
		return rule.Errorf(rule.CodeInvalid,
			"%s can be reached from other machines, but there is no API key; make one with `tenet keys create`, or listen on 127.0.0.1", a.cfg.Listen)
	}
	return nil
}

// load brings the default project into memory and then lets /ready say so, trying again while the database is away.
func (a *App) load(ctx context.Context) {
	for {
		_, err := a.live.View(ctx, rule.DefaultProject)
		if err == nil {
			close(a.ready)
			return
		}
		if ctx.Err() != nil {
			return
		}
		a.log.WarnContext(ctx, "cannot load the rules; trying again", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// Addr is the address the node listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Rules counts the rules of the default project and tells whether API keys are required.
func (a *App) Rules(ctx context.Context) (rules int, keys bool, err error) {
	view, err := a.live.View(ctx, rule.DefaultProject)
	if err != nil {
		return 0, false, err
	}
	keys, err = a.keys.Required(ctx)
	return view.Len(), keys, err
}

// Model names the model that judges, or is empty.
func (a *App) Model() string {
	if a.model == nil {
		return ""
	}
	return a.model.ID()
}

// Stop ends the server and the background jobs, letting what is under way finish until ctx ends, and closes the database.
func (a *App) Stop(ctx context.Context) error {
	var errs []error
	if a.server != nil {
		if err := a.server.Shutdown(ctx); err != nil {
			errs = append(errs, err, a.server.Close()) // those who are still connected have had their time
		}
	}
	if a.background != nil {
		a.background()
		a.running.Wait()
	}
	if a.working {
		errs = append(errs, a.runner.Stop(ctx))
	}
	a.writer.Close()
	a.kept.Close()
	return errors.Join(append(errs, a.store.Close())...)
}
