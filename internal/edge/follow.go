package edge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/bundle/place"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
)

// Names of files in the folder of an edge.
const (
	bundleFile = "bundle"      // the last good bundle
	noteFile   = "bundle.head" // the newest signed head of it
)

// maxAhead bounds how far a server's clock may run ahead of the edge's.
const maxAhead = 5 * time.Minute

// FollowConfig sets up [NewFollower]. All fields are required but Folder and Taken.
type FollowConfig struct {
	Place   place.Place
	Trusted []string // verifier keys
	Folder  string   // of the last good bundle; empty keeps none
	Every   time.Duration
	Corpus  *Corpus
	// Manifest returns the manifest of the snapshot in a bundle, and Root its Merkle root.
	Manifest func(*bundle.Contents) ([]byte, error)
	Root     func(*bundle.Contents) string
	Logger   *slog.Logger
	Now      func() time.Time
	// Taken is called after each bundle that is taken.
	Taken func(ctx context.Context)
}

// Follower keeps a [Corpus] at the newest bundle of a place. It refuses bundles that no trusted key has signed, of another environment, and
// older than the one it has.
type Follower struct {
	cfg FollowConfig

	reading sync.Mutex // one fetch at a time

	mu      sync.Mutex
	have    place.Have
	body    []byte // of the bundle, compressed; deltas change what it holds
	size    int64  // of that
	signed  time.Time
	vouched time.Time // when a head came by another way than the place
	problem string
	pinned  bool
	again   chan struct{}
}

// NewFollower makes a Follower.
func NewFollower(cfg FollowConfig) *Follower {
	return &Follower{cfg: cfg, again: make(chan struct{}, 1)}
}

// Start takes the last good bundle from disk, or else fetches one. It fails if there is neither.
func (f *Follower) Start(ctx context.Context) error {
	err := f.load()
	if err == nil {
		return nil
	}
	if !os.IsNotExist(err) {
		f.cfg.Logger.WarnContext(ctx, "the last bundle on disk is not used", slog.Any("error", err))
	}
	return f.Fetch(ctx)
}

// load takes the bundle on disk.
func (f *Follower) load() error {
	if f.cfg.Folder == "" {
		return os.ErrNotExist
	}
	data, err := os.ReadFile(filepath.Join(f.cfg.Folder, bundleFile))
	if err != nil {
		return err
	}
	o, err := bundle.OpenStored(data, f.cfg.Trusted)
	if err != nil {
		return err
	}
	if err := f.take(o, o.Body, false); err != nil {
		return err
	}
	if note, err := os.ReadFile(filepath.Join(f.cfg.Folder, noteFile)); err == nil {
		_ = f.vouch(string(note), false) // it only makes the bundle look younger
	}
	return nil
}

