// Package api serves Tenet over HTTP: routes, one file per resource, in front of the capabilities. It turns requests into
// calls, checks who may make them, and renders every error by one table as application/problem+json (RFC 9457).
//
// A request passes, in this order: request id and recovery, Host and cross-origin checks, routing, authentication, the
// role and project that the operation declares, the rate limit, its query, its body, the handler.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/agent"
	"tenet/internal/alert"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/conflict"
	"tenet/internal/discover"
	"tenet/internal/document"
	"tenet/internal/evaluate"
	"tenet/internal/ingest"
	"tenet/internal/insight"
	"tenet/internal/job"
	"tenet/internal/judge"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/search"
	"tenet/internal/store"
	"tenet/internal/webhook"
)

// Config sets up [New]. Catalog, Conflicts, Documents, Evaluator, Search, Keys, Jobs, Sandbox, Store and Logger are required.
type Config struct {
	Catalog   *catalog.Catalog
	Conflicts *conflict.Conflicts
	Documents *document.Documents
	Evaluator *evaluate.Evaluator
	Search    *search.Searcher
	Releases  *release.Releases
	Alerts    *alert.Alerts
	Insights  *insight.Insights
	Webhooks  *webhook.Webhooks
	Ingest    *ingest.Ingest
	// Verdicts are the kept verdicts of the judge; nil means none are kept.
	Verdicts *judge.Cache
	Keys     *auth.Keys
	Jobs     *job.Jobs
	Sandbox  *sandbox.Sandbox
	Discover *discover.Discovery
	Store    store.Reader // audit chains are verified on it
	// Agents answer requests in plain words; nil leaves out their routes.
	Agents *agent.Agents
	// MCP serves the Model Context Protocol at /mcp; nil leaves it out. What its tools call comes back as requests with the same key,
	// and in the project that ProjectHeader names.
	MCP http.Handler
	// RESTPrefix is a path such as /rest under which agents are served besides /agent; empty for none.
	RESTPrefix string
	Logger     *slog.Logger
	// Version of the program, shown in the API description and by /health.
	Version string
	// Registry receives the metrics and is served at /metrics; nil makes one.
	Registry *prometheus.Registry
	Limits   Limits
	// RequireLoopbackHost refuses requests whose Host header does not name this machine, as long as no API key is in force.
	// A server without keys is then safe from pages that point a host name of theirs at the loopback address.
	RequireLoopbackHost bool
	// RequireKey refuses requests without a key even while no key is in force. A server that others can reach needs it: it
	// would be open to everybody once its last key is revoked or expires.
	RequireKey bool
	// Ready tells whether the node can answer, for /ready; nil means always.
	Ready func(ctx context.Context) error
	// JudgeState tells how the judge's model is, for /ready; nil leaves it out.
	JudgeState func() JudgeState
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Limits bound what one request, and one key, may ask for. Zero fields take the defaults.
type Limits struct {
	MaxBody       int64         // bytes of a request body; default 10 MiB
	MaxImportBody int64         // bytes of the body of a rule import; default 64 MiB
	MaxDocument   int64         // bytes of an uploaded document; default 50 MiB
	MaxJSONDepth  int           // objects and lists inside one another; default 64
	RatePerSecond float64       // requests per second and key; 0 means no limit
	Burst         int           // requests at once above the rate; default twice the rate
	BodyTimeout   time.Duration // time for a client to send a body; default 30 s, four times that for an import or upload
}

func (l *Limits) setDefaults() {
	if l.MaxBody <= 0 {
		l.MaxBody = 10 << 20
	}
	if l.MaxImportBody <= 0 {
		l.MaxImportBody = 64 << 20
	}
	if l.MaxDocument <= 0 {
		l.MaxDocument = 50 << 20
	}
	if l.MaxJSONDepth <= 0 {
		l.MaxJSONDepth = 64
	}
	if l.BodyTimeout <= 0 {
		l.BodyTimeout = 30 * time.Second
	}
}

// evaluator is what the routes ask of package evaluate.
type evaluator interface {
	Submit(ctx context.Context, n evaluate.Named, req evaluate.Request) (*evaluate.Answer, error)
	Later(ctx context.Context, n evaluate.Named, req evaluate.Request) (*evaluate.Submission, error)
	Submission(ctx context.Context, projectID, id string) (*evaluate.Submission, error)
	Applicable(ctx context.Context, q evaluate.ApplicableQuery) ([]rule.Rule, error)
	Get(ctx context.Context, projectID, id string) (*evaluate.Record, error)
	List(ctx context.Context, projectID string, f evaluate.Filter, offset, limit int) ([]evaluate.Summary, int, error)
	Replay(ctx context.Context, projectID, id string, live bool) (*evaluate.Replay, error)
	GiveFeedback(ctx context.Context, projectID, evaluationID, ruleRef string, correct bool, note string) (*evaluate.Feedback, error)
	Feedback(ctx context.Context, projectID, evaluationID string) ([]evaluate.Feedback, error)
	Quality(ctx context.Context, projectID, ruleRef string) (*evaluate.Quality, error)
}

// server is the handler that [New] makes.
type server struct {
	cfg         Config
	log         *slog.Logger
	evaluator   evaluator
	mux         *routes
	api         huma.API
	plans       map[string]*plan // by mux pattern
	spec        func() []byte    // the API description, made when first asked for: it takes longer than all else
	crossOrigin *http.CrossOriginProtection
	rates       *rates
	uploads     chan struct{} // holds one for each form in memory
	metrics     *metrics
}

// routes is a mux that remembers its patterns, so that a test can ask each for its plan.
type routes struct {
	*http.ServeMux
	patterns []string
}

// HandleFunc implements humago.Mux.
func (r *routes) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	r.patterns = append(r.patterns, pattern)
	r.ServeMux.HandleFunc(pattern, h)
}

