package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"tenet/internal/auth"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/sso"
	"tenet/internal/store"
	"tenet/internal/telemetry"
	"tenet/internal/wire"
)

// Keys authenticates people by API keys.
type Keys interface {
	// Authenticate returns the actor of a key, or an unauthenticated error.
	Authenticate(ctx context.Context, secret string) (auth.Actor, error)
	// Resume returns the actor of a key by the hash of its secret, or an unauthenticated error.
	Resume(ctx context.Context, hash string) (auth.Actor, error)
	// Required reports whether any key is in force.
	Required(ctx context.Context) (bool, error)
}

// People signs people in at identity providers.
type People interface {
	// Providers lists the providers.
	Providers() []sso.Provider
	// Begin starts a sign-in at a provider: it returns the address there to which the browser is to go.
	Begin(ctx context.Context, name, redirect, next string, silent bool) (sso.Attempt, string, error)
	// Finish ends a sign-in with the parameters of the provider's answer.
	Finish(ctx context.Context, a sso.Attempt, answer url.Values) (sso.Person, error)
	// Resume returns the actor of a person who has signed in, an unauthenticated error once the person has signed out at the provider, or a
	// forbidden one if the person has no role.
	Resume(ctx context.Context, person sso.Person) (auth.Actor, error)
	// SignOut carries out a logout token of a provider. The error is invalid if the token is.
	SignOut(ctx context.Context, token string) error
}

// SignIn is a sign-in to the console, or its end.
type SignIn struct {
	Who    auth.Actor
	Action string // signed_in or signed_out
	From   string // address of the browser
	// BreakGlass is set if an administrator has signed in with a key where people sign in at identity providers.
	BreakGlass bool
}

// API is the HTTP API that the console is a client of, and that serves what the console does not.
type API interface {
	// ServeHTTP carries out requests whose context has an actor as that actor.
	http.Handler
	// Serves reports whether a request has a route.
	Serves(r *http.Request) bool
	// MayEnter refuses requests from pages of other sites and requests to a host name that is not the server's.
	MayEnter(r *http.Request) error
	// MayCome refuses the key of an actor from networks that its limits leave out.
	MayCome(r *http.Request, who auth.Actor) error
	// ClientAddr is the address of the client of a request. It is not valid where trusted proxies do not name it.
	ClientAddr(r *http.Request) netip.Addr
}

// Sessions stores sessions.
type Sessions struct {
	store.SessionReader
	store.Updater
}

// Config sets up [New]. Fields without a word about it are required.
type Config struct {
	API      API
	Keys     Keys
	Sessions Sessions
	// People is nil without identity providers.
	People People
	// Recheck is the time after which a session asks the identity provider whether the person is still signed in there.
	Recheck time.Duration
	// PublicURL is the address at which browsers reach the console, for the answers of identity providers; empty is that of the request.
	PublicURL string
	// Record records a sign-in; nil records none.
	Record func(ctx context.Context, s SignIn) error
	// RequireKey asks for a key even while none is in force. A server that other machines can reach needs it.
	RequireKey bool
	// SessionAge is the time after which a person must sign in again.
	SessionAge time.Duration
	// MaxBody bounds an upload, in bytes; 0 is 10 MiB.
	MaxBody int64
	// ModelTime is how long a page waits for an answer of a model; 0 is [modelTime].
	ModelTime time.Duration
	Logger    *slog.Logger
	Version   string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Console is the handler of the console and of the API behind it.
type Console struct {
	cfg      Config
	mux      *http.ServeMux
	sessions *scs.SessionManager
	attempts *attempts
	streams  *streams
	api      *client.Client
}

// New makes a console in front of an API.
func New(cfg Config) (*Console, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 10 << 20
	}
	cfg.ModelTime = max(cfg.ModelTime, modelTime)
	c := &Console{cfg: cfg, mux: http.NewServeMux(), attempts: newAttempts(cfg.Now), streams: newStreams()}
	c.sessions = newSessions(cfg)
	var err error
	if c.api, err = client.New("http://localhost", "", &http.Client{Transport: client.InProcess(cfg.API)}); err != nil {
		return nil, err
	}
	for _, screen := range routes() {
		c.mux.HandleFunc(screen.pattern, func(w http.ResponseWriter, r *http.Request) {
			c.serve(w, r, screen)
			telemetry.Route(r.Context(), screen.pattern, r.PathValue("project")) // after those of the calls to the API that the page has made
		})
	}
	return c, nil
}

// ServeHTTP implements [http.Handler]. Requests that are not the console's go to the API: those without a screen, and those for
// the address / that do not ask for HTML.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, pattern := c.mux.Handler(r)
	switch {
	case pattern != "" && (r.URL.Path != "/" || wantsHTML(r)):
		c.mux.ServeHTTP(w, r)
	case pattern == "" && wantsHTML(r) && !c.cfg.API.Serves(r):
		c.serve(w, r, route{show: missing, open: true})
	default:
		w.Header().Set(wire.ConsoleHeader, "/")
		c.cfg.API.ServeHTTP(w, r)
	}
}

// wantsHTML reports whether a browser asks for a page to show.
func wantsHTML(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// Limits of one request.
const (
	maxForm   = 1 << 20          // bytes of a form
	pageTime  = 15 * time.Second // for a page, retries of the API included
	modelTime = 3 * time.Minute  // for an answer that may have to wait for a model; see [Config.ModelTime]
	nonceSize = 18               // random bytes of a nonce
)

// policy is the Content-Security-Policy: scripts with the nonce of the page only, everything else from this server only, no frames,
// and no text that becomes markup except by htmx, whose extension hx-csp admits elements with the nonce alone.
const policy = "default-src 'none'; script-src 'nonce-%s'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types htmx"

// serve answers a request with a screen.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, screen route) {
	if screen.patience == modelTime {
		screen.patience = c.cfg.ModelTime
	}
	ctx, cancel := context.WithTimeout(r.Context(), cmp.Or(screen.patience, pageTime))
	defer cancel()
	p := &page{console: c, w: w, r: r.WithContext(ctx), ctx: ctx, began: ctx, api: c.api, nonce: newNonce(), theme: themeOf(r)}
	header := w.Header()
	header.Set("Content-Security-Policy", fmt.Sprintf(policy, p.nonce))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	defer func() {
		if v := recover(); v != nil {
			c.cfg.Logger.ErrorContext(ctx, "panic in the console", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			p.fail(rule.Errorf(rule.CodeInternal, "internal error"))
		}
	}()
	if screen.static {
		if err := screen.show(p); err != nil {
			p.fail(err)
		}
		return
	}
	defer forget(p)
	if err := p.open(screen); err != nil {
		p.fail(err)
		return
	}
	if p.sent {
		return
	}
	if err := screen.show(p); err != nil {
		p.fail(err)
	}
}

func newNonce() string {
	var b [nonceSize]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b[:])
}
