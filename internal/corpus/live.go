package corpus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tenet/internal/poll"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Defaults of [Config].
const (
	DefaultPoll     = 250 * time.Millisecond
	DefaultMaxBytes = 4 << 30
)

// Store has the parts of the database that views are loaded from.
type Store struct {
	Projects   store.ProjectReader
	Federation store.FederationReader
	Embeddings store.EmbeddingReader
	Waivers    store.WaiverReader
}

// Config sets up [NewLive]. Zero fields take the defaults.
type Config struct {
	Store  Store
	Logger *slog.Logger
	// Poll is how often the corpus versions of all projects are read to follow the writes of other nodes.
	Poll time.Duration
	// MaxBytes bounds the estimated memory of all views; the views that were not used for longest are dropped.
	MaxBytes int64
	// EmbeddingModel is the model whose vectors are loaded, as it is configured; empty for none.
	EmbeddingModel string
	// InForce, if not nil, compares what is read with what the audit log explains.
	InForce InForce
}

// InForce compares what is in force with what the audit log explains.
type InForce interface {
	// Mark returns where the log of a project is, before something is read.
	Mark(ctx context.Context, projectID string) (int64, error)
	// Check returns an error with [store.ErrDamaged] unless the log explains rows that were read after a mark, and those that are stored of kinds with
	// some ids. All rows of the kinds in whole must be there.
	Check(ctx context.Context, projectID string, mark int64, rows []store.RowInForce, ids map[string][]string, whole ...string) error
	// Forget frees the memory that a project takes, which has no view any more.
	Forget(projectID string)
}

// Views gives the views of projects; a [Live] does.
type Views interface {
	View(ctx context.Context, projectID string) (*View, error)
}

// LiveViews also brings a view up to date after a write; a [Live] does.
type LiveViews interface {
	Views
	Refresh(ctx context.Context, projectID string) (*View, error)
}

// Live keeps the current views of all projects in use and follows the database. Views are loaded at first use.
type Live struct {
	cfg      Config
	mu       sync.Mutex
	projects map[string]*followed
	polled   int64 // sum of the corpus versions up to which all views were brought; read and set by Run only
	// fitting is closed once the rounds of fit that go on have ended, nil if none do; again is whether one more must follow. mu protects both.
	fitting chan struct{}
	again   bool
}

// followed is one project's current view. load serialises loading and applying; reads take the view without a lock.
type followed struct {
	load sync.Mutex
	// started counts the reads of the database, and lastSuccess is the number of the last that succeeded; load protects lastSuccess.
	started     atomic.Int64
	lastSuccess int64
	view        atomic.Pointer[View]
	used        atomic.Int64 // unix nanoseconds of the last use
	// broken is set while the rules in the database are not those that were written.
	broken atomic.Pointer[damage]
}

// damage is why a project has no view.
type damage struct {
	err   error
	until time.Time // when to look again
}

// lookAgain is how long a damaged corpus is not read again, so that requests do not each read all of it.
const lookAgain = 2 * time.Second

