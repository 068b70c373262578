package witness_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	fnote "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/checkpoint"
	"tenet/internal/witness"
)

const origin = "example.com/tenet/default"

// aLog is a log whose entries a label tells apart.
type aLog struct {
	t      *testing.T
	keys   *checkpoint.KeyFile
	stored []tlog.Hash
}

func newLog(t *testing.T) *aLog {
	t.Helper()
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &aLog{t: t, keys: keys}
}

// fork returns a log of n entries under the same key, which begin with a label.
func (l *aLog) fork(label string, n int64) *aLog {
	l.t.Helper()
	f := &aLog{t: l.t, keys: l.keys}
	for i := range n {
		more, err := tlog.StoredHashes(i, fmt.Append(nil, label, i), f)
		if err != nil {
			l.t.Fatal(err)
		}
		f.stored = append(f.stored, more...)
	}
	return f
}

func (l *aLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		list[i] = l.stored[x]
	}
	return list, nil
}

// request is a request to cosign the log at a size.
func (l *aLog) request(old, size int64) checkpoint.Request {
	l.t.Helper()
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		l.t.Fatal(err)
	}
	signed, err := checkpoint.Sign(l.t.Context(), l.keys, checkpoint.Checkpoint{Origin: origin, Size: size, Root: root})
	if err != nil {
		l.t.Fatal(err)
	}
	r := checkpoint.Request{Old: old, Note: signed}
	if 0 < old && old < size {
		if r.Proof, err = tlog.ProveTree(size, old, l); err != nil {
			l.t.Fatal(err)
		}
	}
	return r
}

func (l *aLog) key() note.Verifier {
	l.t.Helper()
	signing, _, err := l.keys.Keys(l.t.Context(), origin)
	if err != nil {
		l.t.Fatal(err)
	}
	v, err := note.NewVerifier(signing[0])
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

func open(t *testing.T, folder string, now func() time.Time, keys ...note.Verifier) *witness.Witness {
	t.Helper()
	w, err := witness.Open(witness.Config{Folder: folder, Name: "w.example.com", Logs: keys, Logger: slog.New(slog.DiscardHandler), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// answer is the answer of a witness to a request, with what it must be.
func answer(t *testing.T, w http.Handler, body, about string, status int, text string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/add-checkpoint", strings.NewReader(body)))
	if rec.Code != status || text != "" && rec.Body.String() != text {
		t.Errorf("%s: %d %q, want %d %q", about, rec.Code, rec.Body, status, text)
	}
	return rec
}

// What the specification demands of an answer to add-checkpoint, in its order.
func TestAWitnessCosignsOneHistory(t *testing.T) {
	known, folder := newLog(t), filepath.Join(t.TempDir(), "w")
	a, b := known.fork("a", 40), known.fork("b", 40)
	w := open(t, folder, nil, known.key())
	ask := func(about string, r checkpoint.Request, status int, text string) *httptest.ResponseRecorder {
		t.Helper()
		return answer(t, w, r.Marshal(), about, status, text)
	}
	for about, body := range map[string]string{"empty": "", "no checkpoint": "old 0\n\n", "old above size": a.request(0, 3).Marshal()[6:]} {
		if about == "old above size" {
			body = "old 4\n" + body
		}
		answer(t, w, body, about, http.StatusBadRequest, "")
	}
	stranger := newLog(t).fork("a", 3)
	ask("signed by another key", stranger.request(0, 3), http.StatusForbidden, "")
	broken := a.request(0, 3)
	broken.Note = strings.Replace(broken.Note, "\n3\n", "\n2\n", 1)
	ask("with a signature that does not verify", broken, http.StatusForbidden, "")
	unknown := a.request(0, 3)
	unknown.Note = strings.Replace(unknown.Note, origin+"\n", "example.com/other\n", 1)
	ask("of an unknown log", unknown, http.StatusNotFound, "")
	proven := a.request(0, 3)
	proven.Proof = []tlog.Hash{{}}
	ask("a proof from nothing", proven, http.StatusUnprocessableEntity, "")
	ask("not the first", a.request(2, 3), http.StatusConflict, "0\n")

	rec := ask("the first", a.request(0, 10), http.StatusOK, "")
	vkey, err := fnote.NewVerifierForCosignatureV1(w.Key())
	if err != nil {
		t.Fatal(err)
	}
	signed := a.request(0, 10).Note + rec.Body.String()
	if opened, err := note.Open([]byte(signed), note.VerifierList(vkey)); err != nil || len(opened.Sigs) != 1 {
		t.Errorf("the cosignature: %v\n%s", err, signed)
	}
	if rec := ask("as if it were the first", a.request(0, 20), http.StatusConflict, "10\n"); rec.Header().Get("Content-Type") != checkpoint.SizeType {
		t.Errorf("type %q", rec.Header().Get("Content-Type"))
	}
	ask("the same again", a.request(10, 10), http.StatusOK, "")
	ask("another history of the same size", b.request(10, 10), http.StatusUnprocessableEntity, "")
	ask("another history", b.request(10, 20), http.StatusUnprocessableEntity, "")
	ask("a shorter history", a.request(5, 9), http.StatusConflict, "10\n")
	ask("the next", a.request(10, 20), http.StatusOK, "")

	// A new process goes on where this one stopped.
	w = open(t, folder, nil, known.key())
	ask("another history after a start", b.request(20, 30), http.StatusUnprocessableEntity, "")
	ask("the next after a start", a.request(20, 30), http.StatusOK, "")
	sum := sha256.Sum256([]byte(origin))
	got := httptest.NewRecorder()
	w.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+hex.EncodeToString(sum[:])+"/checkpoint", nil))
	seen, err := checkpoint.ParsePolicy([]byte("witness w " + w.Key() + "\nquorum w\n"))
	if err != nil || got.Code != http.StatusOK || !seen.Cosigned(got.Body.String()) || !strings.Contains(got.Body.String(), "\n30\n") {
		t.Errorf("for monitors: %d %s %v", got.Code, got.Body, err)
	}
	got = httptest.NewRecorder()
	w.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+strings.Repeat("0", 64)+"/checkpoint", nil))
	if got.Code != http.StatusNotFound {
		t.Errorf("of an unknown log: %d", got.Code)
	}
	behind := open(t, folder, func() time.Time { return time.Now().Add(-time.Hour) }, known.key())
	answer(t, behind, a.request(30, 31).Marshal(), "with the clock set back", http.StatusServiceUnavailable, "")
	answer(t, w, strings.Repeat("x", checkpoint.MaxNote+1), "a large body", http.StatusRequestEntityTooLarge, "")
}