// New makes the HTTP API. It panics if routes contradict each other, which is a programming error.
func New(cfg Config) http.Handler { return newServer(cfg) }

func newServer(cfg Config) *server {
	cfg.Limits.setDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Verdicts == nil {
		cfg.Verdicts = judge.NewCache(judge.CacheConfig{})
	}
	if cfg.Registry == nil {
		cfg.Registry = prometheus.NewRegistry()
	}
	s := &server{
		cfg: cfg, log: cfg.Logger, evaluator: cfg.Evaluator, mux: &routes{ServeMux: http.NewServeMux()}, plans: map[string]*plan{},
		crossOrigin: http.NewCrossOriginProtection(), uploads: make(chan struct{}, maxUploads), rates: newRates(cfg.Limits.RatePerSecond, cfg.Limits.Burst, cfg.Now),
	}
	s.metrics = newMetrics(cfg.Registry, s.countRules)
	s.api = humago.New(s.mux, description(s))
	s.api.UseMiddleware(s.gate)
	s.ruleRoutes()
	s.importRoutes()
	s.searchRoutes()
	s.documentRoutes()
	s.documentSearchRoutes()
	s.discoverRoutes()
	s.relationshipRoutes()
	s.conflictRoutes()
	s.federationRoutes()
	s.waiverRoutes()
	s.projectRoutes()
	s.keyRoutes()
	s.evaluateRoutes()
	s.submissionRoutes()
	s.evaluationRoutes()
	s.agentRoutes()
	s.releaseRoutes()
	s.gateRoutes()
	s.feedbackRoutes()
	s.auditRoutes()
	s.jobRoutes()
	s.alertRoutes()
	s.insightRoutes()
	s.webhookRoutes()
	s.ingestRoutes()
	s.playgroundRoutes()
	s.cacheRoutes()
	s.testCaseRoutes()
	s.testRunRoutes()
	s.mcpRoutes()
	s.serviceRoutes()
	delete(s.api.OpenAPI().Components.Schemas.Map(), "ErrorModel") // huma's own errors are turned into problems
	delete(s.api.OpenAPI().Components.Schemas.Map(), "ErrorDetail")
	s.spec = sync.OnceValue(s.specification)
	return s
}
