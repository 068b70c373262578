package api

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/acting"
	"tenet/internal/agent"
	"tenet/internal/api/rest"
	"tenet/internal/approval"
	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/check"
	"tenet/internal/checkpoint"
	"tenet/internal/conflict"
	"tenet/internal/corpus"
	"tenet/internal/discover"
	"tenet/internal/discover/source"
	"tenet/internal/document"
	"tenet/internal/evaluate"
	"tenet/internal/evaluate/find"
	"tenet/internal/evaluate/record"
	"tenet/internal/evidence"
	"tenet/internal/fleet"
	"tenet/internal/health"
	"tenet/internal/hierarchy"
	"tenet/internal/ingest"
	"tenet/internal/job"
	"tenet/internal/judge"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/operate"
	"tenet/internal/privacy"
	"tenet/internal/queue"
	"tenet/internal/redact"
	"tenet/internal/release"
	"tenet/internal/retention"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/search"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/trail"
	sampling "tenet/internal/watch"
	"tenet/internal/webhook"
	"tenet/internal/wire"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
	eventType   = "text/event-stream"
)

var update = flag.Bool("update", false, "write golden files anew")

// node is a server over a fresh database.
type node struct {
	*rest.Server
	cfg   config
	t     testing.TB
	store store.Store
	keys  *auth.Keys
	ahead *atomic.Int64 // nanoseconds that the clock of the keys runs ahead
	log   *lockedBuffer
	// What evaluators are made of; see judging.
	live *corpus.Live
	// logged is compared with the database at the end of each test, unless the test sets tampered.
	logged   *evidence.InForce
	tampered bool
	writer   *audit.Writer
	key      string // sent with every request, if not empty
	github   *github
	privacy  *privacy.Keeper
	// privacyKey is the path of its key file.
	privacyKey string
	page       string // file of the page for auditors
}

// config holds what a node is made of.
type config struct {
	rest.Config
	Agents         *agent.Agents
	Acting         *acting.Agents
	Alerts         *health.Alerts
	Catalog        *catalog.Catalog
	Waivers        *catalog.Waivers
	Bundles        *release.Bundles
	Fleet          *fleet.Edges
	Approvals      *approval.Approvals
	Queue          *queue.Queue
	Projects       *catalog.Projects
	Hierarchy      *hierarchy.Hierarchy
	Conflicts      *conflict.Conflicts
	Discover       *discover.Discovery
	Documents      *document.Documents
	DocumentSearch *search.DocumentSearcher
	Evaluator      *evaluate.Evaluator
	Health         *health.Monitor
	Ingest         *ingest.Ingest
	Jobs           *job.Jobs
	Keys           *auth.Keys
	Ready          func(ctx context.Context) error
	Releases       *release.Releases
	Sandbox        *sandbox.Sandbox
	Search         *search.Searcher
	Verdicts       *judge.Cache
	Webhooks       *webhook.Webhooks
	store          store.Store
	answering      evaluator // Evaluator unless a test sets another
}

type evaluator interface {
	Evaluator
	Recorded
}

