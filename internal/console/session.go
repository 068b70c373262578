package console

import (
	"context"
	"encoding/gob"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/sso"
	"tenet/internal/store"
)

// Names of the cookies. A session's token is a secret; the theme is not.
const (
	sessionCookie = "tenet-session"
	themeCookie   = "tenet-theme"
)

// Names of the values of a session.
const (
	keyValue   = "key"   // hash of the secret of the key that its person signed in with
	ssoValue   = "sso"   // the person as an identity provider has named it, and when
	flashValue = "flash" // what the next page says
)

// flash is a sentence on a page about the action that has led to it.
type flash struct {
	Text string
	Bad  bool // it did not work
}

// confirmed is a person whom an identity provider has named.
type confirmed struct {
	sso.Person

	At time.Time // when it named the person last
}

func init() {
	gob.Register(flash{})
	gob.Register(confirmed{})
}

func newSessions(cfg Config) *scs.SessionManager {
	m := scs.New()
	m.Store = sessionStore{cfg.Sessions, cfg.Now}
	m.Lifetime = cfg.SessionAge
	m.HashTokenInStore = true
	return m
}

// load reads the session of the request and finds who the person is.
func (p *page) load() error {
	var token string
	if cookie, err := p.r.Cookie(sessionCookie); err == nil {
		token = cookie.Value
	}
	ctx, err := p.console.sessions.Load(p.ctx, token)
	if err != nil {
		return err
	}
	p.ctx, p.loaded = ctx, true
	return p.identify()
}

// identify finds who the person is: by the key of the session, by what an identity provider has said, or the local user of a server without
// keys.
func (p *page) identify() error {
	cfg := p.console.cfg
	if hash := p.console.sessions.GetString(p.ctx, keyValue); hash != "" {
		who, err := cfg.Keys.Resume(p.ctx, hash)
		if err == nil {
			err := cfg.API.MayCome(p.r, who)
			if err == nil {
				p.who = who
			} else if !p.entering { // the page to sign in, with another key
				err = nil
			}
			return err
		}
		if rule.CodeOf(err) != rule.CodeUnauthenticated {
			return err
		}
		// The key is revoked or has expired, and the session ends with it.
		if err := p.console.sessions.Destroy(p.ctx); err != nil {
			return err
		}
	}
	if who, ok := p.console.sessions.Get(p.ctx, ssoValue).(confirmed); ok {
		return resume(p, who)
	}
	required := cfg.RequireKey
	if !required {
		var err error
		if required, err = cfg.Keys.Required(p.ctx); err != nil {
			return err
		}
	}
	if !required {
		p.who, p.local = auth.Local("local"), true
	}
	return nil
}

// say puts a sentence on the next page.
func (p *page) say(text string) { p.console.sessions.Put(p.ctx, flashValue, flash{Text: text}) }

// warn puts a sentence about a failure on the next page.
func (p *page) warn(text string) {
	p.console.sessions.Put(p.ctx, flashValue, flash{Text: text, Bad: true})
}

// takeNotice takes from the session what this page is to say.
func (p *page) takeNotice() {
	if !p.loaded {
		return
	}
	if said, ok := p.console.sessions.Pop(p.ctx, flashValue).(flash); ok {
		p.notice = said
	}
}

// commit stores the session, if it has changed, and sends its cookie. It must come before the answer.
func (p *page) commit() error {
	if !p.loaded {
		return nil
	}
	m := p.console.sessions
	switch m.Status(p.ctx) {
	case scs.Modified:
		token, expires, err := m.Commit(p.ctx)
		if err != nil {
			return err
		}
		p.setCookie(sessionCookie, token, expires)
	case scs.Destroyed:
		p.setCookie(sessionCookie, "", time.Unix(1, 0))
	case scs.Unmodified:
	}
	return nil
}

// secure reports whether the browser has reached the server by TLS.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// setCookie sends a cookie that scripts cannot read, and that browsers leave out of requests from other sites except where a person
// follows a link.
func (p *page) setCookie(name, value string, expires time.Time) {
	http.SetCookie(p.w, &http.Cookie{
		Name: name, Value: value, Path: "/", Expires: expires, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: secure(p.r),
	})
}

// sessionStore keeps sessions in the database. Its tokens are hashes.
type sessionStore struct {
	sessions Sessions
	now      func() time.Time
}

var _ scs.CtxStore = sessionStore{}

// FindCtx implements [scs.CtxStore].
func (s sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	found, err := s.sessions.Get(ctx, token, s.now())
	if rule.CodeOf(err) == rule.CodeNotFound {
		return nil, false, nil
	}
	return found.Data, err == nil, err
}

// CommitCtx implements [scs.CtxStore]. It also removes sessions that have ended.
func (s sessionStore) CommitCtx(ctx context.Context, token string, data []byte, expires time.Time) error {
	return s.sessions.Update(ctx, func(tx store.Tx) error {
		if err := tx.Sessions.DeleteExpired(ctx, s.now()); err != nil {
			return err
		}
		return tx.Sessions.Put(ctx, store.Session{Hash: token, Data: data, ExpiresAt: expires})
	})
}

// DeleteCtx implements [scs.CtxStore].
func (s sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.sessions.Update(ctx, func(tx store.Tx) error { return tx.Sessions.Delete(ctx, token) })
}

// Find implements [scs.Store].
func (s sessionStore) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit implements [scs.Store].
func (s sessionStore) Commit(token string, data []byte, expires time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expires)
}

// Delete implements [scs.Store].
func (s sessionStore) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
