package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// gate stands before every operation of the API.
func (s *server) gate(hc huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(hc)
	p, ok := hc.Operation().Metadata[planKey].(*plan)
	if !ok {
		panic("api: " + hc.Operation().OperationID + " declares no role")
	}
	ctx, err := s.admit(r, p)
	if err != nil {
		s.writeProblem(w, r, err)
		return
	}
	next(huma.WithContext(hc, ctx))
}

// admit authenticates the caller, finds the project and enforces the role; then it looks at what every operation must
// refuse. It returns the context for the handler.
func (s *server) admit(r *http.Request, p *plan) (context.Context, error) {
	ctx := r.Context()
	x := exchangeFrom(ctx)
	x.plan = p
	if p.role != auth.Public {
		who, err := s.identify(x)
		if err != nil {
			return nil, err
		}
		ctx = auth.WithActor(ctx, who)
	}
	query, err := parseQuery(r)
	if err != nil {
		return nil, err
	}
	if p.role != auth.Public {
		if err := x.authorize(actor(ctx), query.Get("project_id")); err != nil {
			return nil, err
		}
		if !p.inner { // what it asks for is counted when it comes back
			if err := s.rates.take(actor(ctx).KeyID); err != nil {
				return nil, err
			}
		}
	}
	if err := p.checkQuery(query); err != nil {
		return nil, err
	}
	if p.body == nil && !p.form && p.signer == nil && !p.inner {
		return ctx, noBody(r)
	}
	return ctx, nil
}

// identify finds out who calls: by the signature of the body where the operation takes one, else by an API key.
func (s *server) identify(x *exchange) (auth.Actor, error) {
	if x.plan.signer != nil {
		return s.authenticateBody(x)
	}
	return s.authenticate(x.r)
}

// authenticate finds out who calls. While no key is in force, a caller without one is the local user. A caller in this
// process has put its actor into the context, where nothing from the network can put one.
func (s *server) authenticate(r *http.Request) (auth.Actor, error) {
	if who := auth.ActorFrom(r.Context()); who != (auth.Actor{}) {
		return who, nil
	}
	secret, err := credential(r)
	if err != nil {
		return auth.Actor{}, err
	}
	if secret != "" {
		who, err := s.cfg.Keys.Authenticate(r.Context(), secret)
		if rule.CodeOf(err) == rule.CodeUnauthenticated {
			return who, challenge(`, error="invalid_token"`, "%s", err.Error())
		}
		return who, err
	}
	required := s.cfg.RequireKey
	if !required {
		if required, err = s.cfg.Keys.Required(r.Context()); err != nil {
			return auth.Actor{}, err
		}
	}
	if required {
		return auth.Actor{}, challenge("", "an API key is needed; send it as Authorization: Bearer tnt_... or as X-API-Key")
	}
	return auth.Local("local"), nil
}

// credential takes the secret from the headers; empty if there is none.
func credential(r *http.Request) (string, error) {
	secret := r.Header.Get("X-Api-Key")
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		return secret, nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", challenge(`, error="invalid_request"`, "the Authorization header must be Bearer and an API key")
	}
	if secret != "" && secret != token {
		return "", challenge(`, error="invalid_request"`, "Authorization and X-API-Key name two different keys; send one")
	}
	return token, nil
}

// challenge makes an unauthenticated error with the header that says how to do better (RFC 6750).
func challenge(params, format string, args ...any) error {
	return &httpError{
		cause:  rule.Errorf(rule.CodeUnauthenticated, format, args...),
		header: http.Header{"Www-Authenticate": {`Bearer realm="tenet"` + params}},
	}
}

// authorize finds the project that the request concerns and checks that the actor has the role there.
func (x *exchange) authorize(who auth.Actor, asked string) error {
	p := x.plan
	switch p.place {
	case eachProject:
		if !who.Role.Allows(p.role) {
			return rule.Errorf(rule.CodeForbidden, "this needs the role %s; the key has the role %s", p.role, who.Role)
		}
		return nil
	case allProjects:
		if who.ProjectID != store.AllProjects {
			return rule.Errorf(rule.CodeForbidden, "this needs a key for all projects")
		}
		return who.May(p.role, store.AllProjects)
	case pathProject:
		return x.enter(who, x.r.PathValue("id"))
	case ownProject, ownOrAll, publicAccess:
	}
	x.given = asked != ""
	own := who.ProjectID
	if own == store.AllProjects {
		own = rule.DefaultProject
	}
	return x.enter(who, cmp.Or(asked, own))
}

// enter makes project the one that the request concerns, if the actor may.
func (x *exchange) enter(who auth.Actor, project string) error {
	if err := who.May(x.plan.role, project); err != nil {
		return err
	}
	if !rule.ValidProjectID(project) && (project != store.AllProjects || x.plan.place != ownOrAll) {
		if x.plan.place == pathProject {
			return rule.NotFound("project", cut(project, maxValue))
		}
		return invalidField("project_id", "must have 1 to 63 lower-case letters, digits, - and _, and begin with a letter or digit")
	}
	x.project = project
	return nil
}

// enterNamed is for bodies that name the project too: it must be the one of the query, or else becomes the project of the
// request, if the actor may.
func enterNamed(ctx context.Context, named string) (string, error) {
	x := exchangeFrom(ctx)
	switch {
	case named == "":
		return x.project, nil
	case named == x.project:
	case x.given:
		return "", invalidField("project_id", "is %q in the body and %q in the query", cut(named, maxValue), x.project)
	default:
		if err := x.enter(actor(ctx), named); err != nil {
			return "", err
		}
	}
	x.given = true
	return x.project, nil
}

// location is the address of something made at a path of the API: it names the project if the request has named it.
func location(ctx context.Context, path, id string) string {
	at := path + "/" + url.PathEscape(id)
	if x := exchangeFrom(ctx); x.given {
		at += "?project_id=" + url.QueryEscape(x.project)
	}
	return at
}

// project returns the project that a request concerns.
func project(ctx context.Context) string { return exchangeFrom(ctx).project }

// noBody refuses a body where an operation takes none, so that nobody believes it was heeded.
func noBody(r *http.Request) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength < 0 {
		if _, err := io.ReadFull(r.Body, make([]byte, 1)); errors.Is(err, io.EOF) {
			return nil
		}
	}
	return withStatus(http.StatusBadRequest, "", "%s %s takes no body", r.Method, cut(r.URL.Path, maxField))
}
