package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"tenet/internal/store"
)

// Report tells what a verification found.
type Report struct {
	ProjectID string `json:"project_id"`
	Entries   int64  `json:"entries"`
	// Pruned counts the entries whose bodies were removed under the retention setting, as the chain itself says.
	Pruned   int64           `json:"pruned"`
	Head     store.AuditHead `json:"head"`
	Problems []Problem       `json:"problems"`
}

// Problem is a place where the chain is broken.
type Problem struct {
	Seq     int64  `json:"seq"`
	ID      string `json:"id,omitempty"`
	Message string `json:"message"`
}

// OK reports whether the chain is whole.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// maxProblems bounds a report; a chain with so many problems is lost anyway.
const maxProblems = 100

// verifyPage is how many entries are read at once.
const verifyPage = 500

// Verify walks a project's chain from its start to its head and reports every edit, deletion, insertion and reordering.
// expect, if not zero, is a head that was noted earlier: the chain must still hold it, which finds a chain that was cut
// short or written anew as a whole.
func Verify(ctx context.Context, r store.Reader, projectID string, expect store.AuditHead) (*Report, error) {
	head, err := r.AuditHead(ctx, projectID)
	if err != nil {
		return nil, err
	}
	report := &Report{ProjectID: projectID, Head: head, Problems: []Problem{}}
	_, through, err := retained(ctx, r, projectID)
	if err != nil {
		through = 0 // the walk tells what is wrong with the entry
	}
	last := store.AuditHead{}
	expected := expect == store.AuditHead{}
	reached := head == last
	for after := int64(math.MinInt64); ; after = last.Seq {
		entries, err := r.AuditEntries(ctx, projectID, after, verifyPage)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			report.check(last, e, through)
			last = store.AuditHead{Seq: e.Seq, Hash: e.Hash}
			expected = expected || last == expect
			reached = reached || last == head
			report.Entries++
		}
		if len(entries) < verifyPage || len(report.Problems) >= maxProblems {
			break
		}
	}
	// Entries may have been appended since the head was read, but never beyond the head as it is now.
	now, err := r.AuditHead(ctx, projectID)
	if err != nil {
		return nil, err
	}
	if !reached || last.Seq > now.Seq {
		report.problem(last.Seq, "", "the chain ends at entry %d (%s), but its head is entry %d (%s)",
			last.Seq, short(last.Hash), head.Seq, short(head.Hash))
	}
	if !expected {
		report.problem(expect.Seq, "", "entry %d with the expected hash %s is not in the chain", expect.Seq, short(expect.Hash))
	}
	return report, nil
}

// check looks at one entry. Bodies of evaluations up to through may have been removed.
func (r *Report) check(last store.AuditHead, e store.AuditEntry, through int64) {
	if e.Seq != last.Seq+1 {
		r.problem(e.Seq, e.ID, "entries %d to %d are missing", last.Seq+1, e.Seq-1)
	}
	if e.PrevHash != last.Hash {
		r.problem(e.Seq, e.ID, "does not follow the entry before it: it names %s, that has %s", short(e.PrevHash), short(last.Hash))
	}
	if Hash(e) != e.Hash {
		r.problem(e.Seq, e.ID, "was changed: its hash does not fit its fields")
	}
	if len(e.Body) == 0 && e.Kind == KindEvaluation && e.Seq <= through {
		r.Pruned++
		return
	}
	sum := sha256.Sum256(e.Body)
	if hex.EncodeToString(sum[:]) != e.BodyHash {
		r.problem(e.Seq, e.ID, "was changed: its body does not have the recorded hash")
		return
	}
	body, err := Body(e)
	if err != nil {
		r.problem(e.Seq, e.ID, "its body cannot be read: %v", err)
		return
	}
	if !json.Valid(body) {
		r.problem(e.Seq, e.ID, "its body is not JSON")
	}
}

func (r *Report) problem(seq int64, id, format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{Seq: seq, ID: id, Message: fmt.Sprintf(format, args...)})
	}
}

// short cuts a hash for people.
func short(hash string) string {
	if hash == "" {
		return "nothing"
	}
	return hash[:min(12, len(hash))]
}
