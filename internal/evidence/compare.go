package evidence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// wayOut names the remedies for a history that does not continue its last checkpoint.
const wayOut = "restore a backup that has all entries of the checkpoint, and start the server again. Where there is none, keep the checkpoint as evidence: move it out of audit_folder, " +
	"and give the logs a new name with audit_origin, since nobody accepts another history under the old one"

// compare compares the log of a project, as it is now, with its last checkpoint. problem is set if it does not continue it.
func (b *Book) compare(ctx context.Context, projectID string, now checkpoint.Checkpoint) (problem, err error) {
	last, ok := b.last[projectID]
	if !ok {
		return nil, nil
	}
	switch {
	case now.Size < last.Size:
		return broken(projectID, "it has %d entries, its last checkpoint has %d", now.Size, last.Size), nil
	case now.Size == last.Size && now.Root != last.Root:
		return broken(projectID, "its %d entries are not those of its last checkpoint", now.Size), nil
	case now.Size == last.Size:
		return nil, nil
	}
	proof, err := tlog.ProveTree(now.Size, last.Size, b.cfg.Log.reader(ctx, projectID))
	if errors.Is(err, errMissing) {
		return broken(projectID, "entries up to %d are missing", now.Size), nil
	}
	if err != nil {
		return nil, err
	}
	if tlog.CheckTree(proof, now.Size, now.Root, last.Size, last.Root) != nil {
		return broken(projectID, "its first %d entries are not those of its last checkpoint", last.Size), nil
	}
	return nil, nil
}

// broken is the problem of a log whose history was changed.
func broken(projectID, format string, args ...any) error {
	return rule.Errorf(rule.CodeUnavailable, "the audit log of project %s is not what was signed: %s. %s", projectID, fmt.Sprintf(format, args...), wayOut)
}

// note keeps a problem of a project's log until the server starts again, and logs it.
func (b *Book) note(ctx context.Context, projectID string, problem error) {
	b.state.Lock()
	before := b.problems[projectID]
	b.problems[projectID] = problem
	b.state.Unlock()
	if before == nil {
		b.cfg.Logger.ErrorContext(ctx, "evaluations are refused: history was changed", slog.String("project", projectID), slog.Any("error", problem))
	}
}

// Problem returns unavailable if the log of a project does not continue its last checkpoint, with the way out; else nil.
func (b *Book) Problem(projectID string) error {
	b.state.RLock()
	defer b.state.RUnlock()
	return b.problems[projectID]
}

// Compare compares all logs with their last checkpoints, also those of projects that are no longer in the database. It fails only if the
// database cannot be read; what it finds is in [Book.Problem].
func (b *Book) Compare(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	ends, err := b.cfg.Log.logs.Ends(ctx)
	if err != nil {
		return err
	}
	var short []string
	for _, id := range slices.Sorted(maps.Keys(b.last)) {
		if ends[id].Seq < tree.Width && b.last[id].Size < tree.Width {
			short = append(short, id)
			continue
		}
		if _, err := b.next(ctx, id); err != nil && b.Problem(id) == nil {
			return err
		}
	}
	if err := compareShort(ctx, b, short, ends); err != nil {
		return err
	}
	return b.compareEntries(ctx, tree.Width-1, quickSize)
}

// compareShort is [Book.next] and [Book.compareEntries] of logs that have no tiles, many in one query: a node may have thousands of them. ends were
// read before. Their checkpoints have no more entries than a log with tiles, so that one page has all.
func compareShort(ctx context.Context, b *Book, projects []string, ends map[string]store.AuditEnd) error {
	for part := range slices.Chunk(projects, shortLogs) {
		first, err := b.cfg.Log.logs.FirstLeaves(ctx, part, tree.Width)
		if err != nil {
			return err
		}
		for _, id := range part {
			problem, err := compareLeaves(b, id, ends[id], first[id])
			if err != nil {
				return err
			}
			if problem != nil {
				b.note(ctx, id, problem)
			}
		}
	}
	return nil
}

// shortLogs is how many logs without tiles one query reads.
const shortLogs = 500

// compareLeaves compares a log of which all entries were read with its end and with its last checkpoint.
func compareLeaves(b *Book, projectID string, end store.AuditEnd, heads []wire.AuditHead) (problem, err error) {
	last := b.last[projectID]
	if end.Seq < last.Size {
		return broken(projectID, "it has %d entries, its last checkpoint has %d", end.Seq, last.Size), nil
	}
	heads = heads[:min(int64(len(heads)), end.Seq)] // others may have been added since
	leaves, err := leavesOf(heads, 0, int(end.Seq))
	if errors.Is(err, errMissing) {
		return broken(projectID, "entries up to %d are missing", end.Seq), nil
	}
	if err != nil {
		return nil, err
	}
	var front tree.Front
	for _, leaf := range leaves[:last.Size] {
		front.Append(leaf)
	}
	if front.Root() != last.Root {
		return broken(projectID, "its first %d entries are not those of its last checkpoint", last.Size), nil
	}
	for _, leaf := range leaves[last.Size:] {
		front.Append(leaf)
	}
	if kept, err := tree.ParseFront(end.Seq, end.Tree); err == nil && kept.Root() != front.Root() {
		return broken(projectID, "its %d entries are not those that were recorded", end.Seq), nil
	}
	return nil, nil
}

// quickSize is up to how many entries a start compares one by one. It takes about a tenth of a second; longer logs follow in the
// background.
const quickSize = 20_000

// leafPage is how many entries one query reads.
const leafPage = 10_000

// compareEntries compares the entries themselves with the last checkpoints, of logs with more than one number of entries and up to
// another. The stored tiles, by which others compare, are only copies.
func (b *Book) compareEntries(ctx context.Context, above, upTo int64) error {
	for _, id := range slices.Sorted(maps.Keys(b.last)) {
		last := b.last[id]
		if last.Size <= above || last.Size > upTo || b.Problem(id) != nil {
			continue
		}
		var front tree.Front
		for front.Size() < last.Size {
			leaves, err := b.cfg.Log.leaves(ctx, id, front.Size(), int(min(leafPage, last.Size-front.Size())))
			if errors.Is(err, errMissing) {
				b.note(ctx, id, broken(id, "entries after %d are missing", front.Size()))
				break
			}
			if err != nil {
				return err
			}
			for _, leaf := range leaves {
				front.Append(leaf)
			}
		}
		if front.Size() == last.Size && front.Root() != last.Root {
			b.note(ctx, id, broken(id, "its first %d entries are not those of its last checkpoint", last.Size))
		}
	}
	return nil
}
