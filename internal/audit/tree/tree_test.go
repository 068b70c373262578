package tree_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit/tree"
)

// A front has the root of the tree that the library computes of all its hashes, at every size, and survives being stored.
func TestFrontAgreesWithTheWholeTree(t *testing.T) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		list := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			list[i] = stored[x]
		}
		return list, nil
	})
	var f tree.Front
	for n := range int64(1100) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil || f.Root() != want || f.Size() != n {
			t.Fatalf("size %d: root %v, want %v, %v", n, f.Root(), want, err)
		}
		if f, err = tree.ParseFront(n, f.String()); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(fmt.Append(nil, n))
		leaf, err := tree.Leaf(hex.EncodeToString(sum[:]))
		if err != nil || leaf != tlog.RecordHash(sum[:]) {
			t.Fatalf("leaf %v, %v", leaf, err)
		}
		more, err := tlog.StoredHashesForRecordHash(n, leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
		f.Append(leaf)
	}
}

func TestDamagedFrontsAreRefused(t *testing.T) {
	var f tree.Front
	for range 5 {
		f.Append(tree.Hash{1})
	}
	for name, test := range map[string]struct {
		size int64
		text string
	}{
		"another size": {4, f.String()}, "cut": {5, f.String()[:20]}, "not base64": {1, "!"}, "none": {3, ""}, "negative": {-1, ""},
	} {
		if _, err := tree.ParseFront(test.size, test.text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, hash := range []string{"", "zz", "00", hex.EncodeToString(make([]byte, 33))} {
		if _, err := tree.Leaf(hash); err == nil {
			t.Errorf("the hash %q was accepted", hash)
		}
	}
}
