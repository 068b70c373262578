package api

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/auth"
)

// place says which project an operation concerns, and so which project's role its caller needs.
type place int

const (
	ownProject   place = iota // the one that project_id names, else the key's own, else default
	ownOrAll                  // as ownProject, and project_id may be * for all projects
	pathProject               // the one in the path
	allProjects               // only keys for all projects may call it
	eachProject               // any key with the role; the handler shows it what it may see
	publicAccess              // no project and no key
)

// plan is what is known of a route before a request comes: the guard test fails for a route without one.
type plan struct {
	role  auth.Role
	place place
	query map[string]bool // parameters by name; true for those that may be repeated. Nil lets everything pass.
	body  *shape          // of the JSON body; nil for operations that take none
	limit int64           // bytes of the body
	yaml  bool            // the body may be YAML
	form  bool            // the body is a form with a file
	// signer, if not nil, authenticates by a signature of the body, which then stands in the exchange; no key counts.
	signer *signer
	inner  bool // another protocol, which reads the body itself, and whose calls come back as requests of their own
}

// planKey is where the plan stands in an operation's metadata.
const planKey = "tenet"

// operation describes a route for [register].
type operation struct {
	id, method, path string
	summary          string
	description      string
	tag              string
	role             auth.Role
	place            place
	status           int // of success; 0 is 200, or 204 without a body
	responses        map[string]*huma.Response
}

// register adds an operation without a body.
func register[I, O any](s *server, o operation, handler func(context.Context, *I) (*O, error)) *huma.Operation {
	p := &plan{role: o.role, place: o.place}
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Description: o.description,
		Tags: []string{o.tag}, DefaultStatus: o.status, Metadata: map[string]any{planKey: p},
		Responses: map[string]*huma.Response{"default": s.problemResponse()},
	}
	maps.Copy(op.Responses, o.responses)
	if o.role != auth.Public {
		op.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}}
		op.Extensions = map[string]any{"x-required-role": string(o.role)}
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
	documented := s.documented(o.method, o.path)
	p.query = map[string]bool{}
	for _, param := range documented.Parameters {
		if param.In == "query" {
			p.query[param.Name] = param.Schema.Type == huma.TypeArray
		}
	}
	s.plans[o.method+" "+o.path] = p
	return documented
}

// registerBody adds an operation with a JSON body of type B.
func registerBody[I, B, O any](s *server, o operation, handler func(context.Context, *I, *B) (*O, error)) *huma.Operation {
	return withBody(s, o, readBody[B], handler)
}

// registerOptional adds an operation with a JSON body of type B that may be left out: all of its fields are optional.
func registerOptional[I, B, O any](s *server, o operation, handler func(context.Context, *I, *B) (*O, error)) *huma.Operation {
	op := withBody(s, o, readOptional[B], handler)
	op.RequestBody.Required = false
	return op
}

func withBody[I, B, O any](s *server, o operation, read func(context.Context, *server) (*B, error), handler func(context.Context, *I, *B) (*O, error)) *huma.Operation {
	op := register(s, o, func(ctx context.Context, in *I) (*O, error) {
		body, err := read(ctx, s)
		if err != nil {
			return nil, err
		}
		return handler(ctx, in, body)
	})
	registry := s.api.OpenAPI().Components.Schemas
	schema := registry.Schema(reflect.TypeFor[B](), true, "")
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{jsonType: {Schema: schema}}}
	p := s.plans[o.method+" "+o.path]
	p.body, p.limit = compileShape(registry, schema), s.cfg.Limits.MaxBody
	return op
}

// raw adds a GET route outside the API description.
func (s *server) raw(path string, role auth.Role, at place, h http.HandlerFunc) {
	p := &plan{role: role, place: at}
	pattern := http.MethodGet + " " + path
	s.plans[pattern] = p
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, err := s.admit(r, p)
		if err != nil {
			s.writeProblem(w, r, err)
			return
		}
		h(w, r.WithContext(ctx))
	})
}

// documented finds the operation in the API description.
func (s *server) documented(method, path string) *huma.Operation {
	item := s.api.OpenAPI().Paths[path]
	all := []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete}
	return all[slices.IndexFunc(all, func(op *huma.Operation) bool { return op != nil && op.Method == method })]
}

// problemResponse documents errors.
func (s *server) problemResponse() *huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	return &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{problemType: {Schema: schema}}}
}
