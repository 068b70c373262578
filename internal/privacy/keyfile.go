package privacy

import (
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
	"strings"
	"sync"

	"tenet/internal/rule"
)

// KeyFile is the file with the key that wraps the keys of people. It is outside of the database, so that a copy of that alone opens nothing.
//
// Its first line is the key, in base64. While the key is rotated, lines "old KEY" hold those before it, which open what they have wrapped. A line
// "names KEY" holds the key of the hashes by which people are found, which stays as it was in the first file.
type KeyFile struct {
	path string
	make bool

	mu   sync.Mutex
	read *wrapping
	info fs.FileInfo // of the file that was read
}

// NewKeyFile returns the key file at a path, which may be empty for none. With create, the first use makes a file that is not there.
func NewKeyFile(path string, create bool) *KeyFile { return &KeyFile{path: path, make: create} }

// wrapping holds what is derived from the keys in the file.
type wrapping struct {
	wrapper

	older []wrapper
	tag   []byte
}

// wrapper is a key that wraps others.
type wrapper struct {
	key, wrap []byte
	name      string // which does not reveal the key
}

// keyBytes is the size of all keys.
const keyBytes = 32

// open returns the keys; unavailable if they cannot be read. It reads the file again when it has changed. create makes it where that is allowed.
func (f *KeyFile) open(create bool) (*wrapping, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		return nil, rule.Errorf(rule.CodeUnavailable, "personal data cannot be encrypted: set privacy_key_file on all nodes, to copies of one file (docs/privacy.md)")
	}
	info, err := os.Stat(f.path)
	if f.read != nil && (err != nil || os.SameFile(info, f.info) && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size()) {
		return f.read, nil // also while the file is away
	}
	if errors.Is(err, fs.ErrNotExist) && create && f.make {
		if err = makeKeyFile(f.path); err == nil {
			info, err = os.Stat(f.path)
		}
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(f.path)
	}
	if err != nil {
		return nil, rule.Errorf(rule.CodeUnavailable, "personal data cannot be encrypted or read: the key file: %w", err)
	}
	w, err := parseKeyFile(text)
	if err != nil {
		if f.read != nil { // it is being written
			return f.read, nil
		}
		return nil, rule.Errorf(rule.CodeUnavailable, "personal data cannot be encrypted or read: %s %w", f.path, err)
	}
	f.read, f.info = w, info
	return w, nil
}

var errKeyFile = errors.New("is not a line of 32 bytes in base64, with the lines below it that tenet privacy rotate-key writes")

func parseKeyFile(text []byte) (*wrapping, error) {
	w := &wrapping{}
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Fields(line)
		if n == 0 {
			words = append([]string{""}, words...)
		}
		if len(words) != 2 {
			return nil, errKeyFile
		}
		key, err := base64.StdEncoding.DecodeString(words[1])
		if err != nil || len(key) != keyBytes {
			return nil, errKeyFile
		}
		switch {
		case n == 0:
			if w.wrapper, err = newWrapper(key); err == nil {
				w.tag, err = derived(key, "tag")
			}
		case words[0] == "names":
			w.tag = key
		case words[0] == "old":
			var old wrapper
			old, err = newWrapper(key)
			w.older = append(w.older, old)
		default:
			return nil, errKeyFile
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

func newWrapper(key []byte) (wrapper, error) {
	w := wrapper{key: key}
	name, err := derived(key, "name")
	if err != nil {
		return w, err
	}
	w.name = hex.EncodeToString(name[:8])
	w.wrap, err = derived(key, "wrap")
	return w, err
}

func derived(key []byte, use string) ([]byte, error) {
	return hkdf.Key(sha256.New, key, nil, "tenet privacy 1 "+use, keyBytes)
}

// text returns the file of the keys.
func (w *wrapping) text() string {
	var b strings.Builder
	b.WriteString(base64.StdEncoding.EncodeToString(w.key) + "\n")
	for _, old := range w.older {
		b.WriteString("old " + base64.StdEncoding.EncodeToString(old.key) + "\n")
	}
	b.WriteString("names " + base64.StdEncoding.EncodeToString(w.tag) + "\n")
	return b.String()
}

func newKey() []byte {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	return key
}

// makeKeyFile makes a key file. Of two processes that do so at once, one wins, and both then read its key.
func makeKeyFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeKeyFile(path, base64.StdEncoding.EncodeToString(newKey())+"\n", func(temp string) error {
		err := os.Link(temp, path)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		return errors.Join(err, os.Remove(temp))
	})
}

// writeKeyFile writes a file beside the one of a path, calls put to bring it there, and returns when it will survive a loss of power.
func writeKeyFile(path, text string, put func(temp string) error) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, ".privacy-*")
	if err != nil {
		return err
	}
	_, err = temp.WriteString(text)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := put(temp.Name()); err != nil {
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
