package evidence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Config sets up [NewBook].
type Config struct {
	Log    *Log
	DB     store.Updater
	Logger *slog.Logger
	Now    func() time.Time
	// Every is how often checkpoints are made.
	Every time.Duration
	// Client calls the witnesses.
	Client *http.Client
}

// Signing holds the keys of a [Book], and where its checkpoints go.
type Signing struct {
	Signer checkpoint.Signer
	// Origin is the base of the names of logs: that of a project is Origin/project.
	Origin string
	// Folder keeps the last checkpoint of each project, outside of the database.
	Folder string
	// Places get each checkpoint.
	Places []checkpoint.Place
	// Policy names the witnesses that cosign, and how many are needed; nil for none.
	Policy *checkpoint.Policy
}

// Book signs checkpoints of the logs, keeps the last of each outside of the database, and compares the database with it. It signs no
// checkpoint that does not continue the last one.
type Book struct {
	Signing // empty until Open

	cfg    Config
	asked  chan string // projects that need a checkpoint soon
	mu     sync.Mutex  // makes one checkpoint at a time
	last   map[string]kept
	done   map[string]store.AuditEnd // ends of the logs whose last checkpoint needs nothing more
	failed map[string]bool           // witnesses whose last call failed

	state    sync.RWMutex
	problems map[string]error // by project
	sealed   time.Time        // when all logs had checkpoints of all their entries, or since when the book signs
}

// kept is the last checkpoint of a project, as the folder has it.
type kept struct {
	checkpoint.Checkpoint

	note      string
	witnessed bool
	stored    bool // in the database, by this process
}

// suffix ends the name of a file with a checkpoint.
const suffix = ".checkpoint"

// NewBook returns a Book that signs nothing until [Book.Open].
func NewBook(cfg Config) *Book {
	return &Book{cfg: cfg, asked: make(chan string, 64), last: map[string]kept{}, done: map[string]store.AuditEnd{}, failed: map[string]bool{}, problems: map[string]error{}}
}

// Open makes the book ready to sign. It reads the last checkpoints that the folder has, and fails if one of them is not signed by a key of
// its log. It must be called before other methods run.
func (b *Book) Open(ctx context.Context, with Signing) error {
	if err := os.MkdirAll(with.Folder, 0o700); err != nil {
		return err
	}
	b.Signing, b.sealed = with, b.cfg.Now()
	files, err := os.ReadDir(b.Folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), suffix)
		project, err := url.PathUnescape(name)
		if !ok || err != nil || strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(b.Folder, f.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c, err := checkpoint.OpenOwn(ctx, b.Signer, string(text))
		if err != nil {
			return fmt.Errorf("%s: %w; restore the file, or the key that has signed it", path, err)
		}
		b.last[project] = kept{Checkpoint: c, note: string(text), witnessed: quorum(b.Policy, string(text))}
	}
	return nil
}

// quorum reports whether the witnesses of a policy have cosigned a checkpoint; without a policy it is enough that it is signed.
func quorum(p *checkpoint.Policy, signedNote string) bool {
	if p == nil {
		return true
	}
	return p.Cosigned(signedNote)
}

// OriginOf returns the name of a project's log.
func (b *Book) OriginOf(projectID string) string { return b.Origin + "/" + projectID }

// Signs reports whether the book signs checkpoints.
func (b *Book) Signs() bool { return b.Signer != nil }

// Keys returns the verifier keys of a project's log: those that sign, and those of older checkpoints.
func (b *Book) Keys(ctx context.Context, projectID string) (signing, old []string, err error) {
	if b.Signer == nil {
		return nil, nil, nil
	}
	return b.Signer.Keys(ctx, b.OriginOf(projectID))
}

// Run makes checkpoints until ctx ends, and a last one of each log then.
func (b *Book) Run(ctx context.Context) {
	if b.Signer == nil {
		return
	}
	tick := time.NewTicker(b.cfg.Every)
	defer tick.Stop()
	b.mu.Lock()
	err := b.compareEntries(ctx, quickSize, math.MaxInt64)
	b.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.WarnContext(ctx, "cannot compare the audit logs with their checkpoints", slog.Any("error", err))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case project := <-b.asked:
			b.seal(ctx, project)
		case <-tick.C:
			b.SealAll(ctx)
		}
	}
}

