// Package rest is the frame of the HTTP API: it authenticates and authorizes requests, checks their parameters and bodies,
// renders every error by one table as application/problem+json (RFC 9457), and publishes the description of all
// operations. Resources mount their operations on it.
//
// A request passes, in this order: request id and recovery, Host and cross-origin checks, routing, authentication, the
// role and project that the operation declares, the rate limit, its query, its body, the handler.
package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Keys authenticates callers.
type Keys interface {
	// Authenticate returns the actor of a key, or an unauthenticated error.
	Authenticate(ctx context.Context, secret string) (auth.Actor, error)
	// Required reports whether any key is in force.
	Required(ctx context.Context) (bool, error)
	// Refused counts a use of a key that was refused, by its reason.
	Refused(keyID, reason string)
}

// Description is the head of the API description.
type Description struct {
	Info Info
	Tags []Tag
	// Names are those of published types that are not named by their Go names.
	Names map[reflect.Type]string
	// Examples are requests in JSON by the id of their operation. Other operations get an example that follows from the schema.
	Examples map[string]json.RawMessage
}

// Config sets up [New]. Keys and Logger are required.
type Config struct {
	Keys        Keys
	Logger      *slog.Logger
	Description Description
	// Registry receives the metrics and is served at /metrics; nil makes one.
	Registry *prometheus.Registry
	// Served, if not nil, is called with the project of every request that succeeds.
	Served func(projectID string)
	// Ended, if not nil, is called at the end of every request that concerns a project, with its status, or with that of the error that ended its stream.
	Ended  func(status int)
	Limits Limits
	// RequireLoopbackHost refuses requests whose Host header does not name this machine, as long as no API key is in force.
	// A server without keys is then safe from pages that point a host name of theirs at the loopback address.
	RequireLoopbackHost bool
	// RequireKey refuses requests without a key even while no key is in force. A server that other machines can reach needs
	// it: once its last key is revoked or expires, it would be open to everybody.
	RequireKey bool
	// MayAct returns a forbidden error if the agent of an identity is suspended in a project; nil suspends none.
	MayAct func(ctx context.Context, projectID string, id rule.Identity) error
	// Refuse returns an error for a request that this server does not carry out. changesNothing is true for requests that only read, or ask for an
	// evaluation. Nil refuses none.
	Refuse func(r *http.Request, changesNothing bool) error
	// Headers, if not nil, sets further headers of every answer.
	Headers func(http.Header)
	// Replicas means that operations which declare it may be answered by replicas of the database; see [store.MayLag].
	Replicas bool
	// TrustedProxies are the networks of proxies whose X-Forwarded-For names the client.
	TrustedProxies []netip.Prefix
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Limits bound the requests. Zero fields take the defaults.
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

// Server is an HTTP API.
type Server struct {
	cfg         Config
	mux         *http.ServeMux
	endpoints   map[string]*Endpoint // by mux pattern
	schemas     *schemas
	document    *document
	problem     func() *Response  // describes errors
	spec        func() []byte     // the encoded description, made on first use: it takes longer than all else
	reasons     map[string]string // why a method is not possible, by method and prefix of the path
	crossOrigin *http.CrossOriginProtection
	rates       *rates
	writers     *writers      // nil without replicas
	uploads     chan struct{} // one for each form in memory
	strangers   *strangers
	methods     map[string][]string // of the paths without parameters, in order
	observe     func(r *http.Request, status int, took time.Duration)
}

// New makes an HTTP API of resources. It panics if their routes contradict each other, which is a programming error.
func New(cfg Config, resources ...Resource) *Server {
	cfg.Limits.setDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Registry == nil {
		cfg.Registry = prometheus.NewRegistry()
	}
	s := &Server{
		cfg: cfg, mux: http.NewServeMux(), endpoints: map[string]*Endpoint{}, reasons: map[string]string{}, schemas: newSchemas(), observe: newMetrics(cfg.Registry),
		crossOrigin: http.NewCrossOriginProtection(), uploads: make(chan struct{}, maxUploads), strangers: &strangers{from: map[netip.Addr]int{}}, methods: map[string][]string{}, rates: newRates(cfg.Limits.RatePerSecond, cfg.Limits.Burst, cfg.Now),
	}
	if cfg.Replicas {
		s.writers = newWriters(time.Now) // as the watch over replicas does
	}
	s.schemas.names = cfg.Description.Names
	s.document = newDocument(cfg.Description, s.schemas)
	s.problem = sync.OnceValue(func() *Response {
		return &Response{Description: "Error", Content: map[string]*Media{problemType: {Schema: s.schemas.of(reflect.TypeFor[wire.Problem]())}}}
	})
	s.spec = sync.OnceValue(s.describe)
	r := &Router{server: s}
	for _, resource := range resources {
		resource.Routes(r)
	}
	s.describeItself(r)
	return s
}

// describe describes all operations.
func (s *Server) describe() []byte {
	for _, e := range s.endpoints {
		e.use()
	}
	s.schemas.mu.Lock()
	defer s.schemas.mu.Unlock()
	return s.document.encode()
}

// Limits returns the limits of the server.
func (r *Router) Limits() Limits { return r.server.cfg.Limits }