// serve makes the server of a node again, after a change of its config.
func (n *node) serve() {
	c := n.cfg
	c.Config.Registry = prometheus.NewRegistry() // each server has its own
	if c.Config.Keys == nil {
		c.Config.Keys = c.Keys
	}
	answered := CountAnswered(c.Config.Registry)
	c.Config.Served = CountRules(c.Config.Registry, c.Catalog, c.Logger)
	n.Server = rest.New(c.Config,
		Rules{c.Catalog, &catalog.Lists{Views: n.live, Health: n.store.Health, Tests: n.store.TestCases}, c.Sandbox, sandbox.Replays{Views: n.live, Effects: evaluate.Effects{Evaluator: c.Evaluator}}, c.Logger}, Revisions{catalog.NewRevisions(c.Catalog, catalog.Reviewing{Tester: sandbox.Confirmed{Sandbox: c.Sandbox}}), c.Sandbox}, RuleFiles{c.Catalog}, Relationships{c.Catalog}, Federation{c.Hierarchy, c.Releases},
		Bundles{c.Bundles}, Fleet{c.Fleet}, Waivers{c.Waivers}, Retention{retention.New(retention.Config{Store: n.store, Read: n.store.Retention, Index: c.Evaluator, Node: c.Hierarchy.NodeID, Now: n.now})}, Privacy{privacy.People{Keeper: n.privacy, Index: c.Evaluator}}, Approvals{approval.Asking{Approvals: c.Approvals, Recorded: c.answering}}, Queue{c.Queue}, Projects{c.Projects}, Keys{c.Keys, c.Hierarchy}, Acting{c.Acting}, SignIn{Keys: c.Keys}, Evaluations{c.answering, c.Releases, answered}, Records{c.answering, c.Hierarchy},
		Agents{c.Agents, "/rest", answered}, Search{c.Search, c.Releases}, Documents{c.Documents}, DocumentSearch{c.Documents, c.DocumentSearch},
		Discovery{c.Discover}, Conflicts{c.Conflicts, c.Jobs, c.Catalog}, Similar{c.Conflicts}, Releases{c.Releases, c.Bundles}, Audit{n.store.Audit, n.store.Projects, c.Catalog, trail.New(trail.Store{Audit: n.store.Audit, Projects: n.store.Projects, Rules: n.store.Rules}, newIndex(n.store)), evidence.NewBook(evidence.Config{}), n.store.Logs, n.logged, evidence.NewLog(n.store.Logs), n.store.Rules}, Tiles{evidence.NewLog(n.store.Logs), n.store.Logs}, AuditorPage{n.page}, Jobs{c.Jobs}, operations(n.store, c.Logger),
		Alerts{c.Alerts}, Insights{c.Health, sampling.New(sampling.Config{Read: n.store.Samples, Rules: n.store.Rules, Now: n.now}), n.store.Projects}, Webhooks{c.Webhooks}, Ingest{c.Ingest, c.answering}, Playground{c.Sandbox, c.Catalog},
		TestCases{c.Sandbox}, VerdictCache{c.Verdicts, c.answering, n.store.Projects}, Service{"1.2.3", c.Ready, nil, nil},
		MCP{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			rest.WriteJSON(w, r.Header.Get(ProjectHeader))
		})},
	)
}

// operations shows a server without models.
func operations(s store.Store, log *slog.Logger) Operations {
	return Operations{
		Servers: operate.NewServers(operate.ServersConfig{
			Store: operate.Store{Updater: s, Servers: s.Servers}, Logger: log, Now: time.Now, Self: wire.Server{ID: "self", Name: "host", StartedAt: time.Now()},
			Models: func() []wire.ModelHealth { return []wire.ModelHealth{} }, Address: func() string { return "" },
		}),
		Usage: &operate.Usage{Counts: s.Counts, Projects: s.Projects, Now: time.Now, Currency: "USD"},
		Settings: func() wire.Settings {
			return wire.Settings{Server: "host", Items: []wire.SettingNow{}, Credentials: []wire.Credential{}}
		},
	}
}

// signing returns keys that were made for a test.
func signing(t testing.TB) func() (checkpoint.Signer, string) {
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return func() (checkpoint.Signer, string) { return keys, keys.Origin }
}

// evaluateWith has another evaluator answer.
func (n *node) evaluateWith(e evaluator) {
	n.cfg.answering = e
	n.serve()
}

// lockedBuffer is a log that tests read.
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

func newNode(t testing.TB, configure ...func(*config)) *node {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newNodeOn(t, s, configure...)
}

// onBoth runs a test on a fresh node over each database.
func onBoth(t *testing.T, test func(t *testing.T, n *node)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newNode(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s, err := sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, newNodeOn(t, s))
	})
}

