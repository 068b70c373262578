package queue

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tenet/internal/wire"
)

// entry names an evaluation by its entry in the audit chain.
type entry struct {
	projectID string
	seq       int64
	pruned    bool // its record was removed
}

// described is the description of an evaluation, with its words as in [waiting].
type described struct {
	Description

	words string
}

// describePiece is how many records one query reads.
const describePiece = 64

// describe puts into rows of evaluations what these were about. It reads the records of those that are not kept yet, side by side. Records do not change,
// so a description holds until its record is removed.
func (q *Queue) describe(ctx context.Context, rows []row) error {
	unread := map[string][]int64{}
	for i := range rows {
		r := &rows[i]
		if r.item.Kind != wire.QueueEvaluation || r.item.Title != "" {
			continue
		}
		if d, ok := q.about.get(r.entry, 0); ok {
			r.describe(&d)
		} else {
			unread[r.entry.projectID] = append(unread[r.entry.projectID], r.entry.seq)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	var mu sync.Mutex
	found := map[string]map[int64]Description{}
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(readers)
	for projectID, seqs := range unread {
		into := make(map[int64]Description, len(seqs))
		found[projectID] = into
		for piece := range slices.Chunk(seqs, describePiece) {
			reading.Go(func() error {
				list, err := q.cfg.Describe(ctx, projectID, piece)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(into, list)
				return err
			})
		}
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if r.item.Kind != wire.QueueEvaluation || r.item.Title != "" {
			continue
		}
		d := described{Description: found[r.entry.projectID][r.entry.seq]}
		d.words = strings.ToLower(d.Title + " " + d.Detail)
		q.about.put(r.entry, 0, d, keptOverhead+2*len(d.words))
		r.describe(&d)
	}
	return nil
}

func (r *row) describe(d *described) {
	r.item.Title, r.item.Detail, r.words = d.Title, d.Detail, d.words
}
