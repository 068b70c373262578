package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"tenet/internal/rule"
)

// Copied says what a copy of a SQLite database holds.
type Copied struct {
	Schema   int64 // its version
	Bytes    int64
	Projects int
	Rules    int // of all projects, in all statuses
}

// pagesAtOnce is how many pages of a database are copied between two looks at the context.
const pagesAtOnce = 4096

// Backup copies the SQLite database of a folder to a new file, as it was at one moment, while other processes go on writing to it, and then
// checks the copy: every page and index of it, and that it is a database of Tenet. Only its user may read the file, which is on disk when
// Backup returns, and not there at all if it fails. Progress gets the pages copied so far and of all; nil gets none.
//
// The error has the code not_found if the folder holds no database, conflict if the file is there already, and unavailable if the database
// is damaged or a file cannot be read or written.
func Backup(ctx context.Context, dir, path string, progress func(done, all int)) (c Copied, err error) {
	source, err := filepath.Abs(filepath.Join(dir, FileName))
	if err != nil {
		return c, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return c, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		return c, rule.Errorf(rule.CodeNotFound, "there is no database in %s", dir)
	}
	if err := create(path, nil); err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if err := copyPages(ctx, source, path, progress); err != nil {
		return c, fmt.Errorf("copying the database: %w", err)
	}
	if c, err = inspect(ctx, path); err != nil {
		return c, fmt.Errorf("the copy is not sound: %w", err)
	}
	return c, syncFile(path)
}

// Restore makes a copy that [Backup] has made the database of a folder that has none. It checks the copy before, and writes it to the disk
// before it takes its place. Nobody may use the folder meanwhile.
//
// The error has the code invalid if the file is no sound copy, conflict if a newer Tenet has made it or the folder has a database, and
// unavailable if a file cannot be read or written.
func Restore(ctx context.Context, path, dir string) (Copied, error) {
	c, err := Inspect(ctx, path)
	if err != nil {
		return c, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, rule.Errorf(rule.CodeUnavailable, "cannot make the data folder: %w", err)
	}
	target := filepath.Join(dir, FileName)
	if _, err := os.Lstat(target); err == nil {
		return c, rule.Errorf(rule.CodeConflict, "%s holds a database", dir)
	}
	from, err := os.Open(path)
	if err != nil {
		return c, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	defer func() { _ = from.Close() }() // opened for reading
	part := target + ".restoring"
	if err := errors.Join(ignoreMissing(os.Remove(part)), create(part, from)); err != nil {
		return c, err
	}
	if err := syncFile(part); err != nil {
		return c, err
	}
	if err := os.Rename(part, target); err != nil {
		return c, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	return c, syncFile(dir)
}

// Inspect reads a whole copy and says what it holds. Errors are those of [Restore].
func Inspect(ctx context.Context, path string) (Copied, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Copied{}, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	c, err := inspect(ctx, absolute)
	if err != nil {
		return c, rule.Errorf(rule.CodeInvalid, "%s is no sound copy of a database: %w", path, err)
	}
	steps, err := migrationSteps()
	if err != nil {
		return c, err
	}
	if newest := steps[len(steps)-1].Version; c.Schema > newest {
		return c, rule.Errorf(rule.CodeConflict, "%s has schema version %d, this program knows versions up to %d; use a newer tenet", path, c.Schema, newest)
	}
	return c, nil
}

// PutAside renames the files of the SQLite database in a folder, so that the folder has none, and returns the new name of the database. What
// its write-ahead log holds is first moved into it, unless it is damaged: then the log goes with it.
//
// The error has the code conflict while another process has the database open.
func PutAside(ctx context.Context, dir string, now time.Time) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, FileName))
	if err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	db, err := openFile(path, "_busy_timeout=0")
	if err != nil {
		return "", err
	}
	var mode string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode) // needs the file for itself
	_ = db.Close()                                                            // nothing is open
	d := newSQLite()
	if err != nil && d.retryable(err) || err == nil && mode != "delete" {
		return "", rule.Errorf(rule.CodeConflict, "another process works on the database in %s: stop it first", dir)
	}
	if err != nil && !d.damaged(err) {
		return "", rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	aside := path + ".before-" + now.UTC().Format("20060102T150405Z")
	if _, err := os.Lstat(aside); err == nil {
		return "", rule.Errorf(rule.CodeConflict, "%s is there already", aside)
	}
	for _, ending := range []string{"-wal", "-shm", ""} {
		if err := ignoreMissing(os.Rename(path+ending, aside+ending)); err != nil {
			return "", rule.Errorf(rule.CodeUnavailable, "%w", err)
		}
	}
	return aside, syncFile(dir)
}

