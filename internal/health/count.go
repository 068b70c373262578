package health

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	// countBatch is how many entries of a chain one transaction counts, and countPiece how many of them one query reads: their
	// bodies can be large.
	countBatch = 1000
	countPiece = 25
	// rest is how many times as long as a piece has taken (about 2 ms) the counting in the background pauses after it, so that it
	// takes at most an eighth of one processor from evaluations, in short slices. More than farBehind entries behind, it pauses
	// shortRest times as long.
	rest      = 7
	shortRest = 1
	farBehind = 100_000
	// promptly is how many entries at most are counted before an answer while jobs count, too. patience is how long an answer may
	// count while none do.
	promptly = 500
	patience = 20 * time.Second
)

// CatchUp counts everything that a project has recorded so far, however long that takes. Several callers and nodes may do so at
// once: each entry is counted once.
func (m *Monitor) CatchUp(ctx context.Context, projectID string) error {
	head, err := m.cfg.Store.Audit.Head(ctx, projectID)
	if err != nil {
		return err
	}
	mark, err := m.cfg.Store.Counts.Mark(ctx, projectID)
	if err != nil {
		return err
	}
	for seq, pause := mark.Seq, 0; seq < head.Seq; {
		if pause = rest; head.Seq-seq > farBehind {
			pause = shortRest
		}
		next, err := m.countSome(ctx, projectID, pause)
		if err != nil {
			return err
		}
		if next == seq {
			return fmt.Errorf("health: the audit chain of project %s lacks the entries after %d", projectID, seq)
		}
		seq = next
	}
	for left := mark.Unfilled() > 0; left; {
		if left, err = m.fillSome(ctx, projectID, rest); err != nil {
			return err
		}
	}
	return nil
}

// fillSome counts the groups of the next entries that an earlier version has counted without, and reports whether any are left.
func (m *Monitor) fillSome(ctx context.Context, projectID string, pause int) (left bool, err error) {
	mark, err := m.cfg.Store.Counts.Mark(ctx, projectID)
	if err != nil || mark.Unfilled() == 0 {
		return false, err
	}
	if mark.Unfilled() > farBehind {
		pause = min(pause, shortRest)
	}
	counts, err := m.tally(ctx, projectID, mark.Filled, mark.FillUntil, pause)
	if err != nil {
		return false, err
	}
	counts.Fill = true
	if mark.FillActors {
		onlyActors(&counts)
	}
	if counts.Mark.Seq == mark.Filled { // a damaged chain may lack entries
		counts.Mark.Seq = mark.FillUntil
	}
	err = m.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Counts.Add(ctx, counts) })
	if rule.CodeOf(err) == rule.CodeConflict {
		err = nil // another node has counted them
	}
	return counts.Mark.Seq < mark.FillUntil, err
}

// bringUp counts the entries that are not counted yet, if they are few or no job counts them, and returns how many are left.
func (m *Monitor) bringUp(ctx context.Context, projectID string) (left int64, mark store.CountMark, err error) {
	head, err := m.cfg.Store.Audit.Head(ctx, projectID)
	if err != nil {
		return 0, mark, err
	}
	if mark, err = m.cfg.Store.Counts.Mark(ctx, projectID); err != nil {
		return 0, mark, err
	}
	if alone := m.alone(); alone || head.Seq-mark.Seq <= promptly {
		began := time.Now()
		for seq, before := mark.Seq, int64(-1); seq < head.Seq && seq != before; { // a damaged chain may lack entries
			if alone && time.Since(began) > patience {
				break
			}
			before = seq
			if seq, err = m.countSome(ctx, projectID, 0); err != nil {
				return 0, mark, err
			}
		}
		for more := mark.Unfilled() > 0 && alone; more && time.Since(began) <= patience; {
			if more, err = m.fillSome(ctx, projectID, 0); err != nil {
				return 0, mark, err
			}
		}
		if mark, err = m.cfg.Store.Counts.Mark(ctx, projectID); err != nil {
			return 0, mark, err
		}
	}
	return max(head.Seq-mark.Seq, 0), mark, nil
}

