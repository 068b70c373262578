package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Compare compares the entries of a project, one by one, with checkpoints of its log, and reports the first that they differ from: what is
// before the checkpoint that still fits is as it was. It trusts no stored tile.
func (l *Log) Compare(ctx context.Context, projectID string, list []checkpoint.Checkpoint) (*wire.AuditComparison, error) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b checkpoint.Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
	out := &wire.AuditComparison{ProjectID: projectID, Problems: []wire.AuditProblem{}}
	problem := func(seq int64, format string, args ...any) {
		out.Problems = append(out.Problems, wire.AuditProblem{Seq: seq, Message: fmt.Sprintf(format, args...)})
	}
	end, err := l.logs.End(ctx, projectID)
	if rule.CodeOf(err) == rule.CodeNotFound {
		problem(1, "the project is not in the database: the %d entries of its last checkpoint are missing", list[len(list)-1].Size)
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Size = end.Seq
	var front tree.Front
	for i, c := range list {
		if i > 0 && c.Size == list[i-1].Size && c.Root != list[i-1].Root {
			problem(c.Size, "two histories of %d entries were signed: the checkpoints themselves prove it", c.Size)
			return out, nil
		}
		from := front.Size()
		err := l.grow(ctx, projectID, &front, c.Size)
		switch {
		case errors.Is(err, errMissing):
			problem(front.Size()+1, "the chain has %d entries, and the checkpoint %d: entries were removed, or an older backup was restored", front.Size(), c.Size)
			return out, nil
		case err != nil:
			return nil, err
		case front.Root() != c.Root:
			problem(from+1, "entries %d to %d are not those of the checkpoint of %d entries: one of them was changed, removed, inserted or moved, and the chain recomputed", from+1, c.Size, c.Size)
			return out, nil
		}
		out.Compared, out.Through = out.Compared+1, c.Size
	}
	return out, nil
}

// grow appends the leaves of entries to a front until it has a size.
func (l *Log) grow(ctx context.Context, projectID string, front *tree.Front, size int64) error {
	for front.Size() < size {
		want := int(min(leafPage, size-front.Size()))
		heads, err := l.logs.Leaves(ctx, projectID, front.Size(), want)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if h.Seq != front.Size()+1 {
				return errMissing
			}
			leaf, err := tree.Leaf(h.Hash)
			if err != nil {
				return errMissing // what is stored is no hash
			}
			front.Append(leaf)
		}
		if len(heads) < want {
			return errMissing
		}
	}
	return nil
}
