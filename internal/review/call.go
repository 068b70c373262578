package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the calls to a forge.
const (
	callTime  = 30 * time.Second
	maxAnswer = 16 << 20
	maxPages  = 20 // of 100 comments
	maxWait   = time.Minute
)

// caller sends requests to the API of a forge.
type caller struct {
	base   string // address without / at its end
	header http.Header
	client *http.Client
}

func newCaller(base string, header http.Header) (caller, error) {
	base = strings.TrimRight(base, "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return caller{}, fmt.Errorf("%q is not the address of an API", base)
	}
	return caller{base, header, &http.Client{
		Timeout:       callTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token must not follow to another place
	}}, nil
}

// failed is an answer that is no success.
type failed struct {
	what    string
	status  int
	message string
}

func (e *failed) Error() string {
	return fmt.Sprintf("%s: the answer is %d %s%s", e.what, e.status, http.StatusText(e.status), e.message)
}

// is reports whether an error is an answer of one of some statuses.
func is(err error, statuses ...int) bool {
	e, ok := errors.AsType[*failed](err)
	return ok && slices.Contains(statuses, e.status)
}

// call sends a request, again if the forge asks to wait for less than a minute, and reads the answer into out unless that is nil.
func (c *caller) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	for attempt := 0; ; attempt++ {
		wait, err := c.once(ctx, method, path, body, out)
		if wait <= 0 || wait > maxWait || attempt == 2 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (c *caller) once(ctx context.Context, method, path string, body []byte, out any) (wait time.Duration, err error) {
	address := path
	if !strings.HasPrefix(path, "https://") && !strings.HasPrefix(path, "http://") {
		address = c.base + path
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header = c.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		if answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusForbidden {
			if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
				wait = max(time.Duration(s)*time.Second, time.Millisecond)
			}
		}
		var said struct {
			Message any `json:"message"`
		}
		e := &failed{what: method + " " + strings.SplitN(path, "?", 2)[0], status: answer.StatusCode}
		if json.Unmarshal(text, &said) == nil && said.Message != nil {
			e.message = fmt.Sprintf(": %.200v", said.Message)
		}
		return wait, e
	}
	if out == nil {
		return 0, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return 0, fmt.Errorf("%s %s: the answer cannot be read: %w", method, path, err)
	}
	return 0, nil
}

// pages reads all pages of a list, up to maxPages.
func pages[T any](ctx context.Context, c *caller, path string) ([]T, error) {
	var all []T
	for page := 1; page <= maxPages; page++ {
		var some []T
		if err := c.call(ctx, http.MethodGet, fmt.Sprintf("%s?per_page=100&page=%d", path, page), nil, &some); err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < 100 {
			break
		}
	}
	return all, nil
}