func newNodeOn(t testing.TB, s store.Store, configure ...func(*config)) *node {
	t.Helper()
	n := &node{t: t, log: &lockedBuffer{}, ahead: &atomic.Int64{}}
	logger := slog.New(slog.NewTextHandler(n.log, nil))
	n.logged = evidence.NewInForce(s.InForce, logger)
	n.logged.Strict()
	s.Database = n.logged.Guard(s.Database)
	n.store = s
	live := corpus.NewLive(corpus.Config{InForce: n.logged, Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: logger, EmbeddingModel: new(llmtest.Embedder).ID()})
	n.live = live
	writer := audit.NewWriter(s)
	t.Cleanup(func() {
		writer.Close()
		n.explained()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	n.keys = auth.NewKeys(s, s.Keys, n.now)
	n.keys.Explained = func(ctx context.Context, projectID, id string) error {
		if id == "" {
			return n.logged.CheckStored(ctx, rule.DefaultProject, store.KeyInForce)
		}
		return n.logged.CheckRow(ctx, projectID, store.KeyInForce, id)
	}
	conflicts := conflict.New(conflict.Config{Store: conflict.Store{Updater: s, Conflicts: s.Conflicts, Rules: s.Rules}, Views: live, Queue: job.NewQueue(time.Now), Logger: logger, Now: time.Now})
	webhooks := webhook.New(webhook.Config{
		Store: webhook.Store{Updater: s, Webhooks: s.Webhooks, Deliveries: s.Deliveries}, Queue: job.NewQueue(time.Now), Now: time.Now, Logger: logger, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	changes := change.New(s, live, conflicts.Changed, logger, time.Now).Publishing(webhooks.Publish)
	nodes := hierarchy.New(live, changes, time.Now)
	rules, snapshots := catalog.New(catalog.Store{Updater: s, Projects: s.Projects, Rules: s.Rules, Revisions: s.Revisions}, live, changes, sandbox.CaseFiles{Now: time.Now}, nodes, time.Now), release.NewViews(s.Releases, s.Rules, live)
	snapshots.Explained = n.logged.CheckRow
	agents := acting.New(acting.Config{Store: acting.Store{Updater: s, Agents: s.Agents, Projects: s.Projects}, Now: time.Now, Publish: webhooks.Publish})
	approvals := approval.New(approval.Config{
		Store: approval.Store{Updater: s, Approvals: s.Approvals, Projects: s.Projects}, Views: live, Publish: webhooks.Publish, Site: "https://tenet.example.com",
		Poll: 50 * time.Millisecond, Logger: logger, Now: n.now, InForce: n.logged,
	})
	nodes.Ask(approvals, s)
	n.privacyKey = filepath.Join(t.TempDir(), "privacy.key")
	n.privacy = privacy.New(privacy.Config{
		Store: s, Read: s.PersonalKeys, Retention: s.Retention, Projects: s.Projects, Audit: s.Audit, Now: n.now, Explained: n.logged.CheckStored,
		Key: privacy.NewKeyFile(n.privacyKey, true),
	})
	cfg := config{
		Approvals: approvals,
		Acting:    agents,
		Config:    rest.Config{Logger: logger, Description: Description("1.2.3"), MayAct: agents.MayAct},
		Agents:    agent.New(agent.Config{Now: time.Now}), Verdicts: judge.NewCache(judge.CacheConfig{}),
		Catalog: rules, Waivers: catalog.NewWaivers(s.Waivers, live, changes, time.Now), Projects: catalog.NewProjects(s, s.Projects, changes, time.Now), Hierarchy: nodes, Conflicts: conflicts, Keys: n.keys, Jobs: job.NewJobs(s, s.Jobs, time.Now),
		Search:    search.New(search.Config{Views: live, Logger: logger, Conflicts: conflicts.Open}),
		Documents: document.New(document.Config{Store: document.Store{Updater: s, Documents: s.Documents, Projects: s.Projects, Vectors: s.Vectors}, Views: live, Logger: logger}),
		Evaluator: evaluate.New(evaluate.Config{
			Agents: agents, Refuse: func(_ context.Context, projectID string) error { return n.logged.Problem(projectID) }, Views: live, Released: snapshots, Judge: judge.New(judge.Config{}), Queue: job.NewQueue(time.Now), Recorder: writer, Records: evaluate.Store{Updater: s, Audit: s.Audit, Feedback: s.Feedback, Retention: s.Retention, Parts: s.Parts, Jobs: s.Jobs, Projects: s.Projects, Rules: s.Rules, Submissions: s.Submissions, TestCases: s.TestCases}, Index: newIndex(s), Checks: check.NewCache(1000), Now: time.Now, Approvals: approvals, Personal: n.privacy,
		}),
	}
	cfg.DocumentSearch = search.NewDocuments(search.DocumentConfig{
		Store: search.DocumentStore{Documents: s.Documents, Projects: s.Projects, Vectors: s.Vectors}, Sources: cfg.Documents.Sources, Logger: logger,
	})
	cfg.Releases = release.New(release.Config{Store: release.Store{Updater: s, Jobs: s.Jobs, Releases: s.Releases, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Views: snapshots, Replayer: replayer{cfg.Evaluator}, Queue: job.NewQueue(time.Now), Now: time.Now, Publish: webhooks.Publish})
	cfg.Webhooks = webhooks
	cfg.Bundles = release.NewBundles(release.BundlesConfig{
		Updater: s, Bundles: s.Bundles, Releases: s.Releases, Rules: s.Rules, Projects: s.Projects, Waivers: s.Waivers, Agents: s.Agents, Keys: s.Keys,
		Signing: signing(t), Now: time.Now,
		Required: func(ctx context.Context) (bool, error) {
			keys, err := s.Keys.Count(ctx)
			return keys > 0, err
		},
	})
	cfg.Fleet = fleet.New(fleet.Config{Updater: s, Edges: s.Edges, Rules: s.Rules, Now: n.now, Newest: cfg.Bundles.Newest})
	n.github = newGitHub(t)
	var err error
	cfg.Ingest, err = ingest.New(ingest.Config{
		Store: s, Queue: job.NewQueue(time.Now), Evaluator: taken{n}, Now: time.Now, Secret: ingestSecret, GitHubSecret: githubSecret,
		GitHubURL: n.github.URL + "/api/v3", GitHubToken: "the token",
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Sandbox = sandbox.New(sandbox.Config{
		Store: sandbox.Store{Updater: s, Jobs: s.Jobs, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Recorded: cfg.Evaluator, Views: live, Snapshots: snapshots, Queue: job.NewQueue(time.Now), Now: time.Now, Evaluator: evaluate.New(evaluate.Config{Judge: judge.New(judge.Config{}), Checks: check.NewCache(1000), Now: time.Now}),
	})
	cfg.Discover = discover.New(discover.Config{
		Store: discover.Store{Updater: s, Candidates: s.Candidates, Documents: s.Documents, Exclusions: s.Exclusions, Jobs: s.Jobs, Projects: s.Projects, Scans: s.Scans}, Readers: []source.Reader{sentences{}}, Rules: rules.Adoption(), Views: live, Documents: cfg.Documents, Queue: job.NewQueue(time.Now), Now: time.Now,
		Contradicts: opposite, Logger: logger,
	})
	cfg.Alerts = health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: s, Alerts: s.Alerts, Projects: s.Projects, Rules: s.Rules}})
	cfg.Queue = queue.New(queue.Config{
		Store: queue.Store{Updater: s, Queue: s.Queue}, Now: time.Now,
		Snapshots: func(context.Context, string, int) ([]queue.Snapshot, error) { return nil, nil },
		Describe: func(ctx context.Context, projectID string, seqs []int64) (map[int64]queue.Description, error) {
			entries, err := cfg.Evaluator.Entries(ctx, projectID, seqs)
			found := map[int64]queue.Description{}
			for i := range entries {
				o, err := record.OutlineOf(&entries[i])
				if err != nil {
					return nil, err
				}
				found[entries[i].Seq] = queue.Description{Title: o.Subject.Action}
			}
			return found, err
		},
	})
	cfg.Health = health.New(health.Config{Store: health.Store{Updater: s, Alerts: s.Alerts, Audit: s.Audit, Counts: s.Counts, Feedback: s.Feedback, Health: s.Health, Projects: s.Projects, Rules: s.Rules, Releases: s.Releases, TestCases: s.TestCases, Waivers: s.Waivers}, Views: live, Alerts: cfg.Alerts})
	cfg.store, cfg.answering = s, cfg.Evaluator
	for _, f := range configure {
		f(&cfg)
	}
	n.live, n.writer = live, writer
	ctx := auth.WithActor(t.Context(), auth.Local("test"))
	if _, err := cfg.Catalog.Seed(ctx, rule.DefaultProject, nil, false); err != nil {
		t.Fatal(err)
	}
	n.cfg = cfg
	n.serve()
	return n
}

// explained fails the test unless the entries of the audit logs explain all that is in force.
func (n *node) explained() {
	if n.tampered {
		return
	}
	ctx := context.Background()
	projects, err := n.store.Projects.List(ctx)
	for i := 0; i < len(projects) && err == nil; i++ {
		var problems []string
		if problems, err = n.logged.Problems(ctx, projects[i].ID); len(problems) > 0 {
			n.t.Errorf("in force in the project %s without an entry: %q", projects[i].ID, problems)
		}
	}
	if err != nil {
		n.t.Errorf("what is in force: %v", err)
	}
}

// now is the clock of keys and approvals, which tests can move ahead.
func (n *node) now() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) }

func newIndex(s store.Store) *find.Index {
	return find.New(find.Config{Store: find.Store{Updater: s, DerivedUpdater: s, Audit: s.Audit, Rules: s.Rules, Terms: s.Terms}})
}

// judging has a node's rules judged by a model, with all that an evaluator can have.
func (n *node) judging(model llm.Model, configure ...func(*evaluate.Config)) *evaluate.Evaluator {
	cfg := evaluate.Config{
		Views: n.live, Recorder: n.writer, Records: evaluate.Store{Updater: n.store, Audit: n.store.Audit, Retention: n.store.Retention, Parts: n.store.Parts, Feedback: n.store.Feedback, Jobs: n.store.Jobs, Projects: n.store.Projects, Rules: n.store.Rules, Submissions: n.store.Submissions, TestCases: n.store.TestCases}, Index: newIndex(n.store), Checks: check.NewCache(1000), Now: time.Now,
		Judge: judge.New(judge.Config{Model: model}), Queue: job.NewQueue(time.Now), Redact: redact.New(),
	}
	for _, f := range configure {
		f(&cfg)
	}
	e := evaluate.New(cfg)
	n.evaluateWith(e)
	return e
}

// working carries out submissions in the background until the test ends, or the returned function is called.
func (n *node) working(e *evaluate.Evaluator) (stop func()) {
	return n.doing(map[string]job.Handler{evaluate.JobKind: e.HandleSubmission})
}

// doing carries out background work until the test ends, or the returned function is called.
func (n *node) doing(handlers map[string]job.Handler) (stop func()) {
	runner := job.New(job.Config{Store: job.Store{Updater: n.store, JobWatcher: n.store, Jobs: n.store.Jobs}, Handlers: handlers, Poll: 10 * time.Millisecond})
	runner.Start()
	stop = sync.OnceFunc(func() {
		if err := runner.Stop(context.Background()); err != nil {
			n.t.Error(err)
		}
	})
	n.t.Cleanup(stop)
	return stop
}

// runJobs carries out the jobs of test runs and simulations until none waits.
func (n *node) runJobs() {
	n.t.Helper()
	handlers := map[string]job.Handler{sandbox.RunKind: n.cfg.Sandbox.HandleRun, release.SimulateKind: n.cfg.Releases.HandleSimulation}
	runner := job.New(job.Config{Store: job.Store{Updater: n.store, JobWatcher: n.store, Jobs: n.store.Jobs}, Poll: 5 * time.Millisecond, Handlers: handlers})
	runner.Start()
	n.idle(slices.Collect(maps.Keys(handlers))...)
	if err := runner.Stop(context.Background()); err != nil {
		n.t.Error(err)
	}
}

// idle waits until no job of the kinds is queued or running.
func (n *node) idle(kinds ...string) {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		counts, err := n.store.Jobs.Count(context.Background())
		if err != nil {
			n.t.Fatal(err)
		}
		if !slices.ContainsFunc(counts, func(c store.JobCount) bool { return slices.Contains(kinds, c.Kind) }) {
			return
		}
	}
	n.t.Fatalf("the jobs of %v do not end", kinds)
}

// makeKey makes a key and returns its secret.
func (n *node) makeKey(role auth.Role, projectID string) string {
	n.t.Helper()
	ctx := auth.WithActor(context.Background(), auth.Local("test"))
	_, secret, err := n.keys.Create(ctx, auth.NewKey{ProjectID: projectID, Name: string(role) + "@" + projectID, Role: role})
	if err != nil {
		n.t.Fatal(err)
	}
	return secret
}

func (n *node) makeProject(id string) {
	n.t.Helper()
	ctx := auth.WithActor(context.Background(), auth.Local("test"))
	if _, err := n.cfg.Projects.Create(ctx, id, catalog.ProjectInput{}); err != nil {
		n.t.Fatal(err)
	}
}

// reply is an answer.
type reply struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	body   []byte
}

// call sends a request. Headers come in pairs of name and value; a body that is not a string, bytes or nil is sent as JSON.
func (n *node) call(method, target string, body any, headers ...string) *reply {
	n.t.Helper()
	var b io.Reader
	switch v := body.(type) {
	case nil:
	case string:
		b = strings.NewReader(v)
	case []byte:
		b = bytes.NewReader(v)
	case io.Reader:
		b = v
	default:
		data, err := json.Marshal(v)
		if err != nil {
			n.t.Fatal(err)
		}
		b = bytes.NewReader(data)
	}
	r := httptest.NewRequest(method, target, b)
	if n.key != "" {
		r.Header.Set("Authorization", "Bearer "+n.key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	n.ServeHTTP(w, r)
	return &reply{t: n.t, what: method + " " + target, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

// want checks the status.
func (r *reply) want(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s: status %d, want %d: %s", r.what, r.status, status, rest.Clip(string(r.body), 2000))
	}
	return r
}

// into decodes the body.
func into[T any](r *reply) T {
	r.t.Helper()
	var v T
	dec := json.NewDecoder(bytes.NewReader(r.body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		r.t.Fatalf("%s: %v in %s", r.what, err, rest.Clip(string(r.body), 2000))
	}
	return v
}

// wantProblem checks that the answer is a problem of a status and code, and that its fields are exactly these.
func (r *reply) wantProblem(status int, code rule.Code, fields ...string) wire.Problem {
	r.t.Helper()
	r.want(status)
	if ct := r.header.Get("Content-Type"); ct != problemType {
		r.t.Errorf("%s: Content-Type %q, want %q", r.what, ct, problemType)
	}
	p := into[wire.Problem](r)
	if p.Status != status || p.Code != code || p.Detail == "" || p.Title == "" || p.RequestID == "" || p.RequestID != r.header.Get("X-Request-Id") {
		r.t.Errorf("%s: bad problem, want status %d, code %s, texts and the request id: %s", r.what, status, code, r.body)
	}
	var got []string
	for _, f := range p.Errors {
		got = append(got, f.Field)
	}
	if fields != nil {
		if diff := cmp.Diff(fields, got); diff != "" {
			r.t.Errorf("%s: fields of the problem (-want +got):\n%s%s", r.what, diff, r.body)
		}
	}
	return p
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; if it should, run go test ./internal/api -update (-want +got):\n%s", path, diff)
	}
}

// callHost sends a request without a body under a Host header.
func (n *node) callHost(host, method, target string) *reply {
	n.t.Helper()
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	if n.key != "" {
		r.Header.Set("Authorization", "Bearer "+n.key)
	}
	return n.send(r)
}

func (n *node) send(r *http.Request) *reply {
	w := httptest.NewRecorder()
	n.ServeHTTP(w, r)
	return &reply{t: n.t, what: r.Method + " " + r.URL.String(), status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

// newNodeAt is another node on the same database.
func newNodeAt(n *node) *node {
	n.t.Helper()
	other := *n
	other.serve()
	return &other
}

// replayer gives simulations what an evaluator has recorded.
type replayer struct{ *evaluate.Evaluator }

func (r replayer) Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]release.Recorded, error) {
	list, err := r.Evaluator.Recent(ctx, projectID, verdict, limit)
	var out []release.Recorded
	for _, p := range list {
		out = append(out, p)
	}
	return out, err
}
