package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"tenet/internal/store"
	"tenet/internal/wire"
)

// maxProblems bounds a report.
const maxProblems = 100

// verifyPage is how many entries are read at once.
const verifyPage = 250

// maxExaminers bounds the cores that look at pages. At most two pages more are in memory with their bodies: the one that is being read, and the one
// whose places are checked. More cores would wait for the one that reads.
const maxExaminers = 4

// Verify walks a project's chain from its start to its head and reports every edit, deletion, insertion and reordering.
// expect, if not zero, is a head that was noted earlier: the chain must still have it, which finds a chain that was cut or
// rewritten as a whole.
func Verify(ctx context.Context, r store.AuditReader, projectID string, expect wire.AuditHead) (*wire.AuditReport, error) {
	return VerifyPart(ctx, r, projectID, wire.AuditHead{}, expect, 0)
}

// VerifyPart is [Verify] for the entries after an entry up to which the chain was verified before, at most limit of them; all if
// limit is 0. Only a part that reaches the head as it was at its start may have more, those appended since. If it ends before the head, the report says where to go on. An expected head must be behind the verified part, or its end.
func VerifyPart(ctx context.Context, r store.AuditReader, projectID string, verified, expect wire.AuditHead, limit int) (*wire.AuditReport, error) {
	head, err := r.Head(ctx, projectID)
	if err != nil {
		return nil, err
	}
	report := &wire.AuditReport{ProjectID: projectID, Head: head, Problems: []wire.AuditProblem{}}
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
	pages, stop := examine(ctx, r, projectID, begin, limit, head.Seq)
	defer stop()
	for p := range pages {
		if <-p.examined; p.err != nil {
			return nil, p.err
		}
		for i := range p.entries {
			e := &p.entries[i]
			checkPlace(report, last, e)
			for _, fault := range p.faults[i] {
				addProblem(report, e.Seq, e.ID, "%s", fault)
			}
			if removed(e, p.through) {
				report.Pruned++
			}
			last = wire.AuditHead{Seq: e.Seq, Hash: e.Hash}
			expected = expected || last == expect
			reached = reached || last == head
			report.Entries++
		}
		if len(report.Problems) >= maxProblems {
			break
		}
	}
	stop()
	if limit > 0 && report.Entries >= int64(limit) && last.Seq < head.Seq && len(report.Problems) < maxProblems {
		lost(false)
		report.Next = &wire.AuditHead{Seq: last.Seq, Hash: last.Hash}
		return report, nil
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

// page is a part of a chain, or why it could not be read.
type page struct {
	entries []store.AuditEntry
	through map[string]int64 // up to where the bodies of a kind may have been removed
	err     error

	faults   [][]string    // what is wrong with each entry alone
	examined chan struct{} // closed when faults are complete
}

// examine reads the entries of a chain after one, and looks at each alone while it reads on: it returns the pages in order, each as soon as it is read. If limit is
// not 0, it ends after limit of them if these are before the head. The caller calls stop, which may be called again, before it uses r for something else.
func examine(ctx context.Context, r store.AuditReader, projectID string, after int64, limit int, head int64) (pages <-chan *page, stop func()) {
	workers := min(runtime.GOMAXPROCS(0), maxExaminers)
	inOrder, next := make(chan *page, workers), make(chan *page, workers)
	done := make(chan struct{})
	for range workers {
		go func() {
			x := examiners.Get().(*examiner) //nolint:forcetypeassert // it holds nothing else
			defer examiners.Put(x)
			for p := range next {
				x.look(p)
			}
		}()
	}
	go func() {
		defer close(inOrder)
		defer close(next)
		readPages(ctx, r, projectID, after, limit, head, func(p *page) bool {
			next <- p
			select {
			case inOrder <- p:
				return true
			case <-done:
				return false
			}
		})
	}()
	return inOrder, sync.OnceFunc(func() {
		close(done)
		for range inOrder { // ends when the reading has
		}
	})
}

// readPages reads pages as [examine] returns them, until yield returns false.
func readPages(ctx context.Context, r store.AuditReader, projectID string, after int64, limit int, head int64, yield func(*page) bool) {
	through := removals(ctx, r, projectID)
	for read := 0; ; {
		size := verifyPage
		if read < limit {
			size = min(size, limit-read)
		}
		entries, err := r.Entries(ctx, projectID, after, size)
		if slices.ContainsFunc(entries, func(e store.AuditEntry) bool { return gap(&e, through) }) {
			// The bodies may have been removed meanwhile. Their removal was in the chain before that.
			through = removals(ctx, r, projectID)
		}
		if !yield(&page{entries: entries, through: through, err: err, examined: make(chan struct{})}) || err != nil || len(entries) < size {
			return
		}
		after = entries[len(entries)-1].Seq
		if read += len(entries); limit > 0 && read >= limit && after < head {
			return
		}
	}
}

// removals returns up to where the bodies of each kind may have been removed.
func removals(ctx context.Context, r store.AuditReader, projectID string) map[string]int64 {
	through := make(map[string]int64, len(PrunedKinds))
	for _, kind := range PrunedKinds {
		if last, err := lastRemoval(ctx, r, projectID, kind); err == nil { // else the walk reports the fault of the entry
			through[kind] = last.through
		}
	}
	return through
}

// checkPlace looks whether an entry follows the one before it.
func checkPlace(r *wire.AuditReport, last wire.AuditHead, e *store.AuditEntry) {
	if e.Seq != last.Seq+1 {
		addProblem(r, e.Seq, e.ID, "entries %d to %d are missing", last.Seq+1, e.Seq-1)
	}
	if e.PrevHash != last.Hash {
		addProblem(r, e.Seq, e.ID, "does not follow the entry before it: it names %s, that has %s", short(e.PrevHash), short(last.Hash))
	}
}

// examiner is memory for looking at entries one after the other.
type examiner struct {
	hashed, body []byte
	json         validator
}

var examiners = sync.Pool{New: func() any { return new(examiner) }}

// maxExamined bounds the memory for bodies that is kept, in bytes.
const maxExamined = 1 << 20

// look finds what is wrong with each entry of a page alone.
func (x *examiner) look(p *page) {
	defer close(p.examined)
	p.faults = make([][]string, len(p.entries))
	for i := range p.entries {
		p.faults[i] = x.faultsOf(&p.entries[i], p.through)
	}
	if cap(x.body) > maxExamined {
		x.body = nil
	}
}

// faultsOf returns what is wrong with one entry.
func (x *examiner) faultsOf(e *store.AuditEntry, through map[string]int64) []string {
	var faults []string
	x.hashed = appendHashed(x.hashed[:0], e)
	if !isHash(sha256.Sum256(x.hashed), e.Hash) {
		faults = append(faults, "was changed: its hash does not fit its fields")
	}
	if removed(e, through) {
		return faults
	}
	if !isHash(sha256.Sum256(e.Body), e.BodyHash) {
		return append(faults, "was changed: its body does not have the recorded hash")
	}
	body, err := decoder.DecodeAll(e.Body, x.body[:0])
	if err != nil {
		return append(faults, fmt.Sprintf("its body cannot be read: %v", unreadable(e, err)))
	}
	x.body = body
	if !x.json.valid(body) {
		faults = append(faults, "its body is not JSON")
	}
	return faults
}

// isHash reports whether a text is a hash in hex.
func isHash(sum [sha256.Size]byte, text string) bool {
	var b [2 * sha256.Size]byte
	hex.Encode(b[:], sum[:])
	return text == string(b[:])
}

// gap reports whether the body of an entry is missing although it is not among those that may have been removed.
func gap(e *store.AuditEntry, through map[string]int64) bool {
	return len(e.Body) == 0 && e.Seq > through[e.Kind] && slices.Contains(PrunedKinds, e.Kind)
}

// removed reports whether the body of an entry is gone and may be: bodies of a kind up to its entry in through may have been removed.
func removed(e *store.AuditEntry, through map[string]int64) bool {
	return len(e.Body) == 0 && e.Seq <= through[e.Kind]
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