// Fetch takes the newest bundle of the place, if it is newer than the one that the follower has.
func (f *Follower) Fetch(ctx context.Context) error {
	f.reading.Lock()
	defer f.reading.Unlock()
	err := f.fetch(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problem = ""
	if err != nil {
		f.problem = err.Error()
	}
	return err
}

func (f *Follower) fetch(ctx context.Context) error {
	f.mu.Lock()
	have, body, size := f.have, f.body, f.size
	f.mu.Unlock()
	got, err := f.cfg.Place.Fetch(ctx, have)
	if err != nil {
		return err
	}
	if got.Body == nil {
		return f.vouch(got.Note, true)
	}
	defer func() { _ = got.Body.Close() }() // it was read to its end, or is not wanted
	// A bundle that is here already is not read again.
	signedNote, err := bundle.ReadNote(got.Body)
	if err != nil {
		return err
	}
	head, err := bundle.OpenHead(signedNote, f.cfg.Trusted)
	if err != nil {
		return err
	}
	if now, ok := f.cfg.Corpus.Head(); ok {
		if err := newer(&now, head); err != nil {
			return err
		}
		if now.RawHash == head.RawHash && now.Seq == head.Seq {
			f.mu.Lock()
			f.have.Version = got.Version
			f.mu.Unlock()
			return f.vouch(signedNote, true)
		}
	}
	var base []byte
	if head.Base != "" && body != nil {
		if base, err = bundle.Unpack(body, size); err != nil {
			return err
		}
	}
	o, err := bundle.Open(io.MultiReader(bytes.NewReader((&bundle.File{Note: signedNote}).Bytes()), got.Body), f.cfg.Trusted, base)
	if err != nil {
		return err
	}
	if f.Pinned() && body != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.have.Version = got.Version
		return nil
	}
	stored, err := o.Stored()
	if err != nil {
		return err
	}
	if err := f.take(o, stored.Body, true); err != nil {
		return err
	}
	f.mu.Lock()
	f.have.Version = got.Version
	f.mu.Unlock()
	if err := f.keep(stored); err != nil {
		return fmt.Errorf("the bundle is in use, but it cannot be kept on disk: %w", err)
	}
	if f.cfg.Taken != nil {
		f.cfg.Taken(ctx)
	}
	f.cfg.Logger.InfoContext(ctx, "took a bundle", slog.Int64("seq", o.Head.Seq), slog.String("action", o.Head.Action), slog.Int("rules", o.Head.Rules), slog.String("snapshot", o.Head.Snapshot))
	return nil
}

// keep stores a bundle in the folder, if there is one.
func (f *Follower) keep(stored *bundle.File) error {
	if f.cfg.Folder == "" {
		return nil
	}
	if err := os.MkdirAll(f.cfg.Folder, 0o700); err != nil {
		return err
	}
	return checkpoint.WriteFile(filepath.Join(f.cfg.Folder, bundleFile), stored.Bytes())
}

// newer returns an error unless a head may follow another.
func newer(now, next *bundle.Head) error {
	switch {
	case next.Name != now.Name || next.Project != now.Project || next.Environment != now.Environment:
		return rule.Errorf(rule.CodeInvalid, "the bundle is refused: it is of %s in project %s, and this edge has %s in project %s", next.Environment, next.Project, now.Environment, now.Project)
	case next.Seq < now.Seq:
		return rule.Errorf(rule.CodeInvalid, "the bundle is refused: it has the number %d, and this edge has number %d already; a rollback has a higher number", next.Seq, now.Seq)
	case next.Seq == now.Seq && next.RawHash != now.RawHash:
		return rule.Errorf(rule.CodeInvalid, "the bundle is refused: there are two different ones with the number %d", next.Seq)
	}
	return nil
}

// take puts an opened bundle into use, whose whole text is in body, compressed. fresh ones are compared with their Merkle root.
func (f *Follower) take(o *bundle.Opened, body []byte, fresh bool) error {
	c, err := bundle.Decode(o.Text)
	if err != nil {
		return rule.Errorf(rule.CodeInvalid, "the bundle is refused: %w", err)
	}
	if c.Project.ID != o.Head.Project || c.Snapshot.ID != o.Head.Snapshot || c.Snapshot.ContentHash != o.Head.Root || len(c.Rules) != o.Head.Rules {
		return rule.Errorf(rule.CodeInvalid, "the bundle is refused: its content does not fit its head")
	}
	if fresh && f.cfg.Root(c) != o.Head.Root {
		return rule.Errorf(rule.CodeInvalid, "the bundle is refused: its rules do not have the Merkle root of the snapshot")
	}
	manifest, err := f.cfg.Manifest(c)
	if err != nil {
		return err
	}
	f.cfg.Corpus.Put(*o.Head, c, manifest)
	f.mu.Lock()
	f.body, f.size, f.have.RawHash = body, o.Head.RawSize, o.Head.RawHash
	f.mu.Unlock()
	f.see(o.Head.Signed)
	return nil
}