// Ask has a checkpoint of a project's log made soon. It does not wait.
func (b *Book) Ask(projectID string) {
	if b.Signer == nil {
		return
	}
	select {
	case b.asked <- projectID:
	default: // the next round makes it
	}
}

// SealAll makes the checkpoints of all logs that have grown.
func (b *Book) SealAll(ctx context.Context) {
	if b.Signer == nil {
		return
	}
	ends, err := b.cfg.Log.logs.Ends(ctx)
	if err != nil {
		b.cfg.Logger.WarnContext(ctx, "cannot make checkpoints of the audit logs; trying again", slog.Any("error", err))
		return
	}
	projects := ends
	b.mu.Lock()
	for id := range b.last {
		if _, ok := projects[id]; !ok {
			projects[id] = store.AuditEnd{} // it is missing, which Seal reports
		}
	}
	b.mu.Unlock()
	began, all := b.cfg.Now(), true
	for _, id := range slices.Sorted(maps.Keys(projects)) {
		if ctx.Err() != nil {
			return
		}
		if settled(b, id, ends[id]) {
			continue
		}
		all = b.seal(ctx, id) && all
		settle(b, id, ends[id])
	}
	if all {
		b.state.Lock()
		b.sealed = began
		b.state.Unlock()
	}
}

// settled reports whether a log has had its checkpoint with all that belongs to it, and is as it was then.
func settled(b *Book, projectID string, end store.AuditEnd) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, ok := b.done[projectID]
	return ok && was == end
}

// settle notes the end of a log if its last checkpoint is of it and needs nothing more.
func settle(b *Book, projectID string, end store.AuditEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.done, projectID)
	if last := b.last[projectID]; last.Size == end.Seq && end.Seq > 0 && last.stored && last.witnessed && b.Problem(projectID) == nil {
		b.done[projectID] = end
	}
}

// Age is the time since all logs had checkpoints of all their entries, as far as this book has signed them; false if it signs none.
func (b *Book) Age() (time.Duration, bool) {
	if b.Signer == nil {
		return 0, false
	}
	b.state.RLock()
	defer b.state.RUnlock()
	return b.cfg.Now().Sub(b.sealed), true
}

// seal is [Book.Seal] with its failures logged. It reports whether the log has its checkpoint.
func (b *Book) seal(ctx context.Context, projectID string) bool {
	err := b.Seal(ctx, projectID)
	if err != nil && ctx.Err() == nil {
		b.cfg.Logger.ErrorContext(ctx, "no checkpoint of the audit log", slog.String("project", projectID), slog.Any("error", err))
	}
	return err == nil
}

// Seal makes a checkpoint of a project's log if it has grown, hands it to all places and asks the witnesses to cosign it. If the log does
// not continue its last checkpoint, nothing is signed, and the problem is in [Book.Problem] from then on.
func (b *Book) Seal(ctx context.Context, projectID string) error {
	if b.Signer == nil {
		return rule.Errorf(rule.CodeUnavailable, "this server does not sign checkpoints; set audit_folder")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	next, err := b.next(ctx, projectID)
	if err != nil {
		return err
	}
	last, known := b.last[projectID]
	if next.Size == 0 || known && last.Checkpoint == next && last.witnessed && last.stored {
		return nil
	}
	k := last
	if last.Checkpoint != next {
		k = kept{Checkpoint: next}
		if k.note, err = checkpoint.Sign(ctx, b.Signer, next); err != nil {
			return err
		}
		k.witnessed = quorum(b.Policy, k.note)
	}
	if !k.stored {
		if err := b.keep(ctx, projectID, &k); err != nil {
			return err
		}
		b.publish(ctx, k)
	}
	if b.Policy == nil || k.witnessed {
		return nil
	}
	before := k.note
	k.note = b.cosigned(ctx, projectID, k)
	if k.note == before {
		return nil
	}
	k.witnessed = quorum(b.Policy, k.note)
	if err := b.keep(ctx, projectID, &k); err != nil {
		return err
	}
	b.publish(ctx, k)
	return nil
}

// next returns the checkpoint of a log as it is now, once it has been compared with the last one.
func (b *Book) next(ctx context.Context, projectID string) (checkpoint.Checkpoint, error) {
	if err := b.Problem(projectID); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	end, err := b.cfg.Log.logs.End(ctx, projectID)
	if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
		return checkpoint.Checkpoint{}, err
	}
	front, err := b.cfg.Log.Front(ctx, projectID, end.Seq)
	if errors.Is(err, errMissing) {
		err = broken(projectID, "entries up to %d are missing", end.Seq)
		b.note(ctx, projectID, err)
	}
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if kept, err := tree.ParseFront(end.Seq, end.Tree); err == nil && kept.Root() != front.Root() {
		err = broken(projectID, "its %d entries are not those that were recorded", end.Seq)
		b.note(ctx, projectID, err)
		return checkpoint.Checkpoint{}, err
	}
	now := checkpoint.Checkpoint{Origin: b.OriginOf(projectID), Size: end.Seq, Root: front.Root()}
	problem, err := b.compare(ctx, projectID, now)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if problem != nil {
		b.note(ctx, projectID, problem)
	}
	return now, problem
}

