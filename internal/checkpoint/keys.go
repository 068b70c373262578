package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Signer holds the keys of logs. The keys of a log have its origin as their name.
type Signer interface {
	// Keys returns the verifier keys (vkey) of a log: those that sign, and those that signed older checkpoints.
	Keys(ctx context.Context, origin string) (signing, old []string, err error)
	// Sign returns the Ed25519 signatures of a text, one by each signing key, in the order of Keys.
	Sign(ctx context.Context, origin, text string) ([][]byte, error)
}

// Sign signs a checkpoint by all signing keys of its log, and checks each signature.
func Sign(ctx context.Context, s Signer, c Checkpoint) (string, error) {
	keys, _, err := s.Keys(ctx, c.Origin)
	if err != nil {
		return "", err
	}
	verifiers, err := verifiersOf(c.Origin, keys)
	if err != nil {
		return "", err
	}
	signatures, err := s.Sign(ctx, c.Origin, c.Text())
	if err != nil {
		return "", err
	}
	return signed(c.Text(), verifiers, signatures)
}

func verifiersOf(origin string, keys []string) ([]note.Verifier, error) {
	list := make([]note.Verifier, len(keys))
	for i, k := range keys {
		v, err := note.NewVerifier(k)
		if err != nil {
			return nil, fmt.Errorf("the key %q: %w", k, err)
		}
		if v.Name() != origin {
			return nil, fmt.Errorf("the key %q is not one of the log %s", k, origin)
		}
		list[i] = v
	}
	return list, nil
}

// OpenOwn checks the signature of a log on its own checkpoint, by any of its keys.
func OpenOwn(ctx context.Context, s Signer, signedNote string) (Checkpoint, error) {
	c, err := Parse(signedNote)
	if err != nil {
		return c, err
	}
	signing, old, err := s.Keys(ctx, c.Origin)
	if err != nil {
		return c, err
	}
	verifiers, err := verifiersOf(c.Origin, append(signing, old...))
	if err != nil {
		return c, err
	}
	_, err = note.Open([]byte(signedNote), note.VerifierList(verifiers...))
	return c, err
}

// KeyFile is a [Signer] with keys from a file. It has a comment, the base of the origins of its logs, and a line for each key:
//
//	origin example.com/tenet
//	sign 2026-11-23 <seed in base64>
//	verify 2026-01-05 <public key in base64>
type KeyFile struct {
	// Origin is the base of the names of logs.
	Origin string
	keys   []fileKey
}

type fileKey struct {
	since   string // date
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

const keyComment = `# Keys that sign the checkpoints of the audit log. Who has them can sign in its name: keep the file secret, and a copy of it safe.
# sign: a key that signs. verify: the public half of a key that has signed older checkpoints.
`

const day = "2006-01-02"

// originForm is the form of an origin: a name as of a web address, without spaces and plus signs.
var originForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*(/[A-Za-z0-9._~:-]+)*$`)

// ValidOrigin reports whether a text can be the name of logs.
func ValidOrigin(s string) bool { return len(s) <= 200 && originForm.MatchString(s) }

// OpenKeys reads a file of keys, and makes one with a new key if it does not exist. Without an origin, a new file gets one of its own.
func OpenKeys(path, origin string, now time.Time) (*KeyFile, error) {
	f, err := ReadKeys(path)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	f = &KeyFile{Origin: origin}
	key, err := newKey(now)
	if err != nil {
		return nil, err
	}
	f.keys = []fileKey{key}
	if f.Origin == "" {
		sum := sha256.Sum256(key.public)
		f.Origin = "tenet.local/" + hex.EncodeToString(sum[:6])
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := WriteFile(path, []byte(f.text())); err != nil {
		return nil, err
	}
	return f, nil
}

func newKey(now time.Time) (fileKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	return fileKey{since: now.UTC().Format(day), private: private, public: public}, err
}

// ReadKeys reads a file of keys.
func ReadKeys(path string) (*KeyFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func parseKeys(data []byte) (*KeyFile, error) {
	f := &KeyFile{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
			continue
		case words[0] == "origin" && len(words) == 2 && f.Origin == "" && ValidOrigin(words[1]):
			f.Origin = words[1]
			continue
		case (words[0] == "sign" || words[0] == "verify") && len(words) == 3:
			k := fileKey{since: words[1]}
			b, err := base64.StdEncoding.DecodeString(words[2])
			if err == nil && len(b) == ed25519.SeedSize {
				if k.public = b; words[0] == "sign" {
					k.private = ed25519.NewKeyFromSeed(b)
					k.public = k.private.Public().(ed25519.PublicKey)
				}
				f.keys = append(f.keys, k)
				continue
			}
		}
		return nil, fmt.Errorf("line %d is neither an origin nor a key (it is not repeated here, since it may be secret)", n)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if f.Origin == "" || len(f.signing()) == 0 {
		return nil, errors.New("the file needs an origin and a key that signs")
	}
	return f, nil
}

func (f *KeyFile) text() string {
	var b strings.Builder
	b.WriteString(keyComment)
	fmt.Fprintf(&b, "origin %s\n", f.Origin)
	for _, k := range f.keys {
		if k.private != nil {
			fmt.Fprintf(&b, "sign %s %s\n", k.since, base64.StdEncoding.EncodeToString(k.private.Seed()))
		} else {
			fmt.Fprintf(&b, "verify %s %s\n", k.since, base64.StdEncoding.EncodeToString(k.public))
		}
	}
	return b.String()
}

// Rotate adds a key that signs from now on, beside those that do already: who knows one of them can check what is signed meanwhile.
func (f *KeyFile) Rotate(path string, now time.Time) error {
	key, err := newKey(now)
	if err != nil {
		return err
	}
	f.keys = append(f.keys, key)
	return WriteFile(path, []byte(f.text()))
}

// Retire ends the signing by all keys but the newest, and forgets their private halves.
func (f *KeyFile) Retire(path string) error {
	if len(f.signing()) < 2 {
		return errors.New("one key signs only; add another first, and retire this one when all who check know the new one")
	}
	newest := true
	for i := len(f.keys) - 1; i >= 0; i-- {
		if f.keys[i].private == nil {
			continue
		}
		if !newest {
			f.keys[i].private = nil
		}
		newest = false
	}
	return WriteFile(path, []byte(f.text()))
}

func (f *KeyFile) signing() []fileKey {
	var list []fileKey
	for _, k := range f.keys {
		if k.private != nil {
			list = append(list, k)
		}
	}
	return list
}

// Keys implements [Signer].
func (f *KeyFile) Keys(_ context.Context, origin string) (signing, old []string, err error) {
	for _, k := range f.keys {
		vkey, err := note.NewEd25519VerifierKey(origin, k.public)
		if err != nil {
			return nil, nil, err
		}
		if k.private != nil {
			signing = append(signing, vkey)
		} else {
			old = append(old, vkey)
		}
	}
	return signing, old, nil
}

// Sign implements [Signer].
func (f *KeyFile) Sign(_ context.Context, _, text string) ([][]byte, error) {
	var list [][]byte
	for _, k := range f.signing() {
		list = append(list, ed25519.Sign(k.private, []byte(text)))
	}
	return list, nil
}

// WriteFile replaces a file, which only its owner may read, so that a crash leaves the old or the new one whole.
func WriteFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some systems cannot sync folders
	return d.Close()
}
