package console

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/sso"
)

// attemptCookie holds a sign-in at an identity provider that has begun. It reaches the addresses below attemptPath alone.
const (
	attemptCookie = "tenet-signin"
	attemptPath   = "/signin"
	attemptAge    = 10 * time.Minute
)

// resume makes the person of the session the one of the page. It leads a page to the provider, without a question to the person, once it is
// time to ask whether the person is still signed in there.
func resume(p *page, who confirmed) error {
	cfg := p.console.cfg
	if cfg.People == nil {
		return p.console.sessions.Destroy(p.ctx)
	}
	actor, err := cfg.People.Resume(p.ctx, who.Person)
	switch rule.CodeOf(err) {
	case "":
	case rule.CodeUnauthenticated, rule.CodeForbidden:
		if err := p.console.sessions.Destroy(p.ctx); err != nil {
			return err
		}
		p.warn(messageOf(err))
		return nil
	default:
		return err
	}
	age := cfg.Now().Sub(who.At)
	navigates := p.r.Method == http.MethodGet && !p.partial() && wantsHTML(p.r)
	switch {
	case age <= cfg.Recheck, age <= 2*cfg.Recheck && !navigates, p.r.URL.Path == "/signout":
		p.who = actor
	case navigates && p.entering:
		return toProvider(p, who.Provider, p.r.URL.RequestURI(), true)
	default: // a form, or a part of a page, long after the provider was last asked
	}
	return nil
}

// toProvider begins a sign-in.
func toProvider(p *page, name, next string, silent bool) error {
	attempt, address, err := p.console.cfg.People.Begin(p.ctx, name, baseAddress(p)+"/signin/"+name+"/callback", next, silent)
	if err != nil {
		return err
	}
	data, err := json.Marshal(attempt)
	if err != nil {
		return err
	}
	setAttempt(p, base64.RawURLEncoding.EncodeToString(data), p.console.cfg.Now().Add(attemptAge))
	return p.redirect(address)
}

// setAttempt sends the cookie of the sign-in that has begun, or removes it.
func setAttempt(p *page, value string, expires time.Time) {
	http.SetCookie(p.w, &http.Cookie{
		Name: attemptCookie, Value: value, Path: attemptPath, Expires: expires, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure(p.r),
	})
}

// baseAddress is the address of the console, without a path.
func baseAddress(p *page) string {
	if at := p.console.cfg.PublicURL; at != "" {
		return at
	}
	if secure(p.r) {
		return "https://" + p.r.Host
	}
	return "http://" + p.r.Host
}

// beginSignIn leads the browser to an identity provider.
func beginSignIn(p *page) error {
	if p.console.cfg.People == nil {
		return missing(p)
	}
	return toProvider(p, p.r.PathValue("provider"), localPath(p.r.URL.Query().Get("next")), false)
}

// finishSignIn takes the answer of an identity provider. The session gets a new token, so that nobody can have planted the old one.
func finishSignIn(p *page) error {
	people := p.console.cfg.People
	if people == nil {
		return missing(p)
	}
	var attempt sso.Attempt
	if cookie, err := p.r.Cookie(attemptCookie); err == nil {
		data, err := base64.RawURLEncoding.DecodeString(cookie.Value)
		if err != nil || json.Unmarshal(data, &attempt) != nil {
			attempt = sso.Attempt{}
		}
	}
	setAttempt(p, "", time.Unix(1, 0))
	if name := p.r.PathValue("provider"); attempt.Provider != name {
		attempt = sso.Attempt{Provider: name} // without a state, which no answer fits
	}
	answer := p.r.URL.Query()
	person, err := people.Finish(p.ctx, attempt, answer)
	var who auth.Actor
	if err == nil {
		who, err = people.Resume(p.ctx, person)
	}
	next := localPath(attempt.Next)
	switch code := rule.CodeOf(err); code {
	case "":
	case rule.CodeUnauthenticated, rule.CodeForbidden, rule.CodeUnavailable:
		problem := messageOf(err)
		if attempt.Silent && attempt.State != "" && attempt.State == answer.Get("state") {
			if err := p.console.sessions.Destroy(p.ctx); err != nil {
				return err
			}
			p.who, problem = auth.Actor{}, "Your session at the identity provider has ended. Sign in again."
		}
		return p.showAs(statuses[code], head{Title: "Sign in"}, signInForm(p, next, problem))
	default:
		return err
	}
	sessions := p.console.sessions
	before, again := sessions.Get(p.ctx, ssoValue).(confirmed)
	again = again && before.Issuer == person.Issuer && before.Subject == person.Subject
	if !again {
		if err := sessions.Destroy(p.ctx); err != nil { // what the session holds is somebody else's
			return err
		}
	}
	if err := sessions.RenewToken(p.ctx); err != nil {
		return err
	}
	sessions.Put(p.ctx, ssoValue, confirmed{person, p.console.cfg.Now()})
	if !again {
		if err := record(p, SignIn{Who: who, Action: signedIn, From: callerOf(p)}); err != nil {
			return err
		}
	}
	return p.redirect(next)
}

// providerSignOut takes the message of an identity provider that a person has signed out there (OpenID Connect Back-Channel Logout 1.0).
func providerSignOut(p *page) error {
	if p.console.cfg.People == nil {
		return missing(p)
	}
	err := p.console.cfg.People.SignOut(p.ctx, p.r.PostForm.Get("logout_token"))
	if rule.CodeOf(err) != rule.CodeInvalid {
		if err == nil {
			p.sent = true
		}
		return err
	}
	p.sent = true
	p.w.Header().Set("Content-Type", "application/json")
	p.w.WriteHeader(http.StatusBadRequest)
	return json.NewEncoder(p.w).Encode(map[string]string{"error": "invalid_request", "error_description": messageOf(err)})
}

// messageOf is the text of an error for people.
func messageOf(err error) string {
	if e, ok := errors.AsType[*rule.Error](err); ok {
		return e.Message
	}
	return "Something went wrong here."
}
