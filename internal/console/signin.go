package console

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// signInPage shows the ways to sign in. People who need none go on.
func signInPage(p *page) error {
	next := localPath(p.r.URL.Query().Get("next"))
	if p.who != (auth.Actor{}) {
		return p.redirect(next)
	}
	return p.show(head{Title: "Sign in"}, signInForm(p, next, ""))
}

// signIn begins a session with a key. The session gets a new token, so that nobody can have planted the old one.
func signIn(p *page) error {
	next, from := localPath(p.r.PostForm.Get("next")), callerOf(p)
	if !p.console.attempts.left(from) {
		return p.showAs(http.StatusTooManyRequests, head{Title: "Sign in"},
			signInForm(p, next, "There were too many attempts from this address. Wait a minute, then try again."))
	}
	secret := strings.TrimSpace(p.r.PostForm.Get("key"))
	who, err := p.console.cfg.Keys.Authenticate(p.ctx, secret)
	if rule.CodeOf(err) == rule.CodeUnauthenticated {
		p.console.attempts.failed(from)
		return p.showAs(http.StatusUnauthorized, head{Title: "Sign in"},
			signInForm(p, next, "This key is unknown, revoked or expired. Copy it again; it begins with tnt_."))
	}
	if err != nil {
		return err
	}
	if err := p.console.cfg.API.MayCome(p.r, who); err != nil {
		return p.showAs(http.StatusForbidden, head{Title: "Sign in"}, signInForm(p, next, messageOf(err)))
	}
	sessions := p.console.sessions
	if err := sessions.RenewToken(p.ctx); err != nil {
		return err
	}
	sessions.Remove(p.ctx, ssoValue)
	sessions.Put(p.ctx, keyValue, auth.HashSecret(secret))
	breakGlass := p.console.cfg.People != nil && who.Role == auth.Admin
	if err := record(p, SignIn{Who: who, Action: signedIn, From: from, BreakGlass: breakGlass}); err != nil {
		return err
	}
	return p.redirect(next)
}

// callerOf is the address that a request comes from; behind trusted proxies, the one that they name.
func callerOf(p *page) string {
	if addr := p.console.cfg.API.ClientAddr(p.r); addr.IsValid() {
		return addr.String()
	}
	r := p.r
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Actions of [SignIn].
const (
	signedIn  = "signed_in"
	signedOut = "signed_out"
)

// record records a sign-in. Nobody is signed in without a record.
func record(p *page, s SignIn) error {
	p.console.cfg.Logger.InfoContext(p.ctx, "sign-in to the console", slog.String("action", s.Action), slog.String("actor", s.Who.Name), slog.Bool("break_glass", s.BreakGlass))
	if p.console.cfg.Record == nil {
		return nil
	}
	return p.console.cfg.Record(auth.WithActor(p.ctx, s.Who), s)
}

// signOut ends the session.
func signOut(p *page) error {
	if p.who != (auth.Actor{}) && !p.local {
		if err := record(p, SignIn{Who: p.who, Action: signedOut, From: callerOf(p)}); err != nil {
			return err
		}
	}
	if err := p.console.sessions.Destroy(p.ctx); err != nil {
		return err
	}
	return p.redirect("/signin")
}

// Bounds of failed attempts to sign in, by the address that they come from.
const (
	attemptsAtOnce = 10
	attemptPause   = 6 * time.Second // after which one more is possible
	maxAttempters  = 10_000          // addresses; beyond it, all begin again
)

// attempts limits how often one address may present a wrong key. Keys have 256 random bits: the limit is for the database.
type attempts struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, buckets: map[string]*rate.Limiter{}}
}

// left reports whether an address may present a key.
func (a *attempts) left(from string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.buckets[from]
	return b == nil || b.TokensAt(a.now()) >= 1
}

// failed counts a wrong key.
func (a *attempts) failed(from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.buckets) >= maxAttempters {
		clear(a.buckets)
	}
	b := a.buckets[from]
	if b == nil {
		b = rate.NewLimiter(rate.Every(attemptPause), attemptsAtOnce)
		a.buckets[from] = b
	}
	b.AllowN(a.now(), 1)
}

// Themes. Without a choice, pages follow the reader's system.
const (
	themeLight = "light"
	themeDark  = "dark"
)

// themeAge is how long a choice of theme lasts.
const themeAge = 365 * 24 * time.Hour

// themeOf is the theme that the reader has chosen, or empty.
func themeOf(r *http.Request) string {
	cookie, err := r.Cookie(themeCookie)
	if err != nil || (cookie.Value != themeLight && cookie.Value != themeDark) {
		return ""
	}
	return cookie.Value
}

// setTheme stores the choice of theme and leads back.
func setTheme(p *page) error {
	chosen := p.r.PostForm.Get("theme")
	until := p.console.cfg.Now().Add(themeAge)
	if chosen != themeLight && chosen != themeDark {
		chosen, until = "", time.Unix(1, 0)
	}
	p.setCookie(themeCookie, chosen, until)
	return p.redirect(localPath(p.r.PostForm.Get("next")))
}
