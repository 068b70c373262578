// Package place fetches bundles from where they are and puts them there: a server of Tenet, a folder, an OCI registry, or storage that
// speaks the S3 protocol. It trusts no place: package bundle verifies what comes.
package place

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
)

// Have names the bundle that the caller has already.
type Have struct {
	RawHash string // of the text of its bundle; empty for none
	Version string // of the place, as the last Fetched had it; empty for none
}

// Fetched holds the answer of a place.
type Fetched struct {
	// Note is the signed head. Body is nil where the place has the bundle that the caller has.
	Note string
	Body io.ReadCloser // of the whole file, the note included
	// Version names the state of the place.
	Version string
}

// Place is where bundles of one environment are.
type Place interface {
	// Fetch returns the newest bundle. What the caller has is not sent again.
	Fetch(ctx context.Context, have Have) (Fetched, error)
	// Push puts a bundle there, in place of the one before.
	Push(ctx context.Context, f *bundle.File) error
}

// News is a place that says when it has a newer bundle.
type News interface {
	// Wait returns when there may be a newer bundle than one with a hash, or ctx ends, or the place says no news.
	Wait(ctx context.Context, rawHash string) error
}

// Config sets up [Parse].
type Config struct {
	Key     string // API key for a server of Tenet
	Project string // of the bundle there
	Env     func(string) string
	Client  *http.Client // nil for one with time limits
}

// Forms lists the forms of places, for messages and help.
const Forms = "https://HOST/api/v1/bundles/production (a server of Tenet), file:PATH, oci://REGISTRY/REPOSITORY:TAG or s3://BUCKET/KEY"

// maxFile bounds a file with its head.
const maxFile = bundle.MaxSize + checkpoint.MaxNote + 16

// Parse reads the address of a place.
func Parse(address string, cfg Config) (Place, error) {
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: 5 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if cfg.Env == nil {
		cfg.Env = os.Getenv
	}
	kind, rest, ok := strings.Cut(address, ":")
	switch {
	case ok && kind == "file" && rest != "":
		return folder(strings.TrimPrefix(rest, "//")), nil
	case ok && kind == "oci":
		return newRegistry(strings.TrimPrefix(rest, "//"), cfg)
	case ok && kind == "s3":
		return newBucket(address, cfg)
	case ok && (kind == "http" || kind == "https"):
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return nil, rule.Errorf(rule.CodeInvalid, "%q is not an address", address)
		}
		if kind == "http" && !loopback(u.Hostname()) && cfg.Key != "" {
			return nil, rule.Errorf(rule.CodeInvalid, "%s would send the API key without encryption; use https", address)
		}
		return &server{address: u, cfg: cfg}, nil
	}
	return nil, rule.Errorf(rule.CodeInvalid, "%q is not a place of bundles; use %s", address, Forms)
}

func loopback(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1"
}

// folder is a file on this machine, or one that is mounted.
type folder string

// Fetch implements [Place].
func (path folder) Fetch(_ context.Context, have Have) (Fetched, error) {
	f, err := os.Open(string(path))
	if err != nil {
		return Fetched{}, rule.Errorf(rule.CodeUnavailable, "the bundle cannot be read: %w", err)
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was read
		return Fetched{}, rule.Errorf(rule.CodeUnavailable, "%s is not a file with a bundle", string(path))
	}
	version := fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
	if have.Version != version {
		return Fetched{Body: f, Version: version}, nil
	}
	defer func() { _ = f.Close() }() // opened for reading
	signedNote, err := bundle.ReadNote(f)
	return Fetched{Note: signedNote, Version: version}, err
}

// Push implements [Place].
func (path folder) Push(_ context.Context, f *bundle.File) error {
	if err := os.MkdirAll(filepath.Dir(string(path)), 0o755); err != nil { //nolint:gosec // others read the bundles there
		return err
	}
	return checkpoint.WriteFile(string(path), f.Bytes())
}

// both reads from one and closes another.
type both struct {
	io.Reader
	io.Closer
}

// limited bounds what is read of an answer.
func limited(r io.ReadCloser) io.ReadCloser { return both{io.LimitReader(r, maxFile), r} }
