package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"tenet/internal/audit"
	"tenet/internal/checkpoint"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Bounds of a batch of records. So many that wait are sent at once and not at the next report: a backlog of many batches would keep a core of the server
// busy, and a small batch takes little memory.
const (
	shipEntries = 250
	shipBytes   = 4 << 20 // of bodies; base64 and the rest of a batch fit below the limit of a request
)

// shipTime bounds one call to the server.
const shipTime = 30 * time.Second

// spoolOver is how many bytes of records above the budget an edge still makes, by its fail mode.
const spoolOver = 256 << 10

// shipping sends the records of an edge to the server, and its reports.
type shipping struct {
	edge    *outpost
	folder  string // of what the edge keeps besides its records
	server  *client.Client
	signer  func() checkpoint.Signer
	audit   store.AuditReader
	edges   store.EdgeReader
	updater store.Updater
	version string
	model   func() string
	log     *slog.Logger
	now     func() time.Time
	started time.Time

	// filled is notified, at the latest, when a batch waits.
	filled chan struct{}

	kept map[string]orders // what ordersFile says, by the name of the edge; used by reports only, which come one after the other

	memory []byte // of the last batch, for the next one: texts of their own are a tenth of all memory that an edge under load asks for

	evaluations atomic.Int64
	requests    atomic.Int64
	errors      atomic.Int64
	paused      atomic.Bool
	forgotten   atomic.Bool // the server takes no more records

	mu       sync.Mutex
	received wire.AuditHead
	spool    store.Spool
	reread   int64
	pruned   int64     // last entry whose body is removed
	looked   time.Time // when the bodies were last summed up
	known    bool      // the server has answered once
	problem  string
}

// ended counts a request to the API of the edge by its status.
func (s *shipping) ended(status int) {
	s.requests.Add(1)
	if status >= http.StatusInternalServerError {
		s.errors.Add(1)
	}
}

// recorder counts the evaluations of an edge.
type recorder struct {
	*audit.Writer

	ship *shipping
}

// Append implements evaluate.Recorder.
func (r recorder) Append(ctx context.Context, rec audit.Record) error {
	if err := r.ship.room(); err != nil {
		return err
	}
	err := r.Writer.Append(ctx, rec)
	if err == nil {
		r.ship.evaluations.Add(1)
		r.ship.mu.Lock()
		r.ship.spool.Entries++
		r.ship.spool.Bytes += int64(len(rec.Body)) / 4 // about; it is measured with each report
		full := r.ship.spool.Entries >= shipEntries
		r.ship.mu.Unlock()
		if full {
			select {
			case r.ship.filled <- struct{}{}:
			default:
			}
		}
	}
	return err
}

// room returns an unavailable error if no more records may wait.
func (s *shipping) room() error {
	if s.forgotten.Load() {
		return rule.Errorf(rule.CodeUnavailable, "the edge %s was forgotten at its server, which takes no more of its records; give it a new name and folder", s.edge.Name)
	}
	if s.paused.Load() {
		return rule.Errorf(rule.CodeUnavailable, "the edge %s was paused at the server; ask another one", s.edge.Name)
	}
	if limit := s.edge.Spool; limit > 0 && s.spooled().Bytes > limit+spoolOver {
		return rule.Errorf(rule.CodeUnavailable, "the edge %s has no room for more records until its server takes them; nothing is answered without a record", s.edge.Name)
	}
	return nil
}

func (s *shipping) spooled() store.Spool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spool
}

// full says that the budget of records is used up; empty if it is not.
func (s *shipping) full() string {
	if b := s.spooled(); s.edge.Spool > 0 && b.Bytes > s.edge.Spool {
		return fmt.Sprintf("The records of this edge have used up their budget: %d wait for the server, with %d bytes", b.Entries, b.Bytes)
	}
	return ""
}

// Run reports and ships until ctx ends, and once more then.
func (s *shipping) Run(ctx context.Context) {
	tick := time.NewTicker(s.edge.Every)
	defer tick.Stop()
	s.round(ctx)
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			s.round(last)
			return
		case <-tick.C:
			s.round(ctx)
		case <-s.filled:
			s.early(ctx)
		}
	}
}

// early sends a batch before the next report, if the last report and all that was sent since went well.
func (s *shipping) early(ctx context.Context) {
	s.mu.Lock()
	may, entries := s.server != nil && s.known && s.problem == "", s.spool.Entries
	s.mu.Unlock()
	if !may || entries < shipEntries {
		return
	}
	if _, err := s.send(ctx); err != nil {
		s.note(ctx, err)
	}
}

