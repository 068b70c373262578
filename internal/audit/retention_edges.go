package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tenet/internal/store"
)

// PruneEdges is [Prune] for the entries that the edges of a project have shipped. The entry about the removal is in the project's own chain, and
// has the last entry of each edge.
func PruneEdges(ctx context.Context, s store.Updater, chains store.AuditReader, edges store.EdgeReader, p Pruning) (removed int, err error) {
	names, err := edges.Names(ctx, p.ProjectID)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	last, before, err := edgeRemovals(ctx, chains, &p)
	if err != nil {
		return 0, err
	}
	if removed, err = p.dropEdges(ctx, s, edges, from(before.Edges, last.Again), last.Edges); err != nil { // an earlier run may have been interrupted
		return removed, err
	}
	through := maps.Clone(last.Edges)
	if through == nil {
		through = map[string]int64{}
	}
	for _, name := range names {
		if through[name], err = p.old(ctx, edges, name, through[name]); err != nil {
			return removed, err
		}
		if through[name] == 0 {
			delete(through, name)
		}
	}
	again := len(last.Edges) > 0 && p.Lifts > last.Lifts
	if maps.Equal(through, last.Edges) && !again || len(through) == 0 {
		return removed, nil
	}
	body := JSON(Retention{Kind: p.Kind, Before: p.Before.UTC(), Lifts: p.Lifts, Again: again, Edges: through})
	err = s.Update(ctx, func(tx store.Tx) error {
		return Append(ctx, tx, p.ProjectID, Record{Kind: KindRetention, At: p.Now, Actor: "tenet", Body: body})
	})
	if err != nil {
		return removed, err
	}
	n, err := p.dropEdges(ctx, s, edges, from(last.Edges, again), through)
	return removed + n, err
}

// from returns the entries after which a removal begins: none if it begins again.
func from(edges map[string]int64, again bool) map[string]int64 {
	if again {
		return nil
	}
	return edges
}

// old returns the last entry of an edge, from one on, before which all were recorded before the time of the removal.
func (p *Pruning) old(ctx context.Context, edges store.EdgeReader, name string, after int64) (int64, error) {
	for {
		entries, err := edges.Entries(ctx, p.ProjectID, name, after, pruneBatch)
		if err != nil {
			return after, err
		}
		for i := range entries {
			if !entries[i].At.Before(p.Before) {
				return after, nil
			}
			after = entries[i].Seq
		}
		if len(entries) < pruneBatch {
			return after, nil
		}
	}
}

// dropEdges removes the bodies of the entries of edges after some, up to others, except those that are held.
func (p *Pruning) dropEdges(ctx context.Context, s store.Updater, edges store.EdgeReader, after, through map[string]int64) (total int, err error) {
	for _, name := range slices.Sorted(maps.Keys(through)) {
		for at := after[name]; at < through[name]; {
			entries, err := edges.Entries(ctx, p.ProjectID, name, at, pruneBatch)
			if err != nil {
				return total, err
			}
			if len(entries) == 0 {
				break
			}
			piece := min(through[name], entries[len(entries)-1].Seq)
			var held []int64
			if p.Held != nil {
				entries = slices.DeleteFunc(entries, func(e store.AuditEntry) bool { return e.Kind != p.Kind || e.Seq > piece || len(e.Body) == 0 })
				if held, err = p.Held(ctx, entries); err != nil {
					return total, err
				}
			}
			err = s.Update(ctx, func(tx store.Tx) error {
				if _, err := tx.Audit.Lock(ctx, p.ProjectID); err != nil {
					return err
				}
				if p.Confirm != nil {
					if err := p.Confirm(ctx, tx); err != nil {
						return err
					}
				}
				_, n, err := tx.Edges.DropBodies(ctx, p.ProjectID, name, p.Kind, at, piece, pruneBatch, held)
				total += n
				return err
			})
			if err != nil {
				return total, err
			}
			at = piece
		}
	}
	return total, nil
}

// edgeRemovals returns the last two removals of bodies of a kind that edges have shipped; zero without.
func edgeRemovals(ctx context.Context, r store.AuditReader, p *Pruning) (last, before Retention, err error) {
	const page = 20
	for found, offset := 0, 0; ; offset += page {
		list, _, err := r.Find(ctx, store.AuditFilter{ProjectID: p.ProjectID, Kind: KindRetention, Offset: offset, Limit: page})
		if err != nil {
			return last, before, err
		}
		for i := range list {
			body, err := Body(list[i])
			if err != nil {
				return last, before, err
			}
			var said Retention
			if err := json.Unmarshal(body, &said); err != nil {
				return last, before, fmt.Errorf("audit: entry %d of project %s: %w", list[i].Seq, p.ProjectID, err)
			}
			if said.Kind != p.Kind || said.Edges == nil {
				continue
			}
			if found++; found == 2 {
				return last, said, nil
			}
			last = said
		}
		if len(list) < page {
			return last, before, nil
		}
	}
}