// Two requests at once do not take the log back.
func TestRacingRequestsKeepOneOrder(t *testing.T) {
	known := newLog(t)
	a, b := known.fork("a", 70), known.fork("b", 70)
	w := open(t, filepath.Join(t.TempDir(), "w"), nil, known.key())
	answer(t, w, a.request(0, 5).Marshal(), "the first", http.StatusOK, "")
	var requests []string
	for size := int64(6); size <= 37; size++ {
		requests = append(requests, a.request(5, size).Marshal(), b.request(5, size).Marshal())
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	cosigned := 0
	for i, body := range requests {
		wg.Go(func() {
			_, err := w.Add(body)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				if cosigned++; i%2 == 1 {
					t.Error("the other history was cosigned")
				}
			}
		})
	}
	wg.Wait()
	if cosigned != 1 {
		t.Errorf("%d of the requests from one size were cosigned, want 1", cosigned)
	}
}

func TestAWitnessThatHasForgottenDoesNotStart(t *testing.T) {
	known, folder := newLog(t), filepath.Join(t.TempDir(), "w")
	a := known.fork("a", 10)
	w := open(t, folder, nil, known.key())
	answer(t, w, a.request(0, 5).Marshal(), "the first", http.StatusOK, "")
	refused := func(about, name string, says string) {
		t.Helper()
		_, err := witness.Open(witness.Config{Folder: folder, Name: name, Logs: []note.Verifier{known.key()}, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", about, err)
		}
	}
	refused("under another name", "x.example.com", "has the name w.example.com")
	files, err := filepath.Glob(filepath.Join(folder, "*.checkpoint"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], bytes.Replace(text, []byte("\n5\n"), []byte("\n4\n"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("with a changed checkpoint", "", "restore the file")
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	refused("without its checkpoint", "", "is missing")
	if err := os.Remove(filepath.Join(folder, "checkpoints-are-here")); err != nil {
		t.Fatal(err)
	}
	refused("with the key alone", "", "second history")
	if _, err := witness.Open(witness.Config{Folder: filepath.Join(folder, "new"), Name: "no name", Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a name with a space was accepted")
	}
}

// The client of a log gets the cosignatures of a witness over HTTP, and what else a witness answers does no harm.
func TestAskingAWitness(t *testing.T) {
	known := newLog(t)
	a := known.fork("a", 30)
	w := open(t, filepath.Join(t.TempDir(), "w"), nil, known.key())
	var reply http.HandlerFunc = w.ServeHTTP
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { reply(rw, r) }))
	t.Cleanup(server.Close)
	p, err := checkpoint.ParsePolicy([]byte("witness w " + w.Key() + " " + server.URL + "/\nquorum w\n"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r checkpoint.Request) (string, error) { return p.Witnesses[0].Ask(t.Context(), server.Client(), r) }
	lines, err := ask(a.request(0, 10))
	if err != nil || !p.Cosigned(a.request(0, 10).Note+lines) {
		t.Errorf("cosigned %q, %v", lines, err)
	}
	if _, err = ask(a.request(0, 20)); err == nil || err.Error() != (&checkpoint.SizeError{Size: 10}).Error() {
		t.Errorf("after another size: %v", err)
	}
	other := open(t, filepath.Join(t.TempDir(), "other"), nil, known.key())
	for about, fn := range map[string]http.HandlerFunc{
		"another witness": other.ServeHTTP,
		"a lie about size": func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(rw, "many\n")
		},
		"no signature": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "ok\n") },
		"too much": func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, strings.Repeat("— x AAAA\n", 10000))
		},
		"a failure":            func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) },
		"an older cosignature": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, lines) },
	} {
		reply = fn
		if got, err := ask(a.request(0, 20)); err == nil {
			t.Errorf("%s: %q was accepted", about, got)
		}
	}
}
