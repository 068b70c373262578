// Package checkpoint signs and checks what leaves the machine of a transparency log: checkpoints (C2SP tlog-checkpoint), cosignatures of
// witnesses (tlog-cosignature, tlog-witness), proofs (tlog-proof) and the policies that say whom to trust (tlog-policy). It needs neither
// a database nor, to check, a network.
package checkpoint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"

	"tenet/internal/audit/tree"
)

// MaxNote bounds a signed note, in bytes. It has room for several hundred signatures.
const MaxNote = 64 << 10

// Checkpoint is the size and the root of a log at some time.
type Checkpoint struct {
	Origin string // name of the log
	Size   int64
	Root   tree.Hash
}

// Text returns what is signed.
func (c Checkpoint) Text() string {
	return string(log.Checkpoint{Origin: c.Origin, Size: uint64(c.Size), Hash: c.Root[:]}.Marshal())
}

// Parse reads the text of a checkpoint, with or without signatures. It checks none.
func Parse(text string) (Checkpoint, error) {
	var l log.Checkpoint
	rest, err := l.Unmarshal([]byte(text))
	if err != nil {
		return Checkpoint{}, err
	}
	c := Checkpoint{Origin: l.Origin, Size: int64(l.Size)}
	if len(l.Hash) != len(c.Root) || c.Size < 0 {
		return Checkpoint{}, errors.New("a checkpoint needs a size and a root of 32 bytes")
	}
	copy(c.Root[:], l.Hash)
	// Another form of the same values would be another text under the same meaning.
	if !strings.HasPrefix(text, c.Text()) || (len(rest) > 0 && rest[0] != '\n') {
		return Checkpoint{}, errors.New("a checkpoint has three lines: the name of the log, its size and its root")
	}
	return c, nil
}

// made is a signature that was made elsewhere, as the library takes it.
type made struct {
	name string
	hash uint32
	sig  []byte
}

func (m made) Name() string                  { return m.name }
func (m made) KeyHash() uint32               { return m.hash }
func (m made) Sign(_ []byte) ([]byte, error) { return m.sig, nil }

// signed returns a note of text with signatures of the keys.
func signed(text string, keys []note.Verifier, signatures [][]byte) (string, error) {
	if len(keys) == 0 || len(signatures) != len(keys) {
		return "", fmt.Errorf("%d signatures of %d keys", len(signatures), len(keys))
	}
	signers := make([]note.Signer, len(keys))
	for i, k := range keys {
		if !k.Verify([]byte(text), signatures[i]) {
			return "", fmt.Errorf("the signature of the key %s+%08x does not verify", k.Name(), k.KeyHash())
		}
		signers[i] = made{k.Name(), k.KeyHash(), signatures[i]}
	}
	out, err := note.Sign(&note.Note{Text: text}, signers...)
	return string(out), err
}
