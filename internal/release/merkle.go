package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"tenet/internal/rule"
)

// Leaf is the hash of one thing that a snapshot holds.
type Leaf [sha256.Size]byte

// Prefixes keep leaves of different kinds, and leaves and inner nodes, from being mistaken for one another. Those of leaves
// in general and of inner nodes are those of RFC 6962, section 2.1.
const (
	leafPrefix  = 0
	innerPrefix = 1

	ruleLeaf         = "rule"
	relationshipLeaf = "relationship"
	nodeLeaf         = "node"
	weakeningLeaf    = "allow_weakening"
	ownRulesLeaf     = "own_rules_only"
)

// RuleLeaf is the hash of a rule in a snapshot: of what it says ([rule.Rule.ContentHash]), its slug and its status. Its id and
// version are left out, so that corpora that say the same have the same hash wherever they were made.
func RuleLeaf(contentHash, slug string, status rule.Status) Leaf {
	return leafOf(ruleLeaf, contentHash, slug, string(status))
}

// RelationshipLeaf is the hash of a relationship between two rules with the given leaves. One that may weaken has another than one
// that may not.
func RelationshipLeaf(rel *rule.Relationship, from, to Leaf) Leaf {
	parts := []string{relationshipLeaf, string(rel.Kind), string(from[:]), string(to[:])}
	if rel.AllowWeakening {
		parts = append(parts, weakeningLeaf)
	}
	return leafOf(parts...)
}

// NodeLeaf is the hash of a federation node: what it is, in a form without ids, and what is attached to it, in any order.
func NodeLeaf(node string, attached []string) Leaf {
	attached = slices.Sorted(slices.Values(attached))
	return leafOf(append([]string{nodeLeaf, node}, attached...)...)
}

// leafOf hashes parts, each after its length, so that no two lists of parts look alike.
func leafOf(parts ...string) Leaf {
	h := sha256.New()
	_, _ = h.Write([]byte{leafPrefix}) // a hash never fails
	for _, p := range parts {
		n := len(p)
		_, _ = h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		_, _ = h.Write([]byte(p))
	}
	return Leaf(h.Sum(nil))
}

// Root is the Merkle root, in hex, over leaves in the order of their bytes: equal sets of leaves have equal roots, however
// they came about. The tree is that of RFC 6962, section 2.1: the left half of a node is the largest power of two smaller than
// its size. The root of nothing is the SHA-256 of nothing.
func Root(leaves []Leaf) string {
	sorted := slices.Clone(leaves)
	slices.SortFunc(sorted, func(a, b Leaf) int { return bytes.Compare(a[:], b[:]) })
	if len(sorted) == 0 {
		empty := sha256.Sum256(nil)
		return hex.EncodeToString(empty[:])
	}
	root := fold(sorted)
	return hex.EncodeToString(root[:])
}

// fold joins neighbours level by level; an odd one at the end rises as it is, which gives the tree that [Root] describes.
func fold(level []Leaf) Leaf {
	var pair [1 + 2*sha256.Size]byte
	pair[0] = innerPrefix
	for len(level) > 1 {
		next := level[:0]
		for i := 0; i < len(level); i += 2 {
			if i+1 == len(level) {
				next = append(next, level[i])
				break
			}
			copy(pair[1:], level[i][:])
			copy(pair[1+sha256.Size:], level[i+1][:])
			next = append(next, sha256.Sum256(pair[:]))
		}
		level = next
	}
	return level[0]
}
