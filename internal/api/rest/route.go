package rest

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"tenet/internal/auth"
)

// Place says which project an operation concerns, and so in which project its caller needs the role.
type Place int

// Places.
const (
	OwnProject   Place = iota // the project that project_id names, else the key's own, else default
	OwnOrAll                  // as OwnProject, and project_id may be * for all projects
	OwnOrEach                 // as OwnProject, and project_id may be * for every project that the caller has access to
	PathProject               // the project {id} of the path
	AllProjects               // all projects: only keys for all projects may call the operation
	EachProject               // any: every key with the role may call, and the handler shows what the key may see
	PublicAccess              // none, and no key
	SignedBody                // the project of the signer, where a signature of the body replaces the key
)

// Operation declares a route.
type Operation struct {
	ID          string
	Route       string // method and path, such as "GET /api/v1/rules/{id}"
	Summary     string
	Description string
	Role        auth.Role // that the caller needs
	Place       Place
	Status      int // of success; 0 is 200, or 204 without a body
	// Asks means that the operation is part of asking for an evaluation: keys with the scope evaluate may call it.
	Asks bool
	// Lags means that a replica of the database may answer, which is behind by seconds: for lists and figures, never for what a decision rests on.
	Lags bool
}

// Created is the answer to a request that makes something.
type Created[T any] struct {
	Location string `header:"Location"`
	Body     T
}

// At returns the answer to a request that has made v, whose address is path with its id as parameter.
func At[T any](ctx context.Context, path, id string, v T) Created[T] {
	return Created[T]{Location(ctx, path, id), v}
}

// None is the input of operations without parameters and the answer of those that answer nothing.
type None = struct{}

// Resource mounts the operations on one kind of thing.
type Resource interface{ Routes(*Router) }

// Router mounts operations on a server.
type Router struct {
	server *Server
	tag    string
}

// Tag returns a router whose operations are in a group of the description.
func (r *Router) Tag(name string) *Router { return &Router{server: r.server, tag: name} }

// Endpoint is a mounted operation. Its methods complete what the operation declares.
type Endpoint struct {
	Role  auth.Role
	Place Place

	server *Server
	later  []func() // what describes it, in order; nil once it is described
	used   sync.Once
	call   *apiCall // nil for a route outside the description
	params []param
	given  int             // the first of params that the gate reads
	query  map[string]bool // parameters by name; true for those that may be repeated. Nil allows all.
	status int
	answer answer
	body   *Schema // of the JSON body; nil for operations that take none
	limit  int64   // bytes of the body
	// optional lets an empty body mean {}.
	optional bool
	yaml     bool // the body may be YAML
	signer   *Signer
	asks     bool // see [Operation.Asks]
	reads    bool // it changes nothing, by its method
	lags     bool // see [Operation.Lags]
	inner    bool // another protocol, which reads the body and sends requests of its own
}

// Handle mounts an operation without a body. I holds the parameters in fields with the tags path, query and header. O is
// the answer: [None], a struct with the field Body and headers in fields with the tag header, or the body alone.
func Handle[I, O any](r *Router, o Operation, handler func(context.Context, *I) (O, error)) *Endpoint {
	return r.mount(o, reflect.TypeFor[I](), reflect.TypeFor[O](), func(ctx context.Context, in any) (any, error) {
		if err := checkIDs(ctx); err != nil {
			return nil, err
		}
		return handler(ctx, in.(*I))
	})
}

// HandleBody mounts an operation with a JSON body of type B.
func HandleBody[I, B, O any](r *Router, o Operation, handler func(context.Context, *I, *B) (O, error)) *Endpoint {
	e := r.mount(o, reflect.TypeFor[I](), reflect.TypeFor[O](), func(ctx context.Context, in any) (any, error) {
		body, err := ReadBody[B](ctx)
		if err != nil {
			return nil, err
		}
		if err := checkIDs(ctx); err != nil {
			return nil, err
		}
		return handler(ctx, in.(*I), body)
	})
	e.describe(func() { e.accept(r.server.cfg.Limits.MaxBody, map[string]*Media{jsonType: {Schema: SchemaOf[B](r)}}) })
	return e
}

