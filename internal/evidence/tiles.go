package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tenet/internal/audit/tree"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// TileKind is the kind of the jobs that store tiles, and TileEvery is how often they run.
const (
	TileKind  = "audit.tiles"
	TileEvery = 15 * time.Second
)

// tileBatch is how many tiles of level 0 one transaction stores: 512 KiB.
const tileBatch = 64

// Tiler stores the tiles of the trees, and makes the trees of chains of older versions.
type Tiler struct {
	log *Log
	db  store.Updater
}

// NewTiler returns a Tiler that writes to db what log computes.
func NewTiler(log *Log, db store.Updater) *Tiler { return &Tiler{log, db} }

// Periodic returns the rounds of the jobs.
func (t *Tiler) Periodic() job.Periodic {
	return job.Periodic{Kind: TileKind, Every: TileEvery, Priority: job.Last}
}

// Handle is the handler of the jobs. A fault in one project does not stop the others. A job that was ended continues where it stopped.
func (t *Tiler) Handle(ctx context.Context, _ wire.Job, progress func(done, total int)) error {
	ends, err := t.log.logs.Ends(ctx)
	if err != nil {
		return err
	}
	tiled, err := t.log.logs.Tiled(ctx)
	if err != nil {
		return err
	}
	done, total := 0, 0
	for id, end := range ends {
		total += int(end.Seq/tree.Width - tiled[id])
	}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		err := t.store(ctx, id, tiled[id], ends[id].Seq/tree.Width, func(n int) {
			done += n
			progress(done, total)
		})
		if _, damage := tree.ParseFront(ends[id].Seq, ends[id].Tree); err == nil && damage != nil {
			err = t.complete(ctx, id)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("evidence: tree of project %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// store stores the full tiles of level 0 from one number up to another, with the tiles above them.
func (t *Tiler) store(ctx context.Context, projectID string, from, until int64, stored func(int)) error {
	for from < until {
		n := min(until-from, tileBatch)
		leaves, err := t.log.leaves(ctx, projectID, from*tree.Width, int(n)*tree.Width)
		if err != nil {
			return err
		}
		var tiles []store.Tile
		var roots []tree.Hash
		for i := range n {
			tile := leaves[i*tree.Width : (i+1)*tree.Width]
			tiles = append(tiles, store.Tile{N: from + i, Hashes: tree.Bytes(tile)})
			roots = append(roots, tree.RootOf(tile))
		}
		above, err := t.above(ctx, projectID, 1, from, roots)
		if err != nil {
			return err
		}
		err = t.db.Update(ctx, func(tx store.Tx) error { return tx.Logs.PutTiles(ctx, projectID, append(tiles, above...)) })
		if err != nil {
			return err
		}
		from += n
		stored(int(n))
	}
	return nil
}

// above returns the tiles of a level, and of those above it, that get new hashes from a number on.
func (t *Tiler) above(ctx context.Context, projectID string, level int, from int64, hashes []tree.Hash) ([]store.Tile, error) {
	var tiles []store.Tile
	var roots []tree.Hash
	first := from / tree.Width
	for n := first; len(hashes) > 0; n++ {
		var tile []tree.Hash
		if begun := int(from % tree.Width); n == first && begun > 0 {
			before, err := t.log.tile(ctx, projectID, level, n, begun)
			if err != nil {
				return nil, err
			}
			tile = tree.Hashes(before)
		}
		fits := min(tree.Width-len(tile), len(hashes))
		tile, hashes = append(tile, hashes[:fits]...), hashes[fits:]
		tiles = append(tiles, store.Tile{Level: level, N: n, Hashes: tree.Bytes(tile)})
		if len(tile) == tree.Width {
			roots = append(roots, tree.RootOf(tile))
		}
	}
	if len(roots) == 0 {
		return tiles, nil
	}
	more, err := t.above(ctx, projectID, level+1, first, roots)
	return append(tiles, more...), err
}

// complete makes the tree of a chain that has none. The tiles are there, so that it holds up the chain for a moment only.
func (t *Tiler) complete(ctx context.Context, projectID string) error {
	return t.db.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Audit.Lock(ctx, projectID); err != nil {
			return err
		}
		end, err := tx.Logs.End(ctx, projectID)
		if err != nil {
			return err
		}
		if _, err := tree.ParseFront(end.Seq, end.Tree); err == nil {
			return nil // another node has made it
		}
		front, err := NewLog(tx.Logs).Front(ctx, projectID, end.Seq)
		if errors.Is(err, errMissing) {
			return rule.Errorf(rule.CodeConflict, "entries of the chain are missing; run tenet audit verify")
		}
		if err != nil {
			return err
		}
		end.Tree = front.String()
		return tx.Logs.SetTree(ctx, projectID, end)
	})
}