// keep stores a checkpoint in the folder, before anything else, and in the database.
func (b *Book) keep(ctx context.Context, projectID string, k *kept) error {
	path := filepath.Join(b.Folder, url.PathEscape(projectID)+suffix)
	if err := checkpoint.WriteFile(path, []byte(k.note)); err != nil {
		return err
	}
	k.stored = false
	b.last[projectID] = *k
	err := b.cfg.DB.Update(ctx, func(tx store.Tx) error {
		return tx.Logs.PutCheckpoint(ctx, store.Checkpoint{
			ProjectID: projectID, Origin: k.Origin, Size: k.Size, At: b.cfg.Now(), Note: k.note, Witnessed: k.witnessed,
		})
	})
	k.stored = err == nil
	b.last[projectID] = *k
	return err
}

// publish hands a checkpoint to all places. One that fails gets the next one.
func (b *Book) publish(ctx context.Context, k kept) {
	for _, p := range b.Places {
		if err := p.Put(ctx, k.Checkpoint, k.note); err != nil {
			b.cfg.Logger.WarnContext(ctx, "a checkpoint of the audit log was not published", slog.String("log", k.Origin), slog.Any("error", err))
		}
	}
}

// cosigned returns the note of a checkpoint with the cosignatures of the witnesses that answer, whom it asks at the same time.
func (b *Book) cosigned(ctx context.Context, projectID string, k kept) string {
	lines := make([]string, len(b.Policy.Witnesses))
	errs := make([]error, len(lines))
	var asking sync.WaitGroup
	for i, w := range b.Policy.Witnesses {
		if w.URL == "" || strings.Contains(k.note, "— "+w.Key.Name()+" ") {
			continue
		}
		asking.Go(func() { lines[i], errs[i] = b.ask(ctx, projectID, w, k) })
	}
	asking.Wait()
	for i, err := range errs {
		name := b.Policy.Witnesses[i].Name
		if err != nil && !b.failed[name] {
			b.cfg.Logger.WarnContext(ctx, "a witness did not cosign the audit log; trying again", slog.String("witness", name), slog.String("log", k.Origin), slog.Any("error", err))
		}
		b.failed[name] = err != nil
	}
	return k.note + strings.Join(lines, "")
}

// witnessTime bounds a call to a witness.
const witnessTime = 10 * time.Second

// ask asks a witness: first as if it had seen the log never, and, once it has answered what it has seen, with the proof from there.
func (b *Book) ask(ctx context.Context, projectID string, w checkpoint.Witness, k kept) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, witnessTime)
	defer cancel()
	lines, err := w.Ask(ctx, b.cfg.Client, checkpoint.Request{Note: k.note})
	conflict, ok := errors.AsType[*checkpoint.SizeError](err)
	if !ok {
		return lines, err
	}
	if conflict.Size > k.Size {
		return "", fmt.Errorf("it has cosigned a checkpoint of %d entries, and the log has %d: entries were removed, or the witness is wrong", conflict.Size, k.Size)
	}
	r := checkpoint.Request{Old: conflict.Size, Note: k.note}
	if 0 < r.Old && r.Old < k.Size {
		if r.Proof, err = tlog.ProveTree(k.Size, r.Old, b.cfg.Log.reader(ctx, projectID)); err != nil {
			return "", err
		}
	}
	return w.Ask(ctx, b.cfg.Client, r)
}
