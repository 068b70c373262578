package hierarchy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/rule"
)

// Attachments are made by group commit: those that arrive while a transaction is under way go together into the next one,
// and each waits only for its own. Attaching a thousand rules one by one is so a matter of a second, not of a thousand
// syncs of the disk.

// maxAttachBatch bounds how many attachments one transaction makes, and attachTimeout how long it may take.
const (
	maxAttachBatch = 256
	attachTimeout  = 30 * time.Second
)

// attaching is an attachment on its way.
type attaching struct {
	who, nodeID string
	in          AttachInput
	made        rule.Attachment
	silenced    *rule.Silenced
	err         error
	done        chan struct{}
}

// attachQueue holds the waiting attachments by project. A caller that finds a project without a running writer starts one.
type attachQueue struct {
	mu      sync.Mutex
	waiting map[string][]*attaching
	running map[string]bool
}

// put adds w and reports whether the caller must start a writer.
func (q *attachQueue) put(projectID string, w *attaching) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting, q.running = map[string][]*attaching{}, map[string]bool{}
	}
	q.waiting[projectID] = append(q.waiting[projectID], w)
	if q.running[projectID] {
		return false
	}
	q.running[projectID] = true
	return true
}

// take gives the next batch; nil ends the writer.
func (q *attachQueue) take(projectID string) []*attaching {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting[projectID]
	n := min(len(all), maxAttachBatch)
	if n == len(all) {
		delete(q.waiting, projectID)
	} else {
		q.waiting[projectID] = all[n:]
	}
	if n == 0 {
		delete(q.running, projectID)
	}
	return all[:n]
}

// attachWaiting makes the attachments that wait in a project, until none are left.
func (h *Hierarchy) attachWaiting(projectID string) {
	for batch := h.attachments.take(projectID); len(batch) > 0; batch = h.attachments.take(projectID) {
		if err := h.attachBatch(projectID, batch); err != nil {
			for _, w := range batch {
				w.err = err
			}
		}
		for _, w := range batch {
			close(w.done)
		}
	}
}

// attachBatch makes attachments in one transaction. What is wrong with one is that one's error; an error that it returns is
// everybody's. The callers' contexts do not end what others wait for too.
func (h *Hierarchy) attachBatch(projectID string, batch []*attaching) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("hierarchy: attaching rules panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), attachTimeout)
	defer cancel()
	return h.change(ctx, projectID, func(e *edit) error {
		var made []rule.Attachment
		var records []audit.Record
		for _, w := range batch {
			var record audit.Record
			if record, w.err = e.attach(w); w.err == nil {
				made, records = append(made, w.made), append(records, record)
			}
		}
		if len(made) == 0 {
			return change.ErrUndo
		}
		if err := e.Tx.Federation.InsertAttachments(ctx, projectID, e.Version, made); err != nil {
			return err
		}
		return audit.Append(ctx, e.Tx, projectID, records...)
	})
}