// Do mounts an operation without a body and without an answer.
func Do[I any](r *Router, o Operation, handler func(context.Context, *I) error) *Endpoint {
	return Handle(r, o, func(ctx context.Context, in *I) (None, error) { return None{}, handler(ctx, in) })
}

// mount mounts an operation. It is described when it is first needed: to describe all of them takes longer than most programs run that make a server.
func (r *Router) mount(o Operation, in, out reflect.Type, run func(ctx context.Context, in any) (any, error)) *Endpoint {
	if o.Role == "" {
		panic("rest: " + o.ID + " declares no role")
	}
	e := &Endpoint{
		server: r.server, Role: o.Role, Place: o.Place, status: o.Status, asks: o.Asks,
		reads: strings.HasPrefix(o.Route, http.MethodGet+" ") && o.Role != auth.Evaluator, lags: o.Lags,
	}
	e.describe(func() { e.declare(o, r.tag, in, out) })
	r.server.handle(o.Route, e, func(w *response, r *http.Request) error {
		value := reflect.New(in)
		if err := readParams(r, e.params[e.given:], value.Elem()); err != nil {
			return err
		}
		result, err := run(r.Context(), value.Interface())
		if err != nil {
			return err
		}
		return e.answer.write(w, e.status, result)
	})
	return e
}

// declare describes an operation with parameters and an answer of two types.
func (e *Endpoint) declare(o Operation, tag string, in, out reflect.Type) {
	s := e.server
	if o.Place == OwnProject || o.Place == OwnOrAll || o.Place == OwnOrEach {
		e.params = s.schemas.inputParams(reflect.TypeFor[projectQuery]())
	}
	e.given = len(e.params)
	e.params = append(e.params, s.schemas.inputParams(in)...)
	e.call = &apiCall{OperationID: o.ID, Summary: o.Summary, Description: o.Description, Tags: []string{tag}, Responses: map[string]*Response{"default": s.problem()}}
	e.query = map[string]bool{}
	for _, p := range e.params {
		e.call.Parameters = append(e.call.Parameters, p.parameter)
		if p.In == "query" {
			e.query[p.Name] = p.Schema.Type == typeArray
		}
	}
	if o.Role != auth.Public {
		e.call.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}}
		e.call.RequiredRole = string(o.Role)
	}
	success := e.answer.describe(s.schemas, out)
	if e.status == 0 {
		e.status = http.StatusOK
		if success.Content == nil {
			e.status = http.StatusNoContent
		}
	}
	success.Description = http.StatusText(e.status)
	e.call.Responses[strconv.Itoa(e.status)] = success
	s.document.add(o.Route, e.call)
}

// describe runs f once the endpoint is described: at once if it is.
func (e *Endpoint) describe(f func()) {
	if e.call != nil {
		f()
		return
	}
	e.later = append(e.later, f)
}

// described describes the endpoint, if that was not done.
func (e *Endpoint) described() *Endpoint {
	for _, f := range e.later {
		f()
	}
	e.later = nil
	return e
}

// use makes the endpoint ready for requests and for the description.
func (e *Endpoint) use() {
	e.used.Do(func() {
		s := e.server.schemas
		s.mu.Lock()
		defer s.mu.Unlock()
		e.described().body.allowNull(s.nullable)
	})
}

// Raw mounts a GET route outside the description.
func (r *Router) Raw(path string, role auth.Role, place Place, h http.HandlerFunc) {
	r.server.handle(http.MethodGet+" "+path, &Endpoint{server: r.server, Role: role, Place: place, reads: true}, func(w *response, r *http.Request) error {
		h(w, r)
		return nil
	})
}

