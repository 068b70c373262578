package place_test

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tenet/internal/bundle"
	"tenet/internal/bundle/place"
	"tenet/internal/checkpoint"
)

const name = "example.com/tenet/pay/bundles/production"

// file makes a signed bundle with a body, and the keys that have signed it.
func file(t *testing.T, keys *checkpoint.KeyFile, seq int64, text string) *bundle.File {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := &bundle.Head{Name: name, Project: "pay", Environment: "production", Seq: seq, Action: bundle.Deploy, Built: at, Signed: at}
	body, err := bundle.Pack(h, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	note, err := h.Sign(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	return &bundle.File{Note: note, Body: body}
}

func TestBundlesGoToPlacesAndComeBack(t *testing.T) {
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	oci := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(oci.Close)
	backend := s3mem.New()
	if err := backend.CreateBucket("rules"); err != nil {
		t.Fatal(err)
	}
	s3 := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(s3.Close)
	env := func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": s3.URL}[name]
	}
	first, second := file(t, keys, 1, strings.Repeat("one\n", 1000)), file(t, keys, 2, strings.Repeat("two\n", 1000))
	for _, address := range []string{
		"file:" + filepath.Join(t.TempDir(), "sub", "production.bundle"), "oci://" + strings.TrimPrefix(oci.URL, "http://") + "/acme/rules:production", "s3://rules/production.bundle",
	} {
		kind, _, _ := strings.Cut(address, ":")
		t.Run(kind, func(t *testing.T) {
			p, err := place.Parse(address, place.Config{Env: env})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Fetch(t.Context(), place.Have{}); err == nil {
				t.Error("an empty place has a bundle")
			}
			version := ""
			for _, f := range []*bundle.File{first, second} {
				if err := p.Push(t.Context(), f); err != nil {
					t.Fatal(err)
				}
				got, err := p.Fetch(t.Context(), place.Have{Version: version})
				if err != nil || got.Body == nil {
					t.Fatalf("%v, %+v", err, got)
				}
				data, err := io.ReadAll(got.Body)
				if err := errors.Join(err, got.Body.Close()); err != nil || !bytes.Equal(data, f.Bytes()) {
					t.Fatalf("%v; %d bytes came back of %d", err, len(data), len(f.Bytes()))
				}
				version = got.Version
				same, err := p.Fetch(t.Context(), place.Have{Version: version})
				if err != nil || same.Body != nil || same.Note != f.Note {
					t.Errorf("%v; what the caller has is sent again: %t; the head is there: %t", err, same.Body != nil, same.Note == f.Note)
				}
			}
		})
	}
}

func TestAddressesThatAreNoPlacesAreRefused(t *testing.T) {
	for address, says := range map[string]string{
		"": "use https://", "production.bundle": "use https://", "ftp://x/y": "use https://", "file:": "use https://", "oci://": "registry", "oci://UPPER/x y": "registry",
		"s3://bucket": "object", "http://example.com/b": "without encryption",
	} {
		if _, err := place.Parse(address, place.Config{Key: "tnt_x"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want %q", address, err, says)
		}
	}
}

// A registry that sends another kind of artifact, or claims another size, gives no bundle.
func TestAHostileServerGivesNoBundle(t *testing.T) {
	for about, h := range map[string]http.HandlerFunc{
		"a page":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"an error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		"a malformed 304": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(place.NoteHeader, "%%%")
			w.WriteHeader(http.StatusNotModified)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
	} {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		for _, address := range []string{s.URL + "/api/v1/bundles/production", "oci://" + strings.TrimPrefix(s.URL, "http://") + "/acme/rules:x"} {
			p, err := place.Parse(address, place.Config{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Fetch(t.Context(), place.Have{Version: `"x"`})
			if err == nil && got.Body != nil {
				_, err = bundle.Open(got.Body, []string{"example.com/x+00000000+AZ=="}, nil)
			}
			if err == nil {
				t.Errorf("%s from %s is a bundle", about, address)
			}
		}
	}
}
