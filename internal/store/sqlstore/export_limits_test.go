package sqlstore

import (
	"context"
	"time"

	"tenet/internal/store"
)

// OpenPostgresWithin is OpenPostgres with other limits: the pause in a transaction, the wait for a lock, a statement, and what a
// node waits beyond that.
func OpenPostgresWithin(ctx context.Context, dsn string, idle, lock, statement, grace time.Duration) (store.Store, error) {
	return openPostgres(ctx, dsn, Options{}, limits{idle: idle, lock: lock, write: statement, read: statement, grace: grace})
}