// see notes that the server has vouched for the bundle at a time. An older time, such as of a replayed head, changes nothing.
func (f *Follower) see(signed time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !signed.After(f.signed) || signed.After(f.cfg.Now().Add(maxAhead)) {
		return false
	}
	f.signed = signed
	return true
}

// vouch notes a fresh signed head of the bundle in use.
func (f *Follower) vouch(signedNote string, keep bool) error {
	h, err := bundle.OpenHead(signedNote, f.cfg.Trusted)
	if err != nil {
		return err
	}
	now, ok := f.cfg.Corpus.Head()
	if !ok || h.Name != now.Name || h.Seq != now.Seq || h.RawHash != now.RawHash {
		if f.Pinned() {
			return nil // the place has a newer one
		}
		return rule.Errorf(rule.CodeInvalid, "the place vouches for another bundle than the one in use")
	}
	if f.see(h.Signed) && keep && f.cfg.Folder != "" {
		return checkpoint.WriteFile(filepath.Join(f.cfg.Folder, noteFile), []byte(signedNote))
	}
	return nil
}

// Vouch notes a signed head that came by another way than the place, such as in the answer to a report. Where it is that of the bundle in use, the next look at
// the place can wait. Any other says nothing: the place shows whether there is a newer bundle.
func (f *Follower) Vouch(signedNote string) {
	if f.vouch(signedNote, true) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.vouched = f.cfg.Now()
}

// mayWait reports whether a head came so lately that the place need not be looked at. After a look that has failed it is looked at again.
func (f *Follower) mayWait() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem == "" && !f.vouched.IsZero() && f.cfg.Now().Sub(f.vouched) < f.cfg.Every+f.cfg.Every/2
}

// Age returns for how long nobody has vouched that the bundle in use is the newest.
func (f *Follower) Age() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(0, f.cfg.Now().Sub(f.signed))
}

// Problem returns why the last fetch failed; empty if it did not.
func (f *Follower) Problem() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem
}

// Pin keeps the follower at the bundle in use, or ends that.
func (f *Follower) Pin(on bool) {
	f.mu.Lock()
	changed := f.pinned != on
	f.pinned = on
	if changed && !on {
		f.have.Version = "" // what was passed over is fetched
	}
	f.mu.Unlock()
	if changed {
		f.Again()
	}
}

// Pinned reports whether the follower stays at its bundle.
func (f *Follower) Pinned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pinned
}

// Again has the place read soon.
func (f *Follower) Again() {
	select {
	case f.again <- struct{}{}:
	default: // it is read soon anyway
	}
}

// Run follows the place until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	news := make(chan struct{}, 1)
	if n, ok := f.cfg.Place.(place.News); ok {
		go f.listen(ctx, n, news)
	}
	tick := time.NewTicker(f.cfg.Every)
	defer tick.Stop()
	f.Again() // the bundle on disk may be old
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.again:
		case <-news:
		case <-tick.C:
			if f.mayWait() {
				continue
			}
		}
		before := f.Problem()
		if err := f.Fetch(ctx); err != nil && ctx.Err() == nil && err.Error() != before {
			f.cfg.Logger.WarnContext(ctx, "no newer bundle", slog.Any("error", err), slog.Duration("age", f.Age()))
		}
	}
}

// listen passes on the news of a place.
func (f *Follower) listen(ctx context.Context, from place.News, news chan<- struct{}) {
	for ctx.Err() == nil {
		f.mu.Lock()
		have := f.have.RawHash
		f.mu.Unlock()
		err := from.Wait(ctx, have)
		if err == nil {
			select {
			case news <- struct{}{}:
			default:
			}
		}
		select { // a fetch follows each news, and a place that is away is not asked without a pause
		case <-ctx.Done():
		case <-time.After(f.pause(err)):
		}
	}
}

func (f *Follower) pause(err error) time.Duration {
	if err != nil {
		return f.cfg.Every
	}
	return 200 * time.Millisecond
}
