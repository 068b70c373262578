package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// maxProblems bounds a report.
const maxProblems = 100

// verifyPage is how many entries are read at once.
const verifyPage = 500

// Verify walks a project's chain from its start to its head and reports every edit, deletion, insertion and reordering.
// expect, if not zero, is a head that was noted earlier: the chain must still have it, which finds a chain that was cut or
// rewritten as a whole.
func Verify(ctx context.Context, r store.AuditReader, projectID string, expect wire.AuditHead) (*wire.AuditReport, error) {
	return VerifyPart(ctx, r, projectID, wire.AuditHead{}, expect, 0)
}

// VerifyPart is [Verify] for the entries after an entry up to which the chain was verified before, at most about limit of them; all if
// limit is 0. If it ends before the head, the report says where to go on. An expected head must be behind the verified part, or its end.
func VerifyPart(ctx context.Context, r store.AuditReader, projectID string, verified, expect wire.AuditHead, limit int) (*wire.AuditReport, error) {
	head, err := r.Head(ctx, projectID)
	if err != nil {
		return nil, err
	}
	report := &wire.AuditReport{ProjectID: projectID, Head: head, Problems: []wire.AuditProblem{}}
	through := map[string]int64{} // by kind
	for _, kind := range PrunedKinds {
		if last, err := lastRemoval(ctx, r, projectID, kind); err == nil { // else the walk reports the fault of the entry
			through[kind] = last.through
		}
	}
	last := verified
	begin := int64(math.MinInt64)
	if verified != (wire.AuditHead{}) {
		begin = verified.Seq
		if err := checkStart(ctx, r, report, verified); err != nil {
			return nil, err
		}
	}
	expected := expect == wire.AuditHead{} || expect == verified
	lost := func(end bool) {
		if !expected && (end || expect.Seq <= last.Seq) {
			addProblem(report, expect.Seq, "", "entry %d with the expected hash %s is not in the chain", expect.Seq, short(expect.Hash))
		}
	}
	reached := head == last
	for after := begin; ; after = last.Seq {
		if limit > 0 && report.Entries >= int64(limit) && last.Seq < head.Seq && len(report.Problems) < maxProblems {
			lost(false)
			report.Next = &wire.AuditHead{Seq: last.Seq, Hash: last.Hash}
			return report, nil
		}
		entries, err := r.Entries(ctx, projectID, after, verifyPage)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			checkEntry(report, last, e, through)
			last = wire.AuditHead{Seq: e.Seq, Hash: e.Hash}
			expected = expected || last == expect
			reached = reached || last == head
			report.Entries++
		}
		if len(entries) < verifyPage || len(report.Problems) >= maxProblems {
			break
		}
	}
	// Entries may have been appended since the head was read, but never beyond the head as it is now.
	now, err := r.Head(ctx, projectID)
	if err != nil {
		return nil, err
	}
	if !reached || last.Seq > now.Seq {
		addProblem(report, last.Seq, "", "the chain ends at entry %d (%s), but its head is entry %d (%s)",
			last.Seq, short(last.Hash), head.Seq, short(head.Hash))
	}
	lost(true)
	return report, nil
}

// checkStart looks whether the chain has the entry that the caller has verified before.
func checkStart(ctx context.Context, r store.AuditReader, report *wire.AuditReport, verified wire.AuditHead) error {
	list, err := r.Entries(ctx, report.ProjectID, verified.Seq-1, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Seq != verified.Seq || list[0].Hash != verified.Hash {
		addProblem(report, verified.Seq, "", "entry %d with the hash %s, up to which the chain was verified, is not in the chain", verified.Seq, short(verified.Hash))
	}
	return nil
}

// checkEntry looks at one entry. Bodies of a kind up to its entry in through may have been removed.
func checkEntry(r *wire.AuditReport, last wire.AuditHead, e store.AuditEntry, through map[string]int64) {
	if e.Seq != last.Seq+1 {
		addProblem(r, e.Seq, e.ID, "entries %d to %d are missing", last.Seq+1, e.Seq-1)
	}
	if e.PrevHash != last.Hash {
		addProblem(r, e.Seq, e.ID, "does not follow the entry before it: it names %s, that has %s", short(e.PrevHash), short(last.Hash))
	}
	if Hash(e) != e.Hash {
		addProblem(r, e.Seq, e.ID, "was changed: its hash does not fit its fields")
	}
	if len(e.Body) == 0 && e.Seq <= through[e.Kind] {
		r.Pruned++
		return
	}
	sum := sha256.Sum256(e.Body)
	if hex.EncodeToString(sum[:]) != e.BodyHash {
		addProblem(r, e.Seq, e.ID, "was changed: its body does not have the recorded hash")
		return
	}
	body, err := Body(e)
	if err != nil {
		addProblem(r, e.Seq, e.ID, "its body cannot be read: %v", err)
		return
	}
	if !json.Valid(body) {
		addProblem(r, e.Seq, e.ID, "its body is not JSON")
	}
}

func addProblem(r *wire.AuditReport, seq int64, id, format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, wire.AuditProblem{Seq: seq, ID: id, Message: fmt.Sprintf(format, args...)})
	}
}

// short returns the beginning of a hash, for messages.
func short(hash string) string {
	if hash == "" {
		return "nothing"
	}
	return hash[:min(12, len(hash))]
}
