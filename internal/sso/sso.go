// Package sso signs people in with OpenID Connect: to the console by the authorization code flow with PKCE, and to the API by tokens of
// identity providers. Groups that a provider attests become roles by the file of providers, see [Provider].
//
// A token counts if a key of its issuer has signed it, with an asymmetric algorithm; if it is for one of the provider's clients or audiences; if
// it has not expired; and if its person has not been signed out since at the provider (OpenID Connect Back-Channel Logout 1.0).
package sso

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Skew is by how much the clocks of Tenet and a provider may differ.
const Skew = time.Minute

// checkFor is how long a node uses its knowledge that a person is not signed out without asking the database again.
const checkFor = 2 * time.Second

// maxChecked bounds that knowledge; when it is full it is cleared.
const maxChecked = 10_000

// Store holds the sign-outs of providers.
type Store struct {
	store.SessionReader
	store.Updater
}

// Config sets up [New]. All fields but Client and Now are required.
type Config struct {
	Providers []Provider
	Store     Store
	// Lifetime is the longest time that a session of the console lasts. Sign-outs are stored for at least that long.
	Lifetime time.Duration
	Logger   *slog.Logger
	// Client calls the providers; nil is one with short time limits.
	Client *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// People authenticates people by what identity providers say of them. It is safe for concurrent use.
type People struct {
	cfg  Config
	list []*provider

	mu      sync.Mutex
	checked map[identity]time.Time // until when a person counts as not signed out
}

// identity is a person at a provider, in a session that began at a time.
type identity struct {
	issuer, subject, sid string
	since                int64
}

// Person is somebody whom a provider has named.
type Person struct {
	Provider string // its name
	Issuer   string
	Subject  string // who it is there; unique and unchanging
	SID      string // the session there; empty if the provider does not name it
	Name     string // for people
	Agent    string // that acts for the person, by the claim act of RFC 8693; empty for the person itself
	Groups   []string
	// Since is when the person signed in there, as far as the provider says, else when it issued the token.
	Since time.Time
}

// New makes a People. It does not wait for the providers, which are asked when somebody signs in.
func New(cfg Config) *People {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: callTime}
	}
	p := &People{cfg: cfg, checked: map[identity]time.Time{}}
	for _, one := range cfg.Providers {
		p.list = append(p.list, newProvider(one, cfg.Client, cfg.Now))
	}
	return p
}

// Providers lists the providers in the order of their file.
func (p *People) Providers() []Provider {
	list := make([]Provider, len(p.list))
	for i, one := range p.list {
		list[i] = one.Provider
	}
	return list
}

func (p *People) byName(name string) (*provider, error) {
	if i := slices.IndexFunc(p.list, func(x *provider) bool { return x.Name == name }); i >= 0 {
		return p.list[i], nil
	}
	return nil, rule.NotFound("identity provider", name)
}

// IsToken reports whether a credential has the form of a signed token (RFC 7515).
func IsToken(s string) bool { return strings.Count(s, ".") == 2 && strings.HasPrefix(s, "ey") }

// Authenticate returns the actor of a token, or an unauthenticated error that says what is wrong with it, or a forbidden one if the groups
// of its person give no role.
func (p *People) Authenticate(ctx context.Context, token string) (auth.Actor, error) {
	if len(token) > maxToken {
		return auth.Actor{}, rule.Errorf(rule.CodeUnauthenticated, "the token has more than %d bytes", maxToken)
	}
	issuer, err := issuerOf(token)
	if err != nil {
		return auth.Actor{}, err
	}
	for _, one := range p.list {
		if one.Issuer == issuer {
			person, err := one.verify(ctx, token)
			if err != nil {
				return auth.Actor{}, err
			}
			return p.Resume(ctx, person)
		}
	}
	return auth.Actor{}, rule.Errorf(rule.CodeUnauthenticated, "the token is of an identity provider that this server does not know")
}

// Resume returns the actor of a person as whom somebody has signed in. It returns an unauthenticated error once the person has signed out at
// the provider, or the provider is no longer declared; and a forbidden one if the person's groups give no role.
func (p *People) Resume(ctx context.Context, person Person) (auth.Actor, error) {
	from, err := p.byName(person.Provider)
	if err != nil || from.Issuer != person.Issuer {
		return auth.Actor{}, rule.Errorf(rule.CodeUnauthenticated, "the identity provider %q is no longer declared", person.Provider)
	}
	out, err := p.signedOut(ctx, &person)
	if err != nil {
		return auth.Actor{}, err
	}
	if out {
		return auth.Actor{}, rule.Errorf(rule.CodeUnauthenticated, "you have signed out at the identity provider; sign in again")
	}
	grants := from.grants(person.Groups)
	if grants == nil {
		return auth.Actor{}, rule.Errorf(rule.CodeForbidden, "no group of yours has a role here; ask an administrator to give one of your groups a role in sso_file")
	}
	return auth.Actor{Name: person.Provider + ":" + person.Name, Grants: grants, Agent: person.Agent}, nil
}

func (p *People) signedOut(ctx context.Context, person *Person) (bool, error) {
	id := identity{person.Issuer, person.Subject, person.SID, person.Since.UnixMicro()}
	now := p.cfg.Now()
	p.mu.Lock()
	until := p.checked[id]
	p.mu.Unlock()
	if now.Before(until) {
		return false, nil
	}
	out, err := p.cfg.Store.SignedOut(ctx, person.Issuer, person.Subject, person.SID, person.Since)
	if out || err != nil {
		return out, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.checked) >= maxChecked {
		clear(p.checked)
	}
	p.checked[id] = now.Add(checkFor)
	return false, nil
}

// SignOut carries out a logout token that a provider has sent: the sessions that it names end, within two seconds on all nodes. A token
// counts once.
func (p *People) SignOut(ctx context.Context, token string) error {
	if len(token) > maxToken {
		return rule.Errorf(rule.CodeInvalid, "the logout token has more than %d bytes", maxToken)
	}
	issuer, err := issuerOf(token)
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "%s", err.Error())
	}
	for _, one := range p.list {
		if one.Issuer != issuer {
			continue
		}
		out, err := one.verifyLogout(ctx, token)
		if err != nil {
			return err
		}
		out.Until = rule.Instant(p.cfg.Now()).Add(p.cfg.Lifetime + maxTokenAge)
		err = p.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Sessions.SignOut(ctx, out) })
		p.mu.Lock()
		clear(p.checked)
		p.mu.Unlock()
		if rule.CodeOf(err) == rule.CodeConflict {
			return rule.Errorf(rule.CodeInvalid, "%s", err.Error())
		}
		return err
	}
	return rule.Errorf(rule.CodeInvalid, "the logout token is of an identity provider that this server does not know")
}
