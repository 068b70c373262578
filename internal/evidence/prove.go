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

// covering returns the checkpoint to prove an entry by.
func (b *Book) covering(ctx context.Context, e store.AuditEntry) (store.Checkpoint, error) {
	c, err := b.cfg.Log.logs.Checkpoint(ctx, e.ProjectID, e.Seq, true)
	if rule.CodeOf(err) == rule.CodeNotFound {
		c, err = b.cfg.Log.logs.Checkpoint(ctx, e.ProjectID, e.Seq, false)
	}
	return c, err
}
