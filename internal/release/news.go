package release

import (
	"context"
	"time"

	"tenet/internal/wire"
)

// lookForNews is how often a newer bundle is looked for while callers wait for one.
const lookForNews = 250 * time.Millisecond

// watch is shared by all that wait for a newer bundle of an environment, so that a thousand of them cost one look.
type watch struct {
	waiting int
	changed chan struct{} // closed when there is a newer bundle, or none can be had
	soon    chan struct{} // of capacity 1: there may be one
	end     context.CancelFunc
}

// Newer waits until the newest bundle of an environment is another one than that whose text has a hash, and returns it. It fails as [Bundles.Latest] does,
// when ctx ends, and with context.Canceled after [Bundles.End].
func (b *Bundles) Newer(ctx context.Context, projectID string, environment wire.Environment, have string) (Bundle, error) {
	name := projectID + " " + string(environment)
	defer b.join(ctx, name, projectID, environment)()
	for {
		b.mu.Lock()
		changed := b.watches[name].changed
		b.mu.Unlock()
		newest, err := b.Latest(ctx, projectID, environment, "")
		if err != nil || newest.Head.RawHash != have {
			return newest, err
		}
		select {
		case <-ctx.Done():
			return Bundle{}, ctx.Err()
		case <-b.ended:
			return Bundle{}, context.Canceled
		case <-changed:
		}
	}
}

// join counts a caller that waits, and returns what ends that. The first one starts the looks.
func (b *Bundles) join(ctx context.Context, name, projectID string, environment wire.Environment) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.watches[name]
	if w == nil {
		looking, end := context.WithCancel(context.WithoutCancel(ctx))
		w = &watch{changed: make(chan struct{}), soon: make(chan struct{}, 1), end: end}
		b.watches[name] = w
		go b.watch(looking, w, projectID, environment)
	}
	w.waiting++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if w.waiting--; w.waiting == 0 {
			w.end()
			delete(b.watches, name)
		}
	}
}

// watch wakes those that wait when the newest bundle changes, until ctx ends.
func (b *Bundles) watch(ctx context.Context, w *watch, projectID string, environment wire.Environment) {
	tick := time.NewTicker(lookForNews)
	defer tick.Stop()
	for last := ""; ; {
		newest, err := b.Latest(ctx, projectID, environment, "")
		if hash := newest.Head.RawHash; err != nil || hash != last {
			last = hash
			b.mu.Lock()
			close(w.changed)
			w.changed = make(chan struct{})
			b.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-b.ended:
			return
		case <-tick.C:
		case <-w.soon:
		}
	}
}
