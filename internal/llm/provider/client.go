package provider

import (
	"context"
	"net/http"
	"sync/atomic"

	"tenet/internal/llm"
)

// wire is how one provider writes a prompt and an answer.
type wire interface {
	// request renders req in dialect d: the path to post to and the body.
	request(model string, req llm.Request, d dialect) (path string, body any)
	// decode reads a successful answer.
	decode(body []byte) (llm.Response, error)
	// adapt returns the dialect that does without what the server complains about, or false if the complaint names nothing
	// that we can do without.
	adapt(d dialect, complaint string) (dialect, bool)
	// list is the path of a cheap question that needs the key.
	list() string
}

// dialect records the features that a server was found to understand. The zero value fits most servers of its kind.
type dialect struct {
	format        format
	newTokenLimit bool // OpenAI: max_completion_tokens instead of max_tokens
	noTemperature bool // models that reason take only their default
	noSeed        bool
	noSystem      bool // Gemma has no system text of its own
	noRoom        bool // the limit of output tokens is not raised for thoughts, nor is anything said about them
}

// format is a way to ask for structured output, from the strictest to none. Not every provider has all.
type format int

const (
	formatSchema       format = iota // the provider's own mechanism, held to the schema
	formatObjectSchema               // a second mechanism: json_object with the schema inside (llama.cpp), a forced tool (Anthropic)
	formatObject                     // any JSON object, the schema in words
	formatText                       // nothing, the schema in words
)

// thoughtRoom is added to the limit of output tokens if unrequested thoughts count against it.
const thoughtRoom = 8192

// inWords is the schema for servers that are not held to it.
func inWords(schema []byte) string {
	return "\n\nAnswer with one JSON object and nothing else. It must satisfy this JSON Schema:\n" + string(schema)
}

// client is a model behind a link, spoken to in the words of its provider.
type client struct {
	*link
	wire wire
	// known is the dialect that last worked. Servers do not change, so what one refused is not sent again.
	known atomic.Pointer[dialect]
}

func newClient(l *link, w wire, first dialect) *client {
	c := &client{link: l, wire: w}
	c.known.Store(&first)
	return c
}

// Complete asks for one answer.
func (c *client) Complete(ctx context.Context, req llm.Request) (llm.Response, error) {
	return call(ctx, c.link, func(ctx context.Context) (llm.Response, error) { return c.attempt(ctx, req) })
}

// Check asks the server for its list of models.
func (c *client) Check(ctx context.Context) error { return c.check(ctx, c.wire.list()) }

// attempt sends req once, and again for each parameter that the server turns out not to know.
func (c *client) attempt(ctx context.Context, req llm.Request) (llm.Response, error) {
	d := *c.known.Load()
	tried := map[dialect]bool{}
	for {
		tried[d] = true
		path, body := c.wire.request(c.model, req, d)
		r, err := c.post(ctx, path, body)
		if err != nil {
			return llm.Response{}, err
		}
		if r.status == http.StatusOK {
			c.known.Store(&d)
			if reportsFailure(r.body) {
				return llm.Response{}, errReported
			}
			return c.wire.decode(r.body)
		}
		if complains(r.status) {
			f := decodeFailure(r.body)
			if next, ok := c.wire.adapt(d, f.complaint); ok && !tried[next] && !f.badKey && !f.tooLong {
				c.opts.Logger.InfoContext(ctx, "the model's server does not know a parameter; going on without it", "model", c.id(), "status", r.status)
				d = next
				continue
			}
		}
		return llm.Response{}, c.refused(r)
	}
}

// complains reports whether an answer of this status may be about a parameter. llama-cpp-python answers 500 to a
// response_format that it does not know, others 501.
func complains(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity ||
		status == http.StatusInternalServerError || status == http.StatusNotImplemented
}
