package place

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/rule"
)

// NoteHeader holds the signed head of the bundle in answers of a server, in base64.
const NoteHeader = "Tenet-Bundle-Note"

// server is a server of Tenet, or another that gives out a file by HTTP.
type server struct {
	address *url.URL
	cfg     Config
}

func (s *server) request(ctx context.Context, method string, query url.Values) (*http.Request, error) {
	u := *s.address
	q := u.Query()
	for name, values := range query {
		q[name] = values
	}
	if s.cfg.Project != "" {
		q.Set("project_id", s.cfg.Project)
	}
	u.RawQuery = q.Encode()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err == nil && s.cfg.Key != "" {
		r.Header.Set("Authorization", "Bearer "+s.cfg.Key)
	}
	return r, err
}

// Fetch implements [Place].
func (s *server) Fetch(ctx context.Context, have Have) (Fetched, error) {
	query := url.Values{}
	if have.RawHash != "" {
		query.Set("base", have.RawHash)
	}
	r, err := s.request(ctx, http.MethodGet, query)
	if err != nil {
		return Fetched{}, err
	}
	if have.Version != "" {
		r.Header.Set("If-None-Match", have.Version)
	}
	answer, err := s.cfg.Client.Do(r)
	if err != nil {
		return Fetched{}, rule.Errorf(rule.CodeUnavailable, "the bundle cannot be fetched: %w", err)
	}
	out := Fetched{Version: answer.Header.Get("ETag")}
	switch answer.StatusCode {
	case http.StatusOK:
		out.Body = limited(answer.Body)
		return out, nil
	case http.StatusNotModified:
		defer func() { _ = answer.Body.Close() }() // it is empty
		out.Version = have.Version
		note, err := base64.StdEncoding.DecodeString(answer.Header.Get(NoteHeader))
		out.Note = string(note)
		if err != nil {
			return Fetched{}, rule.Errorf(rule.CodeUnavailable, "the server has sent a malformed head")
		}
		return out, nil
	}
	defer func() { _ = answer.Body.Close() }() // only its beginning counts
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
	return Fetched{}, rule.Errorf(rule.CodeUnavailable, "%s has answered %s: %s", s.address.Redacted(), answer.Status, strings.TrimSpace(string(text)))
}

// Push implements [Place].
func (s *server) Push(context.Context, *bundle.File) error {
	return rule.Errorf(rule.CodeInvalid, "a server makes its bundles itself; deploy a snapshot there, or push to a folder, a registry or S3")
}

// waitTime bounds one wait for news.
const waitTime = 2 * time.Minute

// Wait implements [News]: it reads server-sent events until one names another bundle.
func (s *server) Wait(ctx context.Context, rawHash string) error {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	r, err := s.request(ctx, http.MethodGet, url.Values{"base": {rawHash}})
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := s.cfg.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // a stream
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return fmt.Errorf("%s gives no news", s.address.Redacted())
	}
	lines := bufio.NewScanner(io.LimitReader(answer.Body, 1<<20))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: bundle") {
			return nil
		}
	}
	return lines.Err()
}
