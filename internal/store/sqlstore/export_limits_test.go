package sqlstore

import (
	"context"
	"errors"
	"time"

	"tenet/internal/store"
)

// OpenPostgresWithin is OpenPostgres with other limits: the pause in a transaction, the wait for a lock, a statement, and what a
// node waits beyond that.
func OpenPostgresWithin(ctx context.Context, dsn string, idle, lock, statement, grace time.Duration) (store.Store, error) {
	return openPostgres(ctx, dsn, Options{}, limits{idle: idle, lock: lock, write: statement, read: statement, grace: grace})
}

// LosePatience has the transactions of a store give up after their first try.
func LosePatience(s store.Store) { s.Database.(*database).patience = 0 }

// ExecSQLite runs a statement on a file that is opened with settings, and returns the error as a store does.
func ExecSQLite(ctx context.Context, path, settings, query string, args ...any) error {
	db, err := openFile(path, settings)
	if err != nil {
		return err
	}
	s := &session{db: db, d: newSQLite(), damage: &damage{}}
	_, err = s.exec(ctx, "exec", query, args...)
	return errors.Join(err, db.Close())
}