// NewLive makes a Live that holds no view yet. Call [Live.Run] to follow other nodes.
func NewLive(cfg Config) *Live {
	if cfg.Poll <= 0 {
		cfg.Poll = DefaultPoll
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	return &Live{cfg: cfg, projects: map[string]*followed{}}
}

// View returns the current view of a project, loading it if needed; not_found for an unknown project.
func (l *Live) View(ctx context.Context, projectID string) (*View, error) {
	f := l.follow(projectID)
	f.used.Store(time.Now().UnixNano())
	if v := f.view.Load(); v != nil {
		return v, nil
	}
	if d := f.broken.Load(); d != nil && time.Now().Before(d.until) {
		return nil, d.err
	}
	return l.refresh(ctx, projectID, f)
}

// Refresh brings a project's view up to the database and returns it. A writer calls it before it answers, so that its
// own write is visible at once.
func (l *Live) Refresh(ctx context.Context, projectID string) (*View, error) {
	return l.refresh(ctx, projectID, l.follow(projectID))
}

func (l *Live) follow(projectID string) *followed {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.projects[projectID]
	if f == nil {
		f = &followed{}
		l.projects[projectID] = f
	}
	return f
}

func (l *Live) refresh(ctx context.Context, projectID string, f *followed) (*View, error) {
	return l.begin(projectID, f)(ctx)
}

// begin begins a refresh, and returns the rest of it: a read that began before is not enough for it.
func (l *Live) begin(projectID string, f *followed) func(context.Context) (*View, error) {
	earlier := f.started.Load()
	return func(ctx context.Context) (*View, error) { return l.readAfter(ctx, projectID, f, earlier) }
}

// readAfter brings a project's view up to the database, unless another read that began after the earlier ones has done so.
func (l *Live) readAfter(ctx context.Context, projectID string, f *followed, earlier int64) (*View, error) {
	f.load.Lock()
	defer f.load.Unlock()
	current := f.view.Load()
	if current != nil && f.lastSuccess > earlier {
		return current, nil
	}
	number := f.started.Add(1)
	next, err := l.load(ctx, projectID, f, current)
	if err == nil {
		f.lastSuccess = number
	}
	return next, err
}

// load brings a project's view up to the database. The caller holds f.load.
func (l *Live) load(ctx context.Context, projectID string, f *followed, current *View) (*View, error) {
	first := current == nil
	if first {
		if _, err := l.cfg.Store.Projects.Get(ctx, projectID); err != nil {
			l.forget(projectID, f)
			return nil, err
		}
		current = &View{}
	}
	next, err := l.advance(ctx, projectID, current)
	if errors.Is(err, store.ErrDamaged) {
		// Fewer rules, or others than those that were approved, must decide nothing: not even the view from before is left.
		f.broken.Store(&damage{err: err, until: time.Now().Add(lookAgain)})
		f.view.Store(nil)
		return nil, err
	}
	if err != nil || (!first && next == current) {
		return next, err
	}
	f.broken.Store(nil)
	f.view.Store(next)
	if first {
		f.used.Store(time.Now().UnixNano())
		l.fit()
	}
	return next, nil
}

// advance returns a view as the database has it now: the same one, if nothing has changed since.
func (l *Live) advance(ctx context.Context, projectID string, v *View) (*View, error) {
	mark := int64(0)
	if l.cfg.InForce != nil {
		var err error
		if mark, err = l.cfg.InForce.Mark(ctx, projectID); err != nil {
			return nil, err
		}
	}
	next, changed, err := v.follow(ctx, l.cfg.Store.Federation, projectID)
	if err != nil {
		return nil, err
	}
	if next == v && v.version > 0 {
		return v, nil
	}
	// A view without the policy would let callers ask for less than the project demands, so the error ends the refresh.
	project, err := l.cfg.Store.Projects.Get(ctx, projectID)
	if err != nil {
		return nil, err
	}
	waivers := l.waivers(ctx, projectID)
	if err := l.explained(ctx, projectID, mark, v.version == 0, &changed, waivers); err != nil {
		return nil, err
	}
	return l.embed(ctx, projectID, v.version, changed.rules, next.WithPolicy(project.Policy).WithWaivers(waivers))
}

// explained returns an error if the audit log does not explain what a view is made of.
func (l *Live) explained(ctx context.Context, projectID string, mark int64, first bool, got *followedRows, waivers []rule.Waiver) error {
	if l.cfg.InForce == nil {
		return nil
	}
	rules := make([]store.RowInForce, len(got.rules))
	ids := map[string][]string{store.ProjectInForce: {projectID}}
	for i := range waivers {
		ids[store.WaiverInForce] = append(ids[store.WaiverInForce], waivers[i].ID)
	}
	for i := range got.rules {
		rules[i] = store.RowInForce{Kind: store.RuleInForce, ID: got.rules[i].Rule.ID, Hash: got.rules[i].Hash}
	}
	if first {
		return l.cfg.InForce.Check(ctx, projectID, mark, rules, ids, store.RuleInForce, store.RelationshipInForce, store.NodeInForce, store.AttachmentInForce)
	}
	for i := range got.rules {
		ids[store.RelationshipInForce] = append(ids[store.RelationshipInForce], got.rules[i].Rule.ID)
	}
	for i := range got.nodes {
		ids[store.NodeInForce] = append(ids[store.NodeInForce], got.nodes[i].Node.ID)
	}
	for i := range got.attached {
		ids[store.AttachmentInForce] = append(ids[store.AttachmentInForce], got.attached[i].Attachment.NodeID)
	}
	ids[store.AttachmentInForce] = slices.Compact(ids[store.AttachmentInForce])
	return l.cfg.InForce.Check(ctx, projectID, mark, rules, ids)
}

// embedBatch is how many vectors are read at once, at 3 KB each.
const embedBatch = 8192

// embed gives a view the vectors that were stored after a corpus version, and those that changed rules had before: an edit may
// go back to an old text. A view that is loaded reads them in the order of its rules, which searching is fastest in.
func (l *Live) embed(ctx context.Context, projectID string, after int64, changed []store.RuleState, v *View) (*View, error) {
	model := l.cfg.EmbeddingModel
	if model == "" {
		return v, nil
	}
	var batch []store.Embedding
	if after > 0 {
		err := l.cfg.Store.Embeddings.Changes(ctx, projectID, model, after, func(e store.Embedding) error {
			if batch = append(batch, e); len(batch) == embedBatch {
				v, batch = v.WithVectors(model, batch), batch[:0]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	v = v.WithVectors(model, batch)
	var hashes []string
	for i := range changed {
		if e, ok := v.Get(changed[i].Rule.ID); ok && !v.Embedded(e) {
			hashes = append(hashes, e.textKey().String())
		}
	}
	for part := range slices.Chunk(hashes, embedBatch) {
		known, err := l.cfg.Store.Embeddings.GetMany(ctx, projectID, model, part)
		if err != nil {
			return nil, err
		}
		v = v.WithVectors(model, known)
	}
	return v, nil
}

// forget drops a project that turned out not to exist, so that made-up names take no memory.
func (l *Live) forget(projectID string, f *followed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.projects[projectID] == f {
		delete(l.projects, projectID)
	}
}

// Loaded returns the projects whose views are in memory, in no order.
func (l *Live) Loaded() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, f := range l.projects {
		if f.view.Load() != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Glance returns the current view of a project for work in the background: the one in memory, or the one that is being loaded, or else one that is made for the caller
// and not kept, so that a round over all projects keeps none of them in memory. The rounds that follow a start would otherwise make a second view of a large project
// beside the first, with its time and its memory.
func (l *Live) Glance(ctx context.Context, projectID string) (*View, error) {
	l.mu.Lock()
	f := l.projects[projectID]
	l.mu.Unlock()
	if f != nil {
		v := f.view.Load()
		if v == nil {
			v = f.loaded()
		}
		if v != nil {
			return v, nil
		}
		if err := ctx.Err(); err != nil { // it has ended during the wait
			return nil, fmt.Errorf("corpus: %w", err)
		}
		if d := f.broken.Load(); d != nil && time.Now().Before(d.until) {
			return nil, d.err
		}
	}
	if _, err := l.cfg.Store.Projects.Get(ctx, projectID); err != nil {
		return nil, err
	}
	v, err := l.advance(ctx, projectID, &View{})
	if l.cfg.InForce != nil && (f == nil || f.view.Load() == nil) {
		l.cfg.InForce.Forget(projectID)
	}
	return v, err
}

// loaded waits for the load that is going on, and returns the view then; nil for none.
func (f *followed) loaded() *View {
	f.load.Lock()
	defer f.load.Unlock()
	return f.view.Load()
}

// Glances are the views of a [Live] for work in the background.
type Glances struct{ Live *Live }

// View implements [Views].
func (g Glances) View(ctx context.Context, projectID string) (*View, error) {
	return g.Live.Glance(ctx, projectID)
}

// Run follows the database until ctx ends: it applies the changes of other nodes and compacts fragmented views.
func (l *Live) Run(ctx context.Context) {
	poll.Every(ctx, l.cfg.Poll, l.cfg.Logger, "cannot follow the rules of other nodes", l.poll)
}

// poll brings all views to the versions that the database has, unless no version has changed since the last time.
func (l *Live) poll(ctx context.Context) error {
	sum, err := l.cfg.Store.Projects.CorpusSum(ctx)
	if err != nil || sum == l.polled {
		return err
	}
	if err := l.pollAll(ctx); err != nil {
		return err
	}
	l.polled = sum
	return nil
}

func (l *Live) pollAll(ctx context.Context) error {
	versions, err := l.cfg.Store.Projects.CorpusVersions(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	loaded := make(map[string]*followed, len(l.projects))
	for id, f := range l.projects {
		if f.view.Load() != nil {
			loaded[id] = f
		}
	}
	l.mu.Unlock()
	var errs []error
	for id, f := range loaded {
		if err := l.pollOne(ctx, id, f, versions[id]); err != nil { // no reason to leave the other projects behind
			errs = append(errs, fmt.Errorf("project %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// pollOne brings the view of a project to a version, and compacts it if need be.
func (l *Live) pollOne(ctx context.Context, projectID string, f *followed, version int64) error {
	v := f.view.Load()
	if v == nil {
		return nil
	}
	if version > v.version {
		var err error
		if v, err = l.refresh(ctx, projectID, f); err != nil {
			return err
		}
	}
	if !v.index.fragmented() {
		return nil
	}
	return l.compact(ctx, projectID, f, v)
}

// compact replaces a view by a compacted one, with what has changed meanwhile. While it is made, the view goes on being read
// and changed; a view that has been dropped stays so.
func (l *Live) compact(ctx context.Context, projectID string, f *followed, v *View) error {
	compacted, err := v.index.compact()
	if err != nil {
		return err
	}
	f.load.Lock()
	defer f.load.Unlock()
	if f.view.Load() == nil {
		return nil
	}
	next, err := l.advance(ctx, projectID, v.with(v.version, compacted))
	if err != nil {
		return err
	}
	if current := f.view.Load(); current != nil {
		f.view.CompareAndSwap(current, next)
	}
	return nil
}