// copyPages copies the pages of a database. One transaction that reads holds them as they are for as long as that takes, which in WAL mode
// stops nobody.
func copyPages(ctx context.Context, source, path string, progress func(done, all int)) error {
	db, err := openFile(source, "mode=ro&_busy_timeout=5000&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it reads
	conn, err := db.Conn(ctx)
	if err != nil {
		return describe(err)
	}
	defer func() { _ = conn.Close() }() // as above
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return describe(err)
	}
	defer func() { _ = tx.Rollback() }() // it reads
	var tables int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return describe(err)
	}
	err = conn.Raw(func(inner any) error {
		if p, ok := inner.(*preparedConn); ok {
			inner = p.sqliteConn
		}
		c, ok := inner.(interface {
			NewBackup(uri string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("sqlstore: %T makes no copies", inner)
		}
		copying, err := c.NewBackup(fileURI(path, ""))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = copying.Step(pagesAtOnce); err == nil && progress != nil {
				progress(copying.PageCount()-copying.Remaining(), copying.PageCount())
			}
			err = errors.Join(err, ctx.Err())
		}
		return errors.Join(err, copying.Finish())
	})
	return describe(err)
}

// inspect reads a whole database that nobody writes to, at an absolute path.
func inspect(ctx context.Context, path string) (c Copied, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return c, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	c.Bytes = info.Size()
	db, err := openFile(path, "mode=ro&immutable=1&_pragma=query_only(1)&_pragma=cache_size(-64000)")
	if err != nil {
		return c, err
	}
	defer func() { _ = db.Close() }() // it reads
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&said); err != nil {
		return c, describe(err)
	}
	if said != "ok" {
		return c, rule.Errorf(rule.CodeUnavailable, "the database is damaged: %s", said)
	}
	for _, q := range []struct {
		query string
		to    any
	}{
		{"SELECT max(version_id) FROM goose_db_version", &c.Schema},
		{"SELECT count(*) FROM projects", &c.Projects},
		{"SELECT count(*) FROM rules", &c.Rules},
	} {
		if err := db.QueryRowContext(ctx, q.query).Scan(q.to); err != nil {
			return c, rule.Errorf(rule.CodeInvalid, "it is no database of Tenet: %w", err)
		}
	}
	return c, nil
}

// describe gives errors of SQLite their codes.
func describe(err error) error {
	d := newSQLite()
	switch {
	case err == nil:
		return nil
	case d.damaged(err):
		return rule.Errorf(rule.CodeUnavailable, "the database is damaged: %w", err)
	case d.unreachable(err):
		return rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	return err
}

// create makes a file that only its user may read, with what from holds; nil leaves it empty. A file that it could not fill is removed.
func create(path string, from io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return rule.Errorf(rule.CodeConflict, "%s is there already", path)
	}
	if err != nil {
		return rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	if from != nil {
		_, err = io.Copy(f, from)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return rule.Errorf(rule.CodeUnavailable, "%w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// syncFile writes a file or the names in a folder to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	if err := f.Sync(); err != nil && !isFolder(f) {
		return rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	return nil
}

// isFolder reports a folder: some systems cannot sync those.
func isFolder(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.IsDir()
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
