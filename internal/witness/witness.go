// Package witness is a witness of transparency logs (C2SP tlog-witness): a small server that cosigns the checkpoints of the logs that it
// knows, and never two histories of one log.
package witness

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	fnote "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/checkpoint"
)

// Config sets up [Open].
type Config struct {
	// Folder keeps the key of the witness and the last checkpoint of each log.
	Folder string
	// Name of the witness, for a new folder; later it must be the same, or empty.
	Name string
	// Logs are the keys of the logs that are cosigned. A log may have several.
	Logs   []note.Verifier
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Witness cosigns checkpoints. It is an [http.Handler].
type Witness struct {
	cfg    Config
	key    string // that verifies
	signer *fnote.Signer
	logs   map[string]*origin
	mux    *http.ServeMux

	marking sync.Mutex
	mark    string // the content of markFile: the logs that have a checkpoint
}

// origin is a log.
type origin struct {
	keys []note.Verifier
	path string // of its last checkpoint

	mu   sync.Mutex
	last checkpoint.Checkpoint // zero before the first
	at   time.Time             // of its last cosignature
	note string
}

const (
	keyFile  = "key"
	markFile = "checkpoints-are-here" // made with the key: without it, checkpoints were lost
	ending   = ".checkpoint"
)

// Open opens the folder of a witness. A new folder gets a key. It fails if a checkpoint that the folder had is missing or damaged: a witness
// that has forgotten what it has seen would cosign a second history.
func Open(cfg Config) (*Witness, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	w := &Witness{cfg: cfg, logs: map[string]*origin{}, mux: http.NewServeMux()}
	if err := w.openKey(); err != nil {
		return nil, err
	}
	for _, k := range cfg.Logs {
		o := w.logs[k.Name()]
		if o == nil {
			o = &origin{path: filepath.Join(cfg.Folder, hashOf(k.Name())+ending)}
			w.logs[k.Name()] = o
		}
		o.keys = append(o.keys, k)
	}
	mark, err := os.ReadFile(filepath.Join(cfg.Folder, markFile))
	if err != nil {
		return nil, err
	}
	w.mark = string(mark)
	for name, o := range w.logs {
		if err := w.recall(o); err != nil {
			return nil, fmt.Errorf("%s: %w; restore the file", o.path, err)
		}
		if o.note == "" && strings.Contains(w.mark, "\n"+name+"\n") {
			return nil, fmt.Errorf("%s is missing: without it the witness could cosign a second history of %s; restore the file", o.path, name)
		}
	}
	w.mux.HandleFunc("POST /add-checkpoint", w.add)
	w.mux.HandleFunc("GET /{origin}/checkpoint", w.show)
	return w, nil
}

// openKey reads the key of the witness, or makes one.
func (w *Witness) openKey() error {
	path, mark := filepath.Join(w.cfg.Folder, keyFile), filepath.Join(w.cfg.Folder, markFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if !checkpoint.ValidOrigin(w.cfg.Name) {
			return fmt.Errorf("a new witness needs a name such as witness.example.com, not %q", w.cfg.Name)
		}
		if err := os.MkdirAll(w.cfg.Folder, 0o700); err != nil {
			return err
		}
		secret, _, err := note.GenerateKey(rand.Reader, w.cfg.Name)
		if err != nil {
			return err
		}
		if err := checkpoint.WriteFile(mark, []byte("The last checkpoints of these logs are in this folder. Without them the witness must not run with this key.\n")); err != nil {
			return err
		}
		data = []byte(secret + "\n")
		if err := checkpoint.WriteFile(path, data); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if _, err := os.Stat(mark); err != nil {
		return fmt.Errorf("%s has a key, but %s is missing: with the key alone the witness could cosign a second history. Restore the folder, or begin a new one", w.cfg.Folder, markFile)
	}
	secret := strings.TrimSpace(string(data))
	if w.signer, err = fnote.NewSignerForCosignatureV1(secret); err != nil {
		return fmt.Errorf("%s is not the key of a witness", path)
	}
	if w.cfg.Name != "" && w.cfg.Name != w.signer.Name() {
		return fmt.Errorf("the witness in %s has the name %s", w.cfg.Folder, w.signer.Name())
	}
	w.key, err = verifierKey(secret)
	return err
}

// recall reads the last checkpoint of a log, which the witness itself has signed.
func (w *Witness) recall(o *origin) error {
	data, err := os.ReadFile(o.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	opened, err := note.Open(data, note.VerifierList(w.signer.Verifier()))
	if err != nil {
		return err
	}
	if o.last, err = checkpoint.Parse(opened.Text); err != nil {
		return err
	}
	if o.at, err = fnote.CoSigV1Timestamp(opened.Sigs[0]); err != nil {
		return err
	}
	o.note = string(data)
	return nil
}

// Key returns the key that verifies the witness's cosignatures, for policies.
func (w *Witness) Key() string { return w.key }

// ServeHTTP implements [http.Handler].
func (w *Witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.mux.ServeHTTP(rw, r) }

// refusal is an answer that is not a cosignature.
type refusal struct {
	status int
	body   string
	kind   string // content type; empty for plain text
}

func (r *refusal) Error() string { return r.body }

func refuse(status int, body string) error { return &refusal{status: status, body: body} }

// add is the call add-checkpoint.
func (w *Witness) add(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, checkpoint.MaxNote))
	if err != nil {
		http.Error(rw, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	lines, err := w.Add(string(body))
	if err == nil {
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(rw, lines) // the caller may have gone
		return
	}
	no, ok := errors.AsType[*refusal](err)
	if !ok {
		w.cfg.Logger.ErrorContext(r.Context(), "cannot cosign", slog.Any("error", err))
		no = &refusal{status: http.StatusInternalServerError, body: "the witness has failed"}
	}
	if no.kind == "" {
		no.kind = "text/plain; charset=utf-8"
	}
	rw.Header().Set("Content-Type", no.kind)
	rw.WriteHeader(no.status)
	_, _ = io.WriteString(rw, no.body+"\n") // the caller may have gone
}

// Add cosigns the checkpoint of a request, and returns the line of the signature.
func (w *Witness) Add(body string) (string, error) {
	req, err := checkpoint.ParseRequest(body)
	if err != nil {
		return "", refuse(http.StatusBadRequest, err.Error())
	}
	c, err := checkpoint.Parse(req.Note)
	if err != nil {
		return "", refuse(http.StatusBadRequest, err.Error())
	}
	o := w.logs[c.Origin]
	if o == nil {
		return "", refuse(http.StatusNotFound, "this witness does not know the log")
	}
	opened, err := note.Open([]byte(req.Note), note.VerifierList(o.keys...))
	if err != nil {
		return "", refuse(http.StatusForbidden, "no key of the log has signed the checkpoint, or a signature does not verify")
	}
	if opened.Text != c.Text() {
		return "", refuse(http.StatusBadRequest, "a checkpoint has three lines")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.follows(req, c); err != nil {
		w.warn(err, c, o)
		return "", err
	}
	return w.cosign(o, c, opened)
}

// follows reports whether a checkpoint continues the last one, by the proof of its request.
func (o *origin) follows(req checkpoint.Request, c checkpoint.Checkpoint) error {
	empty, _ := tlog.TreeHash(0, nil) // it reads no hashes
	switch {
	case req.Old > c.Size:
		return refuse(http.StatusBadRequest, "the old size is above that of the checkpoint")
	case req.Old != o.last.Size:
		return &refusal{status: http.StatusConflict, body: fmt.Sprint(o.last.Size), kind: checkpoint.SizeType}
	case c.Size == 0 && c.Root != empty:
		return refuse(http.StatusUnprocessableEntity, "the root is not that of the empty log")
	case req.Old == 0 || req.Old == c.Size:
		if len(req.Proof) > 0 {
			return refuse(http.StatusUnprocessableEntity, "no proof is possible here")
		}
		if req.Old > 0 && c.Root != o.last.Root {
			return refuse(http.StatusUnprocessableEntity, "another root was cosigned for this size")
		}
		return nil
	}
	if tlog.CheckTree(req.Proof, c.Size, c.Root, o.last.Size, o.last.Root) != nil {
		return refuse(http.StatusUnprocessableEntity, "the proof does not show that the checkpoint continues the last one")
	}
	return nil
}

// warn logs a checkpoint that its log has signed, but that does not continue what was seen: that is evidence against the log.
func (w *Witness) warn(err error, c checkpoint.Checkpoint, o *origin) {
	if no, ok := errors.AsType[*refusal](err); ok && no.status == http.StatusUnprocessableEntity {
		w.cfg.Logger.Warn("a log has signed a checkpoint that does not continue its last one", //nolint:noctx // it concerns no request
			slog.String("log", c.Origin), slog.Int64("size", c.Size), slog.Int64("cosigned", o.last.Size), slog.String("reason", no.body))
	}
}

// cosign stores a cosigned checkpoint and returns the line of the signature.
func (w *Witness) cosign(o *origin, c checkpoint.Checkpoint, opened *note.Note) (string, error) {
	if now := w.cfg.Now(); now.Before(o.at) {
		return "", refuse(http.StatusServiceUnavailable, "the clock of the witness is behind its last cosignature")
	}
	data, err := note.Sign(opened, w.signer)
	if err != nil {
		return "", err
	}
	cosigned, err := note.Open(data, note.VerifierList(w.signer.Verifier()))
	if err != nil {
		return "", err
	}
	at, err := fnote.CoSigV1Timestamp(cosigned.Sigs[0])
	if err != nil {
		return "", err
	}
	if err := checkpoint.WriteFile(o.path, data); err != nil {
		return "", err
	}
	if o.note == "" {
		if err := w.markLog(c.Origin); err != nil {
			return "", err
		}
	}
	o.last, o.at, o.note = c, at, string(data)
	return fmt.Sprintf("— %s %s\n", cosigned.Sigs[0].Name, cosigned.Sigs[0].Base64), nil
}

// markLog notes that a log has a checkpoint.
func (w *Witness) markLog(name string) error {
	w.marking.Lock()
	defer w.marking.Unlock()
	if strings.Contains(w.mark, "\n"+name+"\n") {
		return nil
	}
	more := w.mark + name + "\n"
	if err := checkpoint.WriteFile(filepath.Join(w.cfg.Folder, markFile), []byte(more)); err != nil {
		return err
	}
	w.mark = more
	return nil
}

// show serves the last checkpoint of a log that was cosigned.
func (w *Witness) show(rw http.ResponseWriter, r *http.Request) {
	for name, o := range w.logs {
		if hashOf(name) != r.PathValue("origin") {
			continue
		}
		o.mu.Lock()
		text := o.note
		o.mu.Unlock()
		if text != "" {
			rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
			rw.Header().Set("Cache-Control", "no-cache")
			_, _ = io.WriteString(rw, text) // the caller may have gone
			return
		}
	}
	http.Error(rw, "this witness has cosigned no checkpoint of that log", http.StatusNotFound)
}

func hashOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