// Inner mounts the handler of another protocol for callers with a role. Its calls come back as requests of their own.
func (r *Router) Inner(path string, role auth.Role, h http.HandlerFunc) {
	e := &Endpoint{server: r.server, Role: role, inner: true, query: map[string]bool{"project_id": false}}
	r.server.handle(path, e, func(w *response, r *http.Request) error {
		h(w, r)
		return nil
	})
}

// Explain adds a reason to the answer that a method is not possible on paths with a prefix.
func (r *Router) Explain(method, prefix, reason string) {
	r.server.reasons[method+" "+prefix] = reason
}

// OneOf publishes a type as one of several structs, which differ in the value of a field.
func OneOf[T any](r *Router, field string, forms []reflect.Type) {
	r.server.schemas.given[reflect.TypeFor[T]()] = r.server.schemas.oneOf(field, forms)
}

// Publish publishes a schema under a name and returns a reference to it.
func (r *Router) Publish(name string, s *Schema) *Schema {
	r.server.schemas.byName[name] = s
	return r.server.schemas.ref(name)
}

// Withdraw removes a published schema that nothing refers to.
func (r *Router) Withdraw(name string) { delete(r.server.schemas.byName, name) }

// Accept lets the operation take a body of at most limit bytes. A JSON body is checked against its schema.
func (e *Endpoint) Accept(limit int64, content map[string]*Media) *Endpoint {
	e.describe(func() { e.accept(limit, content) })
	return e
}

func (e *Endpoint) accept(limit int64, content map[string]*Media) {
	e.limit = limit
	e.call.RequestBody = &requestBody{Required: true, Content: content}
	if media := content[jsonType]; media != nil {
		e.body, _ = media.Schema.resolve()
		if example, ok := e.server.cfg.Description.Examples[e.call.OperationID]; ok {
			media.Example = example
		}
	}
	_, e.yaml = content[YAMLTypes[0]]
}

// Optional lets the caller leave the body out: all of its fields are optional.
func (e *Endpoint) Optional() *Endpoint {
	e.describe(func() { e.optional, e.call.RequestBody.Required = true, false })
	return e
}

// Signed makes the operation one whose callers sign its body instead of sending a key.
func (e *Endpoint) Signed(scheme string, described SecurityScheme, by *Signer) *Endpoint {
	e.signer = by
	e.described().call.Security = []map[string][]string{{scheme: {}}}
	e.server.document.Components.SecuritySchemes[scheme] = described
	return e
}

// Streams describes the server-sent events that the operation answers with when asked. The description has them apart from the answer:
// generators make one type of all bodies of an answer, and no client that they write reads events.
func (e *Endpoint) Streams(description string) *Endpoint {
	e.describe(func() {
		e.call.EventStream = &eventStream{Description: "Server-sent events: " + description, MediaType: eventType}
	})
	return e
}

// Background describes the answer 202 to a caller that prefers it: what is under way.
func (e *Endpoint) Background(state *Schema) *Endpoint {
	e.described().call.Responses["202"] = &Response{
		Description: "Accepted; with Prefer: respond-async.",
		Headers: map[string]Header{
			"Location":           {Description: "Where to get its status.", Schema: Text("")},
			"Preference-Applied": {Description: "respond-async", Schema: Text("")},
		},
		Content: map[string]*Media{jsonType: {Schema: state}},
	}
	return e
}

// Example shows a request and its answer. A nil request has its parameters in the query, which have examples of their own.
func (e *Endpoint) Example(request, answer any) *Endpoint {
	e.describe(func() {
		if request != nil {
			e.call.RequestBody.Content[jsonType].Example = request
		}
		e.success().Content[jsonType].Example = answer
	})
	return e
}

// Success is the description of the answer to a request that succeeds.
func (e *Endpoint) Success() *Response { return e.described().success() }

func (e *Endpoint) success() *Response { return e.call.Responses[strconv.Itoa(e.status)] }