// countSome counts the next entries of a chain and returns the sequence number of the last one counted. pause is as [rest]; 0
// does not pause.
func (m *Monitor) countSome(ctx context.Context, projectID string, pause int) (int64, error) {
	mark, err := m.cfg.Store.Counts.Mark(ctx, projectID)
	if err != nil {
		return 0, err
	}
	// The slow part comes before the transaction, because others wait for that.
	counts, err := m.tally(ctx, projectID, mark.Seq, math.MaxInt64, pause)
	if err != nil || counts.Mark.Seq == mark.Seq {
		return mark.Seq, err
	}
	var acted map[string][]rule.ActedBy
	if !m.cfg.Off && len(counts.Rules) > 0 {
		if acted, err = m.conditions.rising(ctx, projectID, counts.Rules); err != nil {
			return mark.Seq, err
		}
	}
	err = m.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if err := tx.Counts.Add(ctx, counts); err != nil {
			return err
		}
		if m.cfg.Off || len(counts.Rules) == 0 {
			return nil
		}
		return m.conditions.counted(ctx, tx, projectID, ruleIDs(counts.Rules), acted)
	})
	if rule.CodeOf(err) == rule.CodeConflict {
		now, readErr := m.cfg.Store.Counts.Mark(ctx, projectID)
		if readErr != nil || now.Seq != mark.Seq {
			return now.Seq, readErr // another node has counted them
		}
	}
	return counts.Mark.Seq, err
}

// tally reads and counts the entries of a batch, none beyond through.
func (m *Monitor) tally(ctx context.Context, projectID string, from, through int64, pause int) (store.Counts, error) {
	c := store.Counts{ProjectID: projectID, From: from, Mark: store.CountMark{Seq: from}}
	s := newSums()
	s.team = m.teams(ctx, projectID)
	for c.Mark.Seq < from+countBatch {
		began := time.Now()
		entries, err := m.cfg.Store.Audit.Entries(ctx, projectID, c.Mark.Seq, countPiece)
		if err != nil {
			return c, err
		}
		last := len(entries) < countPiece
		if end := slices.IndexFunc(entries, func(e store.AuditEntry) bool { return e.Seq > through }); end >= 0 {
			entries, last = entries[:end], true
		}
		blind := s.tally(entries, func(id string, err error) {
			m.cfg.Logger.WarnContext(ctx, "a record cannot be read, so only its overall verdict is counted", slog.String("project", projectID),
				slog.String("evaluation", id), slog.Any("error", err))
		})
		if blind != nil {
			c.Mark.BlindUntil = blind
		}
		if n := len(entries); n > 0 {
			c.Mark.Seq, c.Mark.At = entries[n-1].Seq, entries[n-1].At
		}
		if last {
			break
		}
		if pause == 0 {
			continue
		}
		select {
		case <-time.After(time.Duration(pause) * time.Since(began)):
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
	s.into(&c)
	return c, nil
}

// teams returns the owners of the rules of a project as they are now; nil if the rules cannot be read, which holds no counting up.
func (m *Monitor) teams(ctx context.Context, projectID string) func(ruleID string) string {
	view, err := m.cfg.Views.View(ctx, projectID)
	if err != nil {
		m.cfg.Logger.WarnContext(ctx, "the rules of a project cannot be read, so verdicts are counted without their teams",
			slog.String("project", projectID), slog.Any("error", err))
		return nil
	}
	return func(ruleID string) string {
		if e, ok := view.Get(ruleID); ok {
			return e.Rule.Owner
		}
		return ""
	}
}

func ruleIDs(counts []store.RuleCount) []string {
	var ids []string
	seen := map[string]bool{}
	for i := range counts {
		if id := counts[i].RuleID; !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}
