package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Disk is the file system of the machine. It reads regular files up to a size, and folders up to a number of entries.
type Disk struct{}

// Lstat implements FS.
func (Disk) Lstat(name string) (Entry, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return Entry{}, missing(err)
	}
	e := Entry{Kind: Other}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		e.Kind = Regular
	case mode.IsDir():
		e.Kind = Folder
	case mode.Type() == fs.ModeSymlink:
		e.Kind = Link
		if e.Target, err = os.Readlink(name); err != nil {
			return Entry{}, missing(err)
		}
		return e, nil
	}
	e.Writable = writable(name, info)
	e.Shared = e.Kind == Regular && shared(info)
	return e, nil
}

// missing returns fs.ErrNotExist for the errors of that meaning only.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	return err
}

// ReadFile implements FS.
func (Disk) ReadFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", missing(err)
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(fmt.Errorf("%s is no regular file", name), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = fmt.Errorf("%s has more than %d MiB", name, maxFileBytes>>20)
	}
	return string(b), err
}

// ReadDir implements FS.
func (Disk) ReadDir(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, missing(err)
	}
	defer func() { _ = f.Close() }() // only read
	names, err := f.Readdirnames(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && len(names) > maxEntries {
		err = fmt.Errorf("%s has more than %d entries", name, maxEntries)
	}
	return names, err
}
