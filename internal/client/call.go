package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Call carries out an operation with a body and decodes its answer. A body of []byte is sent as it is, with the Content-Type that the
// operation has.
func Call[In, Out any](ctx context.Context, c *Client, o op.Op[In, Out], in In) (out Out, err error) {
	a, err := carryOut(ctx, c, o, in)
	if err == nil {
		err = decode(o.Method+" "+o.Path, a, &out)
	}
	return out, err
}

// callDirectly is [Call] of an operation whose answer nobody else changes or keeps: a handler in this process gives the value itself, not its JSON.
func callDirectly[In, Out any](ctx context.Context, c *Client, o op.Op[In, Out], in In) (out *Out, err error) {
	a, err := carryOut(context.WithValue(ctx, takerKey{}, func(v any) bool {
		given, ok := v.(*Out)
		if ok {
			out = given
		}
		return ok
	}), c, o, in)
	if err != nil || out != nil {
		return out, err
	}
	out = new(Out)
	return out, decode(o.Method+" "+o.Path, a, out)
}

// carryOut carries out an operation.
func carryOut[In, Out any](ctx context.Context, c *Client, o op.Op[In, Out], in In) (*answer, error) {
	r := request{
		method: o.Method, path: o.Path, query: o.Query, header: o.Header.Clone(), repeatable: o.Again, anywhere: o.Anywhere, limit: maxAnswer,
	}
	if o.Large {
		r.limit = maxExport
	}
	switch body := any(in).(type) {
	case wire.None:
	case []byte:
		r.body = body
	default:
		var err error
		if r.body, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("client: encoding the request: %w", err)
		}
		if r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set("Content-Type", "application/json")
	}
	return c.do(ctx, r)
}

// decode reads the answer to a call into out.
func decode(call string, a *answer, out any) error {
	switch v := out.(type) {
	case *wire.None:
	case *[]byte:
		*v = a.body
	default:
		if media := a.header.Get("Content-Type"); !mayBeJSON(media) {
			return fmt.Errorf("%s: the server's answer is %q in place of JSON; is it a Tenet server?", call, media)
		}
		if err := json.Unmarshal(a.body, v); err != nil {
			return fmt.Errorf("%s: the server's answer is not understood: %w", call, err)
		}
	}
	return nil
}

// mayBeJSON reports whether a body of a media type can be JSON. Pages are refused, as sign-ins of networks send them; Go servers say plain text for
// a body without a type.
func mayBeJSON(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return media == "" || media == "text/plain" || media == "application/json" || strings.HasSuffix(media, "+json")
}

// Copy carries out an operation without a body and writes its answer to w as it comes, however long it is. An error may come after a part.
func Copy(ctx context.Context, c *Client, o op.Op[wire.None, []byte], w io.Writer) error {
	return copyAnswer(ctx, c, request{method: o.Method, path: o.Path, query: o.Query, header: o.Header.Clone(), anywhere: o.Anywhere, limit: maxProblem}, w)
}

// Get carries out an operation that has no body.
func Get[Out any](ctx context.Context, c *Client, o op.Op[wire.None, Out]) (Out, error) {
	return Call(ctx, c, o, wire.None{})
}

// Run carries out an operation that has neither body nor answer.
func Run(ctx context.Context, c *Client, o op.Op[wire.None, wire.None]) error {
	_, err := Get(ctx, c, o)
	return err
}

// maxPage is the largest page that the API gives.
const maxPage = 100

// All collects the pages of a list. What is made meanwhile comes at the end of lists in the order of making, so no item is missed
// there.
func All[T any](ctx context.Context, c *Client, o op.Op[wire.None, wire.Page[T]]) ([]T, error) {
	items := []T{}
	for number := 1; ; number++ {
		list, err := Get(ctx, c, o.Where(wire.PageQuery{Page: number, PageSize: maxPage}))
		if err != nil {
			return nil, err
		}
		items = append(items, list.Items...)
		if len(list.Items) < maxPage {
			return items, nil
		}
	}
}

// Do carries out any operation of the HTTP API by its method and path, which may have a query, with in as the JSON of its body unless it
// is nil, and decodes the answer into out unless that is nil.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	path, rawQuery, _ := strings.Cut(path, "?")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "the query of %s is malformed: %w", path, err)
	}
	o := op.Op[any, []byte]{Method: method, Path: path, Again: method == http.MethodGet, Query: query}
	if in == nil {
		in = wire.None{}
	}
	answer, err := Call(ctx, c, o, in)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: the server's answer is not understood: %w", method, path, err)
	}
	return nil
}
