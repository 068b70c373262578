package store

import (
	"context"
	"sync"
	"time"
)

// Lag says that the reads of a request may be answered by a replica, and remembers which one, so that all of them see one and the same. It is safe for
// concurrent use.
type Lag struct {
	// Since is a time whose writes the request must see, such as that of the caller's own last write; zero for none.
	Since time.Time

	mu      sync.Mutex
	chosen  any
	settled bool
}

type lagKey struct{}

// MayLag returns a context whose reads outside of transactions may be answered by a replica of the database that is behind by no more than its bound, but
// has all that was written until since.
func MayLag(ctx context.Context, since time.Time) context.Context {
	return context.WithValue(ctx, lagKey{}, &Lag{Since: since})
}

// LagOf returns what [MayLag] has put into a context; nil without it.
func LagOf(ctx context.Context) *Lag {
	l, _ := ctx.Value(lagKey{}).(*Lag)
	return l
}

// Choose returns what choose has returned at its first call.
func (l *Lag) Choose(choose func() any) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.settled {
		l.chosen, l.settled = choose(), true
	}
	return l.chosen
}

// Leave has all further reads go to the primary.
func (l *Lag) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chosen, l.settled = nil, true
}
