package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/bundle/place"
	"tenet/internal/config"
	"tenet/internal/rule"
)

// bucketScheme is how names of copies in buckets begin.
const bucketScheme = "s3://"

// backUpToBucket makes a copy, checks it and sends it to a bucket, which gets nothing of a copy that is not sound.
func backUpToBucket(ctx context.Context, cfg config.Config, dir, to string, progress func(done, all int)) (b Backup, err error) {
	object, err := place.ParseLarge(to, place.Config{})
	if err != nil {
		return b, err
	}
	there, err := object.Exists(ctx)
	if err != nil {
		return b, err
	}
	if there {
		return b, rule.Errorf(rule.CodeConflict, "%s is there already", to)
	}
	temp, err := os.MkdirTemp(dir, "backup-") // where there is room for a database
	if err != nil {
		return b, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	path := filepath.Join(temp, "copy")
	if name, _, _ := strings.Cut(to, "?"); strings.HasSuffix(name, compressed) {
		path += compressed
	}
	if b, err = BackUp(ctx, cfg, path, progress); err != nil {
		return b, err
	}
	f, err := os.Open(path)
	if err != nil {
		return b, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return b, rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	return b, object.Upload(ctx, f, info.Size())
}

// fetchCopy reads a copy from a bucket into a new folder inside of another, and returns its name.
func fetchCopy(ctx context.Context, from, dir string) (path string, err error) {
	object, err := place.ParseLarge(from, place.Config{})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "cannot make the data folder: %w", err)
	}
	temp, err := os.MkdirTemp(dir, "restore-")
	if err != nil {
		return "", rule.Errorf(rule.CodeUnavailable, "%w", err)
	}
	path = filepath.Join(temp, "copy")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(object.Download(ctx, f), f.Close())
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(temp))
	}
	return path, nil
}
