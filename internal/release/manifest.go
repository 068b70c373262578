// Package release makes changes of rules as safe as releases of software: immutable snapshots of a project's corpus, which
// snapshot is active in which environment, the way back, and what would change before it does.
package release

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/rule"
)

// Item is one rule in a snapshot: an exact version, which never changes once it is stored.
type Item struct {
	RuleID  string
	Version int
}

// Manifest is the content of a snapshot. It names the rules instead of repeating them: versions of rules are immutable, so a
// snapshot of 100,000 rules takes some 2 MB and no text.
type Manifest struct {
	Items         []Item // in order of rule id
	Relationships []rule.Relationship
	// Federation is the project's tree of nodes with their rules.
	Federation Federation
}

// Federation is a project's tree of nodes with what is attached to them, in the order of their ids.
type Federation struct {
	Nodes       []rule.Node       `json:"nodes,omitempty"`
	Attachments []rule.Attachment `json:"attachments,omitempty"`
}

// manifestVersion begins every encoded manifest.
const manifestVersion = 1

// errManifest reports a damaged manifest. Manifests come from our own database, so the damage is there.
var errManifest = errors.New("release: the snapshot's manifest is damaged")

// Encode writes a manifest: a version byte; the number of items; for each item how many leading bytes of the 16-byte id it shares
// with the one before, the rest, and its version; then the relationships and the federation as JSON, each after its
// length. Numbers are unsigned varints.
func (m *Manifest) Encode() ([]byte, error) {
	items := slices.Clone(m.Items)
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.RuleID, b.RuleID) })
	out := make([]byte, 0, 16+len(items)*16)
	out = append(out, manifestVersion)
	out = binary.AppendUvarint(out, uint64(len(items)))
	var last [16]byte
	for _, item := range items {
		id, err := idBytes(item.RuleID)
		if err != nil {
			return nil, err
		}
		shared := 0
		for shared < 16 && id[shared] == last[shared] {
			shared++
		}
		out = append(out, byte(shared))
		out = append(out, id[shared:]...)
		out = binary.AppendUvarint(out, uint64(max(item.Version, 0)))
		last = id
	}
	relationships, err := json.Marshal(m.Relationships)
	if err != nil {
		return nil, fmt.Errorf("release: relationships: %w", err)
	}
	tree, err := json.Marshal(&m.Federation)
	if err != nil {
		return nil, fmt.Errorf("release: federation: %w", err)
	}
	for _, section := range [][]byte{relationships, tree} {
		out = binary.AppendUvarint(out, uint64(len(section)))
		out = append(out, section...)
	}
	return out, nil
}

// DecodeManifest reads what [Manifest.Encode] wrote.
func DecodeManifest(b []byte) (*Manifest, error) {
	if len(b) == 0 || b[0] != manifestVersion {
		return nil, errManifest
	}
	d := decoder{rest: b[1:]}
	n := d.number()
	if n > uint64(len(d.rest))/2 { // an item takes at least two bytes
		return nil, errManifest
	}
	m := &Manifest{Items: make([]Item, n)}
	var id [16]byte
	for i := range m.Items {
		shared := d.take(1)
		if d.bad || shared[0] > 16 {
			return nil, errManifest
		}
		copy(id[shared[0]:], d.take(16-int(shared[0])))
		version := d.number()
		if version > 1<<31 {
			return nil, errManifest
		}
		m.Items[i] = Item{RuleID: idText(id), Version: int(version)}
	}
	relationships := d.section()
	federation := d.section()
	if d.bad || len(d.rest) > 0 {
		return nil, errManifest
	}
	if err := json.Unmarshal(relationships, &m.Relationships); err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	if err := json.Unmarshal(federation, &m.Federation); err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	return m, nil
}

// decoder takes bytes from the front. After a fault it is bad and gives zeros.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) take(n int) []byte {
	if n > len(d.rest) {
		d.bad, d.rest = true, nil
		return make([]byte, n)
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) section() []byte {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	return d.take(int(n))
}

// idBytes reads a UUID in its usual form, lower case.
func idBytes(id string) (out [16]byte, err error) {
	compact := strings.ReplaceAll(id, "-", "")
	if len(id) != 36 || len(compact) != 32 {
		return out, fmt.Errorf("release: %q is not a rule id", id)
	}
	if _, err := hex.Decode(out[:], []byte(compact)); err != nil {
		return out, fmt.Errorf("release: %q is not a rule id", id)
	}
	if idText(out) != id {
		return out, fmt.Errorf("release: %q is not a rule id in its usual form", id)
	}
	return out, nil
}

func idText(id [16]byte) string {
	s := hex.EncodeToString(id[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
