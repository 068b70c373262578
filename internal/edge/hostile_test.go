package edge

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"tenet/internal/bundle/place"
)

// endless writes bytes until the reader goes away.
func endless(w http.ResponseWriter) {
	block := []byte(strings.Repeat("[", 64<<10))
	for range 1 << 14 { // a gigabyte
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// TestAHostileRegistry has an edge at bundle 2 follow a registry that does what it likes with bundle 3. The edge stays at bundle 2, by the folder too, says
// why, and takes little memory over it; once the registry is honest again, it takes bundle 3.
func TestAHostileRegistry(t *testing.T) {
	s, now := newSource(t), at.Add(time.Minute)
	honest := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))
	var attack atomic.Pointer[http.HandlerFunc]
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := attack.Load(); h != nil {
			(*h)(w, r)
			return
		}
		honest.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	host := "oci://" + strings.TrimPrefix(web.URL, "http://") + "/acme/rules:"
	push := func(tag string) {
		t.Helper()
		p, err := place.Parse(host+tag, place.Config{})
		if err == nil {
			err = p.Push(t.Context(), s.file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.publish(1, "one")
	push("old")
	s.publish(2, "two "+strings.Repeat("payment ", 100_000))
	push("production")
	followed, err := place.Parse(host+"production", place.Config{})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	f := s.follower(folder, &now)
	f.cfg.Place = followed
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.publish(3, "three")
	push("production")
	other := newSource(t)
	other.publish(3, "forged")
	s, s.file = other, other.file
	push("forged")
	stays := f.statement(t)
	answered := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		honest.ServeHTTP(w, r)
		return w
	}
	blobs := func(change func(w http.ResponseWriter, whole []byte)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "/blobs/") || r.Method != http.MethodGet {
				honest.ServeHTTP(w, r)
				return
			}
			change(w, answered(r).Body.Bytes())
		}
	}
	instead := func(tag string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = strings.Replace(r.URL.Path, "/manifests/production", "/manifests/"+tag, 1)
			honest.ServeHTTP(w, r)
		}
	}
	index := `{"schemaVersion":2,"manifests":[` + strings.Repeat(`{"size":1},`, 200_000) + `{}]}`
	for about, h := range map[string]http.HandlerFunc{
		"truncated":     blobs(func(w http.ResponseWriter, b []byte) { _, _ = w.Write(b[:len(b)/2]) }),
		"only its head": blobs(func(w http.ResponseWriter, b []byte) { _, _ = w.Write(b[:1000]) }),
		"one bit":       blobs(func(w http.ResponseWriter, b []byte) { b[len(b)-9] ^= 1; _, _ = w.Write(b) }),
		"halves swapped": blobs(func(w http.ResponseWriter, b []byte) {
			_, _ = w.Write(append(b[len(b)/2:len(b):len(b)], b[:len(b)/2]...))
		}),
		"an endless blob": blobs(func(w http.ResponseWriter, b []byte) {
			_, _ = w.Write(b)
			endless(w)
		}),
		"replayed": instead("old"),
		"forged":   instead("forged"),
		"an endless manifest": func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				endless(w)
				return
			}
			honest.ServeHTTP(w, r)
		},
		"an endless index of itself": func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
				_, _ = io.WriteString(w, index)
				return
			}
			honest.ServeHTTP(w, r)
		},
		"a manifest of a huge layer": func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.tenet.bundle.v1","size":%d,"digest":"sha256:%064d"}]}`, int64(1)<<40, 1)
				return
			}
			honest.ServeHTTP(w, r)
		},
		"an endless greeting": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			endless(w)
		},
	} {
		attack.Store(&h)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := f.Fetch(t.Context())
		runtime.ReadMemStats(&after)
		if err == nil || f.Problem() == "" {
			t.Errorf("%s: no error", about)
		}
		if got := f.statement(t); got != stays {
			t.Fatalf("%s: the rule is now %.40q", about, got)
		}
		// The bundle unpacked is 0.8 MB; this counts what the server in this process allocates, too.
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("%s: took %d bytes", about, took)
		}
	}
	again := f.cfg
	again.Corpus = &Corpus{}
	if restarted := NewFollower(again); restarted.Start(t.Context()) != nil || restarted.statement(t) != stays {
		t.Error("the folder does not have the last good bundle")
	}
	attack.Store(nil)
	if err := f.Fetch(t.Context()); err != nil || f.statement(t) != "three" {
		t.Errorf("the registry is honest again: %v, %.40q", err, f.statement(t))
	}
}
