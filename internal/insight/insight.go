// Package insight tells how a corpus fares: what was judged and how, counted once from the audit chain into rows by rule and
// day, and how healthy each rule is. docs/health.md says how scores are made.
package insight

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Views gives the corpus view of a project.
type Views interface {
	View(ctx context.Context, projectID string) (*corpus.View, error)
}

// Config sets up [New]. Store and Views are required.
type Config struct {
	Store store.Store
	Views Views
	// Counted is told, in the transaction that counts them, which rules have had verdicts; nil means nobody listens.
	Counted func(ctx context.Context, tx store.Tx, projectID string, ruleIDs []string) error
	// Alone reports whether nobody counts in the background, so that an answer counts all there is; nil means that somebody does.
	Alone func() bool
	// DormantAfter is how long a rule may go without a verdict; 0 means 90 days.
	DormantAfter time.Duration
	// Now is the clock; nil means time.Now.
	Now    func() time.Time
	Logger *slog.Logger // nil logs nothing
}

// Insights counts evaluations and measures rules. It is safe for concurrent use.
type Insights struct{ cfg Config }

// New makes Insights.
func New(cfg Config) *Insights {
	if cfg.DormantAfter <= 0 {
		cfg.DormantAfter = 90 * 24 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Insights{cfg}
}

const (
	// batch is how many entries of a chain are counted in one transaction, and piece how many of them are read at once: their
	// bodies can be large.
	batch = 1000
	piece = 25
	// rest is how many times as long as a piece has taken (about 2 ms) the counting pauses after it in the background, so that it
	// takes an eighth of one processor at most from evaluations, and never for long. More than farBehind entries behind, it pauses
	// for shortRest times as long.
	rest      = 7
	shortRest = 1
	farBehind = 100_000
	// promptly is how many entries at most are counted before an answer, if others count, too. patience is for how long they are
	// counted if nobody does.
	promptly = 2000
	patience = 20 * time.Second
)

// CatchUp counts all that a project has recorded so far, however long that takes. Several may do so at once, on several nodes: each
// entry is counted once.
func (n *Insights) CatchUp(ctx context.Context, projectID string) error {
	head, err := n.cfg.Store.AuditHead(ctx, projectID)
	if err != nil {
		return err
	}
	mark, err := n.cfg.Store.CountMark(ctx, projectID)
	if err != nil {
		return err
	}
	for seq, pause := mark.Seq, 0; seq < head.Seq; {
		if pause = rest; head.Seq-seq > farBehind {
			pause = shortRest
		}
		next, err := n.countSome(ctx, projectID, pause)
		if err != nil {
			return err
		}
		if next == seq {
			return fmt.Errorf("insight: the audit chain of project %s lacks the entries after %d", projectID, seq)
		}
		seq = next
	}
	return nil
}

// bringUp counts what little is not counted yet, or all if nobody else does, and returns how many entries are left.
func (n *Insights) bringUp(ctx context.Context, projectID string) (left int64, mark store.CountMark, err error) {
	head, err := n.cfg.Store.AuditHead(ctx, projectID)
	if err != nil {
		return 0, mark, err
	}
	if mark, err = n.cfg.Store.CountMark(ctx, projectID); err != nil {
		return 0, mark, err
	}
	if alone := n.cfg.Alone != nil && n.cfg.Alone(); alone || head.Seq-mark.Seq <= promptly {
		began := time.Now()
		for seq, before := mark.Seq, int64(-1); seq < head.Seq && seq != before; { // a damaged chain may lack entries
			if alone && time.Since(began) > patience {
				break
			}
			before = seq
			if seq, err = n.countSome(ctx, projectID, 0); err != nil {
				return 0, mark, err
			}
		}
		if mark, err = n.cfg.Store.CountMark(ctx, projectID); err != nil {
			return 0, mark, err
		}
	}
	return max(head.Seq-mark.Seq, 0), mark, nil
}

// countSome counts the next entries of a chain and returns how far it has been counted then. pause is as [rest], 0
// for none.
func (n *Insights) countSome(ctx context.Context, projectID string, pause int) (int64, error) {
	mark, err := n.cfg.Store.CountMark(ctx, projectID)
	if err != nil {
		return 0, err
	}
	// All that costs time is done before the transaction, which others wait for.
	counts, err := n.tally(ctx, projectID, mark.Seq, pause)
	if err != nil || counts.Mark.Seq == mark.Seq {
		return mark.Seq, err
	}
	err = n.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if err := tx.AddCounts(ctx, counts); err != nil {
			return err
		}
		if n.cfg.Counted == nil || len(counts.Rules) == 0 {
			return nil
		}
		return n.cfg.Counted(ctx, tx, projectID, ruleIDs(counts.Rules))
	})
	if rule.CodeOf(err) == rule.CodeConflict {
		now, readErr := n.cfg.Store.CountMark(ctx, projectID)
		if readErr != nil || now.Seq != mark.Seq {
			return now.Seq, readErr // another has counted them
		}
	}
	return counts.Mark.Seq, err
}

// tally reads and counts the entries of a batch.
func (n *Insights) tally(ctx context.Context, projectID string, from int64, pause int) (store.Counts, error) {
	c := store.Counts{ProjectID: projectID, From: from, Mark: store.CountMark{Seq: from}}
	s := newSums()
	for c.Mark.Seq < from+batch {
		began := time.Now()
		entries, err := n.cfg.Store.AuditEntries(ctx, projectID, c.Mark.Seq, piece)
		if err != nil {
			return c, err
		}
		blind := s.tally(entries, func(id string, err error) {
			n.cfg.Logger.WarnContext(ctx, "a record cannot be read, so only its overall verdict is counted", slog.String("project", projectID),
				slog.String("evaluation", id), slog.Any("error", err))
		})
		if blind != nil {
			c.Mark.BlindUntil = blind
		}
		if len(entries) > 0 {
			last := &entries[len(entries)-1]
			c.Mark.Seq, c.Mark.At = last.Seq, last.At
		}
		if len(entries) < piece {
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

// countAll counts what all projects have recorded. One project's fault does not keep others from it.
func (n *Insights) countAll(ctx context.Context, progress func(done, total int)) error {
	behind, err := n.cfg.Store.Uncounted(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, 0, len(behind))
	for i, u := range behind {
		errs = append(errs, n.CatchUp(ctx, u.ProjectID))
		progress(i+1, len(behind))
	}
	return errors.Join(errs...)
}
