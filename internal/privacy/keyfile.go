package privacy

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"tenet/internal/rule"
)

// KeyFile is the file with the key that wraps the keys of people. It is outside of the database, so that a copy of that alone opens nothing.
type KeyFile struct {
	path string
	make bool

	mu   sync.Mutex
	read *wrapping
}

// NewKeyFile returns the key file at a path, which may be empty for none. With create, the first use makes a file that is not there.
func NewKeyFile(path string, create bool) *KeyFile { return &KeyFile{path: path, make: create} }

// wrapping holds what is derived from the key in the file.
type wrapping struct {
	wrap, tag []byte
	name      string // of the key, which does not reveal it
}

// keyBytes is the size of all keys.
const keyBytes = 32

// open returns the key; unavailable if it cannot be read. create makes it where that is allowed.
func (f *KeyFile) open(create bool) (*wrapping, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read != nil {
		return f.read, nil
	}
	if f.path == "" {
		return nil, rule.Errorf(rule.CodeUnavailable, "personal data cannot be encrypted: set privacy_key_file on all nodes, to copies of one file (docs/privacy.md)")
	}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) && create && f.make {
		if err = makeKeyFile(f.path); err == nil {
			text, err = os.ReadFile(f.path)
		}
	}
	if err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "personal data cannot be encrypted or read: the key file: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keyBytes {
		return nil, rule.Errorf(rule.CodeUnavailable, "personal data cannot be encrypted or read: %s is not a line of 32 bytes in base64", f.path)
	}
	w := &wrapping{}
	var name []byte
	for _, part := range []struct {
		to   *[]byte
		info string
	}{{&w.wrap, "wrap"}, {&w.tag, "tag"}, {&name, "name"}} {
		if *part.to, err = hkdf.Key(sha256.New, key, nil, "tenet privacy 1 "+part.info, keyBytes); err != nil {
			return nil, err
		}
	}
	w.name = hex.EncodeToString(name[:8])
	f.read = w
	return w, nil
}

// makeKeyFile makes a key file. Of two processes that do so at once, one wins, and both then read its key.
func makeKeyFile(path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".privacy-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(temp.Name())) }()
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	_, err = temp.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// nameOf returns the keyed hash by which the key of a person is found.
func (w *wrapping) nameOf(projectID, kind, name string) string {
	h := hmac.New(sha256.New, w.tag)
	_, _ = fmt.Fprintf(h, "%d %s%d %s%s", len(projectID), projectID, len(kind), kind, name) // a hash never fails
	return hex.EncodeToString(h.Sum(nil)[:16])
}
