// Package evidence makes the audit chains checkable by people who trust neither the operator nor the database. Each chain is a
// transparency log: a Merkle tree over its entries, whose signed checkpoints leave the machine and are cosigned by witnesses. Package
// audit/tree has the arithmetic, package checkpoint the signed notes.
package evidence

import (
	"context"
	"errors"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit/tree"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Log reads the Merkle trees over the audit chains. What no job has stored yet, it computes.
type Log struct{ logs store.LogReader }

// NewLog returns the trees of a database.
func NewLog(logs store.LogReader) *Log { return &Log{logs} }

// errMissing reports entries that are not in the database.
var errMissing = errors.New("evidence: entries of the chain are missing")

// Tile returns the first width hashes of a tile: level 0 has the leaves, each level above the roots of the full tiles below it. It is
// not_found beyond the end of the chain.
func (l *Log) Tile(ctx context.Context, projectID string, level int, n int64, width int) ([]byte, error) {
	if level < 0 || level >= 8 || n < 0 || n > 1<<54 || width < 1 || width > tree.Width {
		return nil, rule.Errorf(rule.CodeNotFound, "there is no such tile")
	}
	end, err := l.logs.End(ctx, projectID)
	if err != nil {
		return nil, err
	}
	if end.Seq>>(tree.Height*level) < n*tree.Width+int64(width) {
		return nil, rule.Errorf(rule.CodeNotFound, "the log has no tile of that width yet")
	}
	return l.tile(ctx, projectID, level, n, width)
}

// tile is [Log.Tile] for a tile that the chain has.
func (l *Log) tile(ctx context.Context, projectID string, level int, n int64, width int) ([]byte, error) {
	stored, err := l.logs.Tile(ctx, projectID, level, n)
	if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
		return nil, err
	}
	if size := width * tlog.HashSize; len(stored.Hashes) >= size {
		return stored.Hashes[:size], nil
	}
	if level == 0 {
		leaves, err := l.leaves(ctx, projectID, n*tree.Width, width)
		return tree.Bytes(leaves), err
	}
	hashes := tree.Hashes(stored.Hashes)
	for i := len(hashes); i < width; i++ {
		below, err := l.tile(ctx, projectID, level-1, n*tree.Width+int64(i), tree.Width)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, tree.RootOf(tree.Hashes(below)))
	}
	return tree.Bytes(hashes), nil
}

// leaves returns the leaves of count entries after an entry.
func (l *Log) leaves(ctx context.Context, projectID string, after int64, count int) ([]tree.Hash, error) {
	heads, err := l.logs.Leaves(ctx, projectID, after, count)
	if err != nil {
		return nil, err
	}
	return leavesOf(heads, after, count)
}

// leavesOf computes the leaves of entries, which must be count and follow an entry without gaps.
func leavesOf(heads []wire.AuditHead, after int64, count int) ([]tree.Hash, error) {
	list := make([]tree.Hash, 0, count)
	for i, h := range heads {
		if h.Seq != after+int64(i)+1 {
			return nil, errMissing
		}
		leaf, err := tree.Leaf(h.Hash)
		if err != nil {
			return nil, err
		}
		list = append(list, leaf)
	}
	if len(list) < count {
		return nil, errMissing
	}
	return list, nil
}

// Leaves returns the leaves of count entries after an entry; fewer at the end of the chain.
func (l *Log) Leaves(ctx context.Context, projectID string, after int64, count int) ([]tree.Hash, error) {
	return l.leaves(ctx, projectID, after, count)
}

// reader returns the hashes of a project's tree by their numbers in package tlog. It reads each tile once.
func (l *Log) reader(ctx context.Context, projectID string) tlog.HashReader {
	read := map[tlog.Tile][]byte{}
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		list := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			t := tlog.TileForIndex(tree.Height, index)
			data, ok := read[t]
			if !ok {
				var err error
				if data, err = l.tile(ctx, projectID, t.L, t.N, t.W); err != nil {
					return nil, err
				}
				read[t] = data
			}
			var err error
			if list[i], err = tlog.HashFromTile(t, data, index); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// Front returns the front of a project's tree at a size.
func (l *Log) Front(ctx context.Context, projectID string, size int64) (tree.Front, error) {
	var indexes []int64
	for done := int64(0); done < size; {
		level := bits.Len64(uint64(size-done)) - 1
		indexes = append(indexes, tlog.StoredHashIndex(level, done>>level))
		done += 1 << level
	}
	roots, err := l.reader(ctx, projectID).ReadHashes(indexes)
	if err != nil {
		return tree.Front{}, err
	}
	return tree.NewFront(size, roots)
}

// Bundle returns the records of the first width entries of a bundle of 256, each after its length in two bytes, as in C2SP tlog-tiles.
// It is not_found beyond the end of the chain.
func (l *Log) Bundle(ctx context.Context, projectID string, n int64, width int) ([]byte, error) {
	if n < 0 || n > 1<<54 || width < 1 || width > tree.Width {
		return nil, rule.Errorf(rule.CodeNotFound, "there is no such bundle")
	}
	heads, err := l.logs.Leaves(ctx, projectID, n*tree.Width, width)
	if err != nil {
		return nil, err
	}
	if len(heads) < width {
		return nil, rule.Errorf(rule.CodeNotFound, "the log has no bundle of that width yet")
	}
	bundle := make([]byte, 0, width*(2+tlog.HashSize))
	for _, h := range heads {
		record, err := tree.Record(h.Hash)
		if err != nil {
			return nil, err
		}
		bundle = append(append(bundle, 0, tlog.HashSize), record...)
	}
	return bundle, nil
}
