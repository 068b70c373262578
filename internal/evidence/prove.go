package evidence

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/evidence/attest"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Prove returns a proof that an entry is in the log of its project: by the newest checkpoint that the quorum of witnesses has cosigned, or
// else by the newest one. If none has the entry yet, one is made. It is unavailable where none can be made, and a conflict if the entry is
// not the one that was signed.
func (b *Book) Prove(ctx context.Context, e store.AuditEntry) (checkpoint.Proof, error) {
	c, err := b.covering(ctx, e)
	if rule.CodeOf(err) == rule.CodeNotFound && b.Signs() {
		if err := b.Seal(ctx, e.ProjectID); err != nil {
			return checkpoint.Proof{}, err
		}
		c, err = b.covering(ctx, e)
	}
	if rule.CodeOf(err) == rule.CodeNotFound {
		err = rule.Errorf(rule.CodeUnavailable, "no checkpoint has this entry yet; a server makes them, if audit_folder is set or the database is embedded")
	}
	if err != nil {
		return checkpoint.Proof{}, err
	}
	signed, err := checkpoint.Parse(c.Note)
	if err != nil {
		return checkpoint.Proof{}, err
	}
	leaf, err := tree.Leaf(e.Hash)
	if err != nil {
		return checkpoint.Proof{}, err
	}
	hashes, err := tlog.ProveRecord(signed.Size, e.Seq-1, b.cfg.Log.reader(ctx, e.ProjectID))
	if err != nil || tlog.CheckRecord(hashes, signed.Size, signed.Root, e.Seq-1, leaf) != nil {
		return checkpoint.Proof{}, rule.Errorf(rule.CodeConflict, "entry %d is not the one that was signed, so nothing proves it; run tenet audit verify", e.Seq)
	}
	return attest.New(e, hashes, c.Note)
}

// Newest returns the checkpoint to prove all entries by that a project has now: the newest that the quorum of witnesses has cosigned, or else the newest one. With a
// size it returns that of so many entries. The error is unavailable where none can be made.
func (b *Book) Newest(ctx context.Context, projectID string, size int64) (store.Checkpoint, error) {
	if size > 0 {
		return b.cfg.Log.logs.CheckpointOf(ctx, projectID, size)
	}
	if b.Signs() {
		if err := b.Seal(ctx, projectID); err != nil {
			return store.Checkpoint{}, err
		}
	}
	c, err := b.cfg.Log.logs.Checkpoint(ctx, projectID, 0, true)
	if rule.CodeOf(err) == rule.CodeNotFound {
		c, err = b.cfg.Log.logs.Checkpoint(ctx, projectID, 0, false)
	}
	if rule.CodeOf(err) == rule.CodeNotFound {
		err = rule.Errorf(rule.CodeUnavailable, "the audit log has no checkpoint yet; a server makes them, if audit_folder is set or the database is embedded")
	}
	return c, err
}

// covering returns the checkpoint to prove an entry by.
func (b *Book) covering(ctx context.Context, e store.AuditEntry) (store.Checkpoint, error) {
	c, err := b.cfg.Log.logs.Checkpoint(ctx, e.ProjectID, e.Seq, true)
	if rule.CodeOf(err) == rule.CodeNotFound {
		c, err = b.cfg.Log.logs.Checkpoint(ctx, e.ProjectID, e.Seq, false)
	}
	return c, err
}
