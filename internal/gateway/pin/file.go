package pin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenet/internal/rule"
)

// FileOf returns the name of the file of a server's pins in a folder. Names of servers that no file can have are escaped.
func FileOf(folder, server string) string {
	name := strings.ReplaceAll(url.PathEscape(server), ".", "%2E")
	return filepath.Join(folder, name+".json")
}

// Servers returns the names of the servers that have pins in a folder.
func Servers(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			if server, err := url.PathUnescape(name); err == nil {
				out = append(out, server)
			}
		}
	}
	return out, nil
}

// Forget removes the pins of the server, so that the next list is the first.
func (s *Store) Forget() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nil
	err := os.Remove(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return rule.NotFound("pinned server", s.server)
	}
	return err
}

// stamp identifies a version of a file.
type stamp struct {
	at   time.Time
	size int64
}

// load returns the pins as the file has them. Nobody changes what it returns, except in a copy.
func (s *Store) load() (*File, error) {
	info, err := os.Stat(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Server: s.server, Tools: map[string]*Tool{}}, nil
	}
	if err != nil {
		return nil, err
	}
	at := stamp{info.ModTime(), info.Size()}
	if s.last != nil && s.read == at {
		return s.last.clone(), nil
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(text, f); err != nil || f.Server != s.server {
		return nil, rule.Errorf(rule.CodeInvalid, "%s holds no pins of %s; move it away to begin again, which accepts what the server says then", s.file, s.server)
	}
	if f.Tools == nil {
		f.Tools = map[string]*Tool{}
	}
	s.last, s.read = f, at
	return f.clone(), nil
}

func (f *File) clone() *File {
	copied := *f
	copied.Tools = make(map[string]*Tool, len(f.Tools))
	for name, t := range f.Tools {
		one := *t
		copied.Tools[name] = &one
	}
	return &copied
}

// Times of the lock of a file.
const (
	lockWait  = 3 * time.Second
	lockStale = 10 * time.Second
)

// change changes the file while no other process does.
func (s *Store) change(fn func(*File) error) error {
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	unlock, err := lock(s.file + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	s.last = nil // within the granularity of time stamps another process may have written
	f, err := s.load()
	if err != nil {
		return err
	}
	if err := fn(f); err != nil {
		return err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := write(s.file, append(text, '\n')); err != nil {
		return err
	}
	s.last = nil
	return nil
}

// lock makes a file that only one process can have made. One that is older than any change takes is of a process that has died.
func lock(name string) (unlock func(), err error) {
	for deadline := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(name) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > lockStale {
			_ = os.Remove(name)
			continue
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another process holds %s", name)
		}
	}
}

// write replaces a file as a whole.
func write(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".pins-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
