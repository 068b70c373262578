package rest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// admit authenticates the caller, finds the project, enforces the role and the rate, and refuses what no operation takes.
// It returns the context for the handler.
func (s *Server) admit(r *http.Request, e *Endpoint) (context.Context, error) {
	e.use()
	ctx := r.Context()
	x := exchangeFrom(ctx)
	x.endpoint = e
	if e.Role != auth.Public {
		who, err := s.identify(x)
		if err != nil {
			return nil, err
		}
		x.who = who
		if err := s.MayCome(r, who); err != nil {
			x.refusal = auth.RefusedNetwork
			return nil, err
		}
		if err := e.mayCall(who); err != nil {
			x.refusal = auth.RefusedScope
			return nil, err
		}
		id, err := auth.Identify(who, actingOf(r.Header))
		if err != nil {
			return nil, err
		}
		ctx = audit.WithIdentity(auth.WithActor(ctx, who), id)
	}
	query, err := parseQuery(r)
	if err != nil {
		return nil, err
	}
	if e.Role != auth.Public {
		if err := x.authorize(auth.ActorFrom(ctx), query.Get("project_id")); err != nil {
			return nil, err
		}
		if s.cfg.Refuse != nil && !e.inner {
			if err := s.cfg.Refuse(r, e.reads || e.asks); err != nil {
				return nil, err
			}
		}
		if !e.asks && !e.inner && s.cfg.MayAct != nil { // an evaluation is denied, and recorded
			if err := s.cfg.MayAct(ctx, x.project, audit.IdentityFrom(ctx)); err != nil {
				return nil, err
			}
		}
		if !e.inner { // the server counts its calls when they come back
			who := auth.ActorFrom(ctx)
			if err := s.rates.take(who.RateID(), who.Limits); err != nil {
				return nil, err
			}
		}
	}
	if err := e.checkQuery(query); err != nil {
		return nil, err
	}
	ctx = s.follow(ctx, e, x)
	if e.limit == 0 && !e.inner {
		return ctx, x.noBody()
	}
	return ctx, nil
}

// identify returns the caller: by the signature of the body where the operation takes one, else by an API key.
func (s *Server) identify(x *exchange) (auth.Actor, error) {
	if x.endpoint.signer != nil {
		return s.authenticateBody(x)
	}
	return s.authenticate(x.r)
}

// authenticate returns the caller. While no key is in force, a caller without one is the local user. A caller in this
// process puts its actor into the context, which nothing from the network can do.
func (s *Server) authenticate(r *http.Request) (auth.Actor, error) {
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

// credential returns the secret in the headers, or "".
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

// challenge returns an unauthenticated error with the header of RFC 6750 that says what is needed.
func challenge(params, format string, args ...any) error {
	return &httpError{
		cause:  rule.Errorf(rule.CodeUnauthenticated, format, args...),
		header: http.Header{"Www-Authenticate": {`Bearer realm="tenet"` + params}},
	}
}

// authorize finds the project that the request concerns and checks that the actor has the role there.
func (x *exchange) authorize(who auth.Actor, asked string) error {
	e := x.endpoint
	switch e.Place {
	case EachProject:
		return who.MayAnywhere(e.Role)
	case AllProjects:
		if !who.MayEverywhere() {
			return rule.Errorf(rule.CodeForbidden, "this needs access to all projects")
		}
		return who.May(e.Role, store.AllProjects)
	case PathProject:
		return x.enter(who, x.r.PathValue("id"))
	case OwnProject, OwnOrAll, OwnOrEach, SignedBody, PublicAccess:
	}
	x.given = asked != ""
	if asked == store.AllProjects && e.Place == OwnOrEach && !who.MayEverywhere() {
		x.project = asked
		return who.MayAnywhere(e.Role)
	}
	return x.enter(who, cmp.Or(asked, who.Home()))
}

// enter makes project the project of the request, if the actor has the role there.
func (x *exchange) enter(who auth.Actor, project string) error {
	if err := who.May(x.endpoint.Role, project); err != nil {
		return err
	}
	if !rule.ValidProjectID(project) && (project != store.AllProjects || x.endpoint.Place != OwnOrAll && x.endpoint.Place != OwnOrEach) {
		if x.endpoint.Place == PathProject {
			return rule.NotFound("project", Clip(project, maxValue))
		}
		return InvalidField("project_id", "must have 1 to 63 lower-case letters, digits, - and _, and begin with a letter or digit")
	}
	x.project = project
	return nil
}

// EnterProject makes the project that a body names the project of the request, if the actor has the role there, and returns
// it. It refuses another project than the query names. An empty name changes nothing.
func EnterProject(ctx context.Context, named string) (string, error) {
	x := exchangeFrom(ctx)
	switch {
	case named == "":
		return x.project, nil
	case named == x.project:
	case x.given:
		return "", InvalidField("project_id", "is %q in the body and %q in the query", Clip(named, maxValue), x.project)
	default:
		if err := x.enter(auth.ActorFrom(ctx), named); err != nil {
			return "", err
		}
	}
	x.given = true
	return x.project, nil
}

// Location is the address of a new resource, by its path with a parameter for the id. It names the project if the request
// names one.
func Location(ctx context.Context, path, id string) string {
	before, _, _ := strings.Cut(path, "{")
	at := before + url.PathEscape(id)
	if x := exchangeFrom(ctx); x.given {
		at += "?project_id=" + url.QueryEscape(x.project)
	}
	return at
}

// Project returns the project that a request concerns.
func Project(ctx context.Context) string { return exchangeFrom(ctx).project }

// maxNoBody bounds the bytes of a body that says nothing.
const maxNoBody = 64

// noBody refuses a body where the operation takes none, so that no caller believes that it counts. An empty JSON object, which some
// clients send with every POST, says nothing and is accepted.
func (x *exchange) noBody() error {
	r := x.r
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength <= maxNoBody {
		timeout := x.awaitBody()
		body, err := io.ReadAll(io.LimitReader(r.Body, maxNoBody+1))
		if err != nil {
			return brokenBody(err, timeout)
		}
		said := bytes.TrimSpace(body)
		inner, object := bytes.CutPrefix(said, []byte("{"))
		if len(body) <= maxNoBody && (len(said) == 0 || object && string(bytes.TrimSpace(inner)) == "}") {
			return nil
		}
	}
	return withStatus(http.StatusBadRequest, "", "%s %s takes no body but {}", r.Method, Clip(r.URL.Path, maxField))
}
