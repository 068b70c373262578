package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store/sqlstore"
)

// Backup says what a copy of an embedded database holds.
type Backup = sqlstore.Copied

// MigrationPlan lists the steps that would bring a database up to date.
type MigrationPlan = sqlstore.Plan

// compressed is how names of copies that are compressed by Zstandard (RFC 8878) end.
const compressed = ".zst"

// BackUp copies the embedded database of the settings to a new file while others work on it, and checks the copy. A name that ends in .zst
// is that of a compressed copy, and one that begins with s3:// that of an object in a bucket. Progress gets the pages copied so far and of all.
func BackUp(ctx context.Context, cfg config.Config, to string, progress func(done, all int)) (b Backup, err error) {
	dir, err := embedded(cfg, "pg_dump --format=custom --file=tenet.dump URL")
	if err != nil {
		return b, err
	}
	if strings.HasPrefix(to, bucketScheme) {
		return backUpToBucket(ctx, cfg, dir, to, progress)
	}
	if !strings.HasSuffix(to, compressed) {
		return sqlstore.Backup(ctx, dir, to, progress)
	}
	if _, err := os.Lstat(to); err == nil {
		return b, rule.Errorf(rule.CodeConflict, "%s is there already", to)
	}
	plain := to + ".part"
	if b, err = sqlstore.Backup(ctx, dir, plain, progress); err != nil {
		return b, err
	}
	return b, errors.Join(compress(plain, to), os.Remove(plain))
}

// BackUpTo does the same, to a stream that gets nothing before the copy was checked.
func BackUpTo(ctx context.Context, cfg config.Config, to io.Writer, progress func(done, all int)) (b Backup, err error) {
	dir, err := embedded(cfg, "pg_dump --format=custom URL")
	if err != nil {
		return b, err
	}
	temp, err := os.MkdirTemp(dir, "backup-") // where there is room for a database
	if err != nil {
		return b, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	path := filepath.Join(temp, sqlstore.FileName)
	if b, err = sqlstore.Backup(ctx, dir, path, progress); err != nil {
		return b, err
	}
	f, err := os.Open(path)
	if err != nil {
		return b, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	_, err = io.Copy(to, f)
	return b, err
}

// Restore makes a copy the embedded database of the settings. Aside is where the one that was there before is now; empty if there was none.
// That there is one is an error of code conflict unless replace is true.
func Restore(ctx context.Context, cfg config.Config, from string, replace bool) (b Backup, aside string, err error) {
	dir, err := embedded(cfg, "pg_restore --clean --if-exists --dbname=URL tenet.dump")
	if err != nil {
		return b, "", err
	}
	if strings.HasPrefix(from, bucketScheme) {
		object := from
		if from, err = fetchCopy(ctx, object, dir); err != nil {
			return b, "", err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(from))) }()
	}
	plain, err := decompressed(from, dir)
	if err != nil {
		return b, "", err
	}
	if plain != from {
		defer func() { err = errors.Join(err, os.Remove(plain)) }()
	}
	if _, statErr := os.Lstat(filepath.Join(dir, sqlstore.FileName)); statErr == nil {
		if !replace {
			return b, "", rule.Errorf(rule.CodeConflict, "%s holds a database; --force puts it aside", dir)
		}
		// The copy is verified before anything is moved.
		if b, err = sqlstore.Inspect(ctx, plain); err != nil {
			return b, "", err
		}
		if aside, err = sqlstore.PutAside(ctx, dir, time.Now()); err != nil {
			return b, "", err
		}
	}
	b, err = sqlstore.Restore(ctx, plain, dir)
	return b, aside, err
}

// PlanMigration says which steps a database needs, and changes nothing.
func PlanMigration(ctx context.Context, cfg config.Config) (MigrationPlan, error) {
	if cfg.DatabaseURL != "" {
		return sqlstore.PlanPostgres(ctx, cfg.DatabaseURL)
	}
	dir, err := dataDir(cfg)
	if err != nil {
		return MigrationPlan{}, err
	}
	return sqlstore.PlanSQLite(ctx, dir)
}

// Migrate brings a database up to date, as each start of a server does.
func Migrate(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	s, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	return s.Close()
}

// embedded returns the folder of the embedded database. For one on a server it names the command that does the same there.
func embedded(cfg config.Config, instead string) (string, error) {
	if cfg.DatabaseURL != "" {
		return "", rule.Errorf(rule.CodeInvalid, "this is for the embedded database; PostgreSQL has tools of its own, such as: %s (see docs/operations.md)", instead)
	}
	return dataDir(cfg)
}

// compress writes a compressed copy of a file, on disk when it returns.
func compress(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	defer func() { _ = in.Close() }() // opened for reading
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	packer, err := zstd.NewWriter(out)
	if err == nil {
		_, err = io.Copy(packer, in)
		err = errors.Join(err, packer.Close(), out.Sync())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return rule.Errorf(rule.CodeUnavailable, "compressing the copy: %w", errors.Join(err, os.Remove(to)))
	}
	return nil
}

// zstdMagic begins a compressed file (RFC 8878, 3.1.1), and sqliteMagic a database.
var (
	zstdMagic   = []byte{0x28, 0xb5, 0x2f, 0xfd}
	sqliteMagic = []byte("SQLite format 3\x00")
)

// decompressed returns the name of a file that holds what a copy does without compression: its own, or that of a new file in a folder.
// What does not begin as a database is not unpacked.
func decompressed(path, dir string) (_ string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", rule.Errorf(rule.CodeNotFound, "%w", err)
	}
	defer func() { _ = in.Close() }() // opened for reading
	begin := make([]byte, len(zstdMagic))
	if _, err := io.ReadFull(in, begin); err != nil || !bytes.Equal(begin, zstdMagic) {
		return path, nil //nolint:nilerr // what is no copy is refused later
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	unpacker, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return "", err
	}
	defer unpacker.Close()
	begin = make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(unpacker, begin); err != nil || !bytes.Equal(begin, sqliteMagic) {
		return "", rule.Errorf(rule.CodeInvalid, "%s is no compressed copy of a database", path)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "cannot make the data folder: %w", err)
	}
	out, err := os.CreateTemp(dir, "restore-*")
	if err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	_, err = io.Copy(out, io.MultiReader(bytes.NewReader(begin), unpacker))
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(rule.Errorf(rule.CodeInvalid, "%s cannot be unpacked: %w", path, err), os.Remove(out.Name()))
	}
	return out.Name(), nil
}