// round sends all records that wait, and a report. Its failures are in the next report, and logged when they change.
func (s *shipping) round(ctx context.Context) {
	err := s.measure(ctx)
	if err == nil && s.server != nil {
		err = s.exchange(ctx)
	}
	if err == nil {
		err = s.prune(ctx)
	}
	s.note(ctx, err)
}

// note keeps why records cannot be sent for the next report, and logs it when it changes.
func (s *shipping) note(ctx context.Context, err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	s.mu.Lock()
	changed := s.problem != problem
	s.problem = problem
	s.mu.Unlock()
	if changed && err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "the server does not get the records of this edge; they wait", slog.Any("error", err))
	}
}

// exchange reports, learns what the server has, and sends the rest.
func (s *shipping) exchange(ctx context.Context) error {
	if err := s.report(ctx); err != nil {
		return err
	}
	sent := false
	for ctx.Err() == nil {
		more, err := s.send(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		sent = true
	}
	if !sent {
		return nil
	}
	if err := s.measure(ctx); err != nil {
		return err
	}
	return s.report(ctx)
}

// pruneEvery is the time between two looks at how many bytes of records that the server has are here.
const pruneEvery = time.Minute

// prune removes the oldest bodies of records that the server has, once they have more bytes than the edge keeps: then to three quarters of that, so that it
// happens seldom.
func (s *shipping) prune(ctx context.Context) error {
	s.mu.Lock()
	received, pruned, looked := s.received.Seq, s.pruned, s.looked
	s.mu.Unlock()
	now, keep := s.now(), s.edge.Keep
	if keep == 0 || received <= pruned || !looked.IsZero() && now.Sub(looked) < min(pruneEvery, 10*s.edge.Every) {
		return nil
	}
	project := s.edge.project()
	all, err := s.edges.Spool(ctx, project, 0)
	if err != nil {
		return err
	}
	waiting, err := s.edges.Spool(ctx, project, received)
	if err != nil {
		return err
	}
	if here := all.Bytes - waiting.Bytes; here > keep {
		through, err := s.edges.Oldest(ctx, project, received, here-keep/4*3)
		if err != nil {
			return err
		}
		n, err := audit.PruneShipped(ctx, s.updater, s.audit, project, pruned, through, s.now())
		if err != nil {
			return err
		}
		s.log.InfoContext(ctx, "removed the bodies of records that the server has", slog.Int("records", n), slog.Int64("through", through))
		pruned = through
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned, s.looked = pruned, now
	return nil
}

// measure sums up the records that wait.
func (s *shipping) measure(ctx context.Context) error {
	s.mu.Lock()
	after := s.received.Seq
	s.mu.Unlock()
	b, err := s.edges.Spool(ctx, s.edge.project(), after)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spool = b
	return nil
}

// report reports how the edge fares, and does what the server answers.
func (s *shipping) report(ctx context.Context) error {
	head, _ := s.edge.corpus.Head()
	key, err := s.key(ctx, head.Project)
	if err != nil {
		return err
	}
	own, err := s.audit.Head(ctx, head.Project)
	if err != nil {
		return err
	}
	s.mu.Lock()
	spool, problem := s.spool, s.problem
	s.mu.Unlock()
	if p := s.edge.follower.Problem(); p != "" {
		problem = p
	}
	age := s.edge.follower.Age()
	r := wire.EdgeReport{
		Key: key, Version: s.version, Environment: wire.Environment(head.Environment), Bundle: head.RawHash, BundleSeq: head.Seq, BundleAge: int64(age.Seconds()),
		Stale: s.edge.MaxAge > 0 && age > s.edge.MaxAge, Spool: spool.Entries, SpoolBytes: spool.Bytes, Head: own.Seq, Evaluations: s.evaluations.Load(), Requests: s.requests.Load(), Errors: s.errors.Load(), StartedAt: s.started.UTC(),
		Pinned: s.edge.follower.Pinned(), Paused: s.paused.Load(), Problem: problem[:min(len(problem), 1000)], ModelStatus: s.model(),
	}
	if !spool.Oldest.IsZero() {
		r.SpoolAge = int64(max(0, s.now().Sub(spool.Oldest)).Seconds())
	}
	ctx, cancel := context.WithTimeout(ctx, shipTime)
	defer cancel()
	said, err := client.Call(ctx, s.server.InProject(head.Project), op.ReportEdge.At(s.edge.Name), r)
	if err != nil {
		return err
	}
	if said.BundleHead != "" {
		s.edge.follower.Vouch(said.BundleHead)
	}
	kept := s.obey(orders{Pinned: said.Pinned, Paused: said.Paused, Forgotten: said.Forgotten})
	s.mu.Lock()
	if s.known && said.Reread != s.reread {
		s.edge.follower.Again()
	}
	s.reread, s.received, s.known = said.Reread, said.Received, true
	s.mu.Unlock()
	if said.Forgotten {
		return rule.Errorf(rule.CodeConflict, "the edge %s was forgotten at its server; give it a new name and folder", s.edge.Name)
	}
	if said.Received.Seq > own.Seq {
		return rule.Errorf(rule.CodeConflict, "the server has %d records of the edge %s, and there are %d here: the folder of the edge was replaced; give it a new name", said.Received.Seq, s.edge.Name, own.Seq)
	}
	return kept
}

// key returns the verifier key with which the edge signs.
func (s *shipping) key(ctx context.Context, project string) (string, error) {
	signer := s.signer()
	if signer == nil {
		return "", rule.Errorf(rule.CodeUnavailable, "the edge has no key yet")
	}
	signing, _, err := signer.Keys(ctx, wire.EdgeKeyName(project, s.edge.Name))
	if err != nil || len(signing) == 0 {
		return "", fmt.Errorf("the edge has no key to sign its records: %w", err)
	}
	return signing[0], nil
}

// send sends one batch, and reports whether there was one.
func (s *shipping) send(ctx context.Context) (bool, error) {
	project := s.edge.project()
	s.mu.Lock()
	received := s.received
	s.mu.Unlock()
	list, err := s.audit.Entries(ctx, project, received.Seq, shipEntries)
	if err != nil || len(list) == 0 {
		return false, err
	}
	if list[0].PrevHash != received.Hash {
		return false, rule.Errorf(rule.CodeConflict, "the server has another record %d of the edge %s: the folder of the edge was replaced; give it a new name", received.Seq, s.edge.Name)
	}
	batch := wire.EdgeBatch{Entries: make([]wire.EdgeBatchRecord, 0, len(list))}
	size := 0
	for i := range list {
		e := &list[i]
		if len(e.Body) == 0 && e.BodyHash != audit.BodyHash(nil) {
			return false, rule.Errorf(rule.CodeConflict, "the server has lost the record %d of the edge %s, whose body is no longer here either; give the edge a new name and folder", e.Seq, s.edge.Name)
		}
		if size+len(e.Body) > shipBytes && i > 0 {
			list = list[:i]
			break
		}
		size += len(e.Body)
		if e.Body == nil {
			e.Body = []byte{} // not null
		}
		batch.Entries = append(batch.Entries, wire.EdgeBatchRecord{EdgeRecord: wire.EdgeRecord{
			Seq: e.Seq, ID: e.ID, Kind: e.Kind, At: e.At, Actor: e.Actor, Verdict: e.Verdict, Mode: e.Mode, PrevHash: e.PrevHash, Hash: e.Hash,
		}, Body: e.Body})
	}
	last := &list[len(list)-1]
	text := wire.RecordsText(project, s.edge.Name, wire.AuditHead{Seq: last.Seq, Hash: last.Hash})
	if batch.Note, err = checkpoint.SignText(ctx, s.signer(), wire.EdgeKeyName(project, s.edge.Name), text); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, shipTime)
	defer cancel()
	body := wire.AppendJSON(s.memory[:0], &batch, false)
	s.memory = nil // a call that fails may still be reading it
	end, err := client.Call(ctx, s.server.InProject(project), op.Op[[]byte, wire.AuditHead](op.SendEdgeRecords.At(s.edge.Name)).With("Content-Type", "application/json"), body)
	if err != nil {
		return false, err
	}
	s.memory = body
	if end.Seq <= received.Seq {
		return false, rule.Errorf(rule.CodeInternal, "the server has stored none of the records %d to %d", list[0].Seq, last.Seq)
	}
	s.mu.Lock()
	s.received = end
	s.spool.Entries, s.spool.Bytes = max(0, s.spool.Entries-int64(len(list))), max(0, s.spool.Bytes-int64(size))
	s.mu.Unlock()
	return true, nil
}