// Fails describes an answer of a status that is a problem, or has the given body instead.
func (e *Endpoint) Fails(status int, description string, body *Schema) {
	content := maps.Clone(e.server.problem().Content)
	content[jsonType] = &Media{Schema: body}
	e.described().call.Responses[strconv.Itoa(status)] = &Response{Description: description, Content: content}
}

// Body is the schema of the JSON body.
func (e *Endpoint) Body() *Schema { return e.described().body }

// answer says how the answers of a type are sent.
type answer struct {
	none    bool
	body    []int // index of the field; nil if the answer is the body
	status  []int // index of the field; nil without one
	headers []headerField
}

type headerField struct {
	name  string
	index []int
}

// describe finds out how the answers of a type are sent, and describes them.
func (a *answer) describe(r *schemas, t reflect.Type) *Response {
	if t == reflect.TypeFor[None]() {
		a.none = true
		return &Response{}
	}
	if t.Kind() != reflect.Struct {
		return &Response{Content: map[string]*Media{jsonType: {Schema: r.of(t)}}}
	}
	body, ok := t.FieldByName("Body")
	if !ok || body.Tag.Get("json") != "" {
		return &Response{Content: map[string]*Media{jsonType: {Schema: r.of(t)}}}
	}
	out := &Response{Content: map[string]*Media{}}
	a.body = body.Index
	if body.Type != reflect.TypeFor[[]byte]() && body.Type != reflect.TypeFor[Streamed]() && body.Type != reflect.TypeFor[List]() {
		out.Content[jsonType] = &Media{Schema: r.ofField(body)}
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Name == "Status" {
			a.status = f.Index
		}
		if name, ok := f.Tag.Lookup("header"); ok {
			a.headers = append(a.headers, headerField{name, f.Index})
			if out.Headers == nil {
				out.Headers = map[string]Header{}
			}
			out.Headers[name] = Header{Schema: r.ofField(f)}
		}
	}
	return out
}

// write sends an answer.
func (a *answer) write(w *response, status int, result any) error {
	if a.none {
		w.WriteHeader(status)
		return nil
	}
	v := reflect.ValueOf(result)
	for _, h := range a.headers {
		if value := v.FieldByIndex(h.index).String(); value != "" {
			w.Header().Set(h.name, value)
		}
	}
	if a.status != nil {
		if given := int(v.FieldByIndex(a.status).Int()); given != 0 {
			status = given
		}
	}
	if a.body != nil {
		result = v.FieldByIndex(a.body).Interface()
	}
	if status == http.StatusNotModified {
		w.WriteHeader(status)
		return nil
	}
	if stream, ok := result.(Streamed); ok {
		w.WriteHeader(status)
		if err := stream(slowly{w}); err != nil {
			if !w.sent {
				return err
			}
			panic(http.ErrAbortHandler) // the client must not take the part for the whole
		}
		return nil
	}
	if raw, ok := result.([]byte); ok {
		w.WriteHeader(status)
		_, _ = w.Write(raw)
		return nil
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	if list, ok := result.(List); ok {
		list.send(w)
		return nil
	}
	if !takesValue(w, result) {
		encode(w, result)
	}
	return nil
}

// handle mounts a handler behind the gate.
func (s *Server) handle(pattern string, e *Endpoint, h func(*response, *http.Request) error) {
	s.endpoints[pattern] = e
	if method, path, ok := strings.Cut(pattern, " "); ok && !strings.Contains(path, "{") {
		s.methods[path] = append(s.methods[path], method)
	}
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, err := s.admit(r, e)
		if err == nil {
			r = r.WithContext(ctx)
			err = h(w.(*response), r)
		}
		if err != nil {
			WriteProblem(w, r, err)
		}
	})
}

// Endpoints returns all mounted routes by pattern, for tests.
func (s *Server) Endpoints() map[string]*Endpoint { return s.endpoints }
