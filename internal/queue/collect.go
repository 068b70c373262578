package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// waiting lists the things of one kind that wait in a place.
type waiting struct {
	items []wire.QueueItem
	words []string // the title and the detail of each in lower case; an evaluation is described later
	// entries are those of evaluations; nil for other kinds.
	entries []entry
	more    bool // than items has
}

// collectEach lists what waits in several projects, and the kinds of which more waits than it has looked at.
func (q *Queue) collectEach(ctx context.Context, places []string, now time.Time) (rows []row, cut []wire.QueueKind, err error) {
	for _, projectID := range places {
		// Lists and marks are read after their versions: what is kept is never older than its version says.
		versions, err := q.cfg.Store.Queue.Versions(ctx, projectID)
		if err != nil {
			return nil, nil, err
		}
		lists, err := q.collect(ctx, projectID, versions, now)
		if err != nil {
			return nil, nil, err
		}
		marks, err := q.marksOf(ctx, projectID, versions)
		if err != nil {
			return nil, nil, err
		}
		all := 0
		for _, list := range lists {
			all += len(list.items)
		}
		rows = slices.Grow(rows, all)
		for i, list := range lists {
			for j := range list.items {
				r := row{item: &list.items[j], words: list.words[j]}
				if list.entries != nil {
					r.entry = list.entries[j]
				}
				rows = append(rows, marked(r, marks, now))
			}
			if kind := wire.QueueKinds[i]; list.more && !slices.Contains(cut, kind) {
				cut = append(cut, kind)
			}
		}
	}
	return rows, cut, nil
}

// marked is a row with the mark of its item, if that has one.
func marked(r row, marks map[wire.QueueRef]store.QueueMark, now time.Time) row {
	if len(marks) == 0 {
		return r
	}
	m := marks[wire.QueueRef{Kind: r.item.Kind, ID: r.item.ID, ProjectID: r.item.ProjectID}]
	if r.assignee = m.Assignee; m.SnoozedUntil != nil && m.SnoozedUntil.After(now) {
		r.snoozed = m.SnoozedUntil
	}
	return r
}

// marksOf returns the marks of a project, or of all, by what they are on.
func (q *Queue) marksOf(ctx context.Context, projectID string, versions map[string]int64) (map[wire.QueueRef]store.QueueMark, error) {
	at, version := place{projectID, store.WaitingMarks}, versions[store.WaitingMarks]
	if marks, ok := q.marks.get(at, version); ok {
		return marks, nil
	}
	list, err := q.cfg.Store.Queue.Marks(ctx, projectID, maxMarks)
	if err != nil {
		return nil, err
	}
	marks, size := make(map[wire.QueueRef]store.QueueMark, len(list)), 0
	for _, m := range list {
		marks[wire.QueueRef{Kind: wire.QueueKind(m.Kind), ID: m.ID, ProjectID: m.ProjectID}] = m
		size += keptOverhead + len(m.Assignee) + len(m.Note)
	}
	q.marks.put(at, version, marks, size)
	return marks, nil
}

// collect lists what waits of each kind, in the order of [wire.QueueKinds]. It reads those that are not kept side by side.
func (q *Queue) collect(ctx context.Context, projectID string, versions map[string]int64, now time.Time) ([]waiting, error) {
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(readers)
	lists := make([]waiting, len(wire.QueueKinds))
	for i, kind := range wire.QueueKinds {
		version, versioned := int64(0), slices.Contains(versionedKinds, kind)
		if versioned {
			version = versions[string(kind)]
			if list, ok := q.items.get(place{projectID, string(kind)}, version); ok {
				lists[i] = list
				continue
			}
		}
		reading.Go(func() (err error) {
			if lists[i], err = q.read(ctx, projectID, kind, now); err == nil && versioned {
				q.items.put(place{projectID, string(kind)}, version, lists[i], lists[i].size())
			}
			return err
		})
	}
	return lists, reading.Wait()
}

// versionedKinds are the kinds whose lists are kept. The others depend on the time, or are short.
var versionedKinds = []wire.QueueKind{wire.QueueRule, wire.QueueRevision, wire.QueueCandidate, wire.QueueConflict}

// size is about the memory that a list takes.
func (w *waiting) size() (size int) {
	for _, words := range w.words {
		size += keptOverhead + 2*len(words)
	}
	return size
}

// withWords is a list whose items are described.
func (w waiting) withWords() waiting {
	w.words = make([]string, len(w.items))
	for i := range w.items {
		w.words[i] = wordsOf(&w.items[i])
	}
	return w
}

// read lists what waits of one kind.
func (q *Queue) read(ctx context.Context, projectID string, kind wire.QueueKind, now time.Time) (waiting, error) {
	const limit = MaxOfKind + 1
	r := q.cfg.Store.Queue
	var list []store.Waiting
	var fill func(item *wire.QueueItem, w *store.Waiting)
	var err error
	switch kind {
	case wire.QueueRule:
		fill = fillRule
		list, err = r.RulesInReview(ctx, projectID, limit)
	case wire.QueueRevision:
		fill = fillRevision
		list, err = r.PendingRevisions(ctx, projectID, limit)
	case wire.QueueCandidate:
		fill = fillCandidate
		list, err = r.PendingCandidates(ctx, projectID, limit)
	case wire.QueueConflict:
		fill = fillConflict
		list, err = r.SuggestedConflicts(ctx, projectID, limit)
	case wire.QueueWaiver:
		fill = fillWaiver
		list, err = r.WaiversToApprove(ctx, projectID, now, limit)
	case wire.QueueApproval:
		fill = fillApproval
		list, err = r.PendingApprovals(ctx, projectID, now, limit)
	case wire.QueueEvaluation:
		fill = fillEvaluation
		list, err = r.Unconfirmed(ctx, projectID, now.Add(-Confirmable), limit)
	case wire.QueueSnapshot:
		return q.snapshots(ctx, projectID)
	}
	if err != nil {
		return waiting{}, err
	}
	out := waiting{more: len(list) > MaxOfKind, items: make([]wire.QueueItem, min(len(list), MaxOfKind))}
	for i := range out.items {
		w := &list[i]
		out.items[i] = wire.QueueItem{Kind: kind, ID: w.ID, ProjectID: w.ProjectID, Since: w.Since, By: w.By}
		fill(&out.items[i], w)
		if kind == wire.QueueEvaluation {
			out.entries = append(out.entries, entry{w.ProjectID, w.Seq, w.Pruned})
		}
	}
	return out.withWords(), nil
}

func (q *Queue) snapshots(ctx context.Context, projectID string) (waiting, error) {
	list, err := q.cfg.Snapshots(ctx, projectID, MaxOfKind+1)
	out := waiting{more: len(list) > MaxOfKind, items: make([]wire.QueueItem, min(len(list), MaxOfKind))}
	for i := range out.items {
		out.items[i] = snapshotItem(ctx, &list[i])
	}
	return out.withWords(), err
}

func fillRule(item *wire.QueueItem, w *store.Waiting) {
	r := w.Rules[0]
	item.Title, item.Severity, item.RuleID = r.Statement, r.Severity, r.ID
	item.Detail = fmt.Sprintf("%s, version %d", r.Label(), r.Version)
	if r.ChangeNote != "" {
		item.Detail += ": " + r.ChangeNote
	}
}

// fillRevision begins the detail with what a reviewer must not overlook, since a long one is cut.
func fillRevision(item *wire.QueueItem, w *store.Waiting) {
	r := w.Revision
	item.Title, item.Severity, item.RuleID, item.Revision, item.Stale = r.Rule.Statement, r.Severity, r.RuleID, r.Number, r.Stale
	fields := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		fields[i] = strings.ReplaceAll(c.Field, "_", " ")
	}
	var parts []string
	if r.Stale {
		parts = append(parts, "stale: the rule has changed since")
	}
	if len(r.Weakens) > 0 {
		parts = append(parts, "weaker: "+strings.Join(r.Weakens, ", "))
	}
	parts = append(parts, fmt.Sprintf("%s, revision %d of version %d, changes %s", r.Rule.Label(), r.Number, r.BaseVersion, strings.Join(fields, ", ")))
	if r.Author != "" {
		parts = append(parts, "proposed by "+r.Author)
	}
	if r.Note != "" {
		parts = append(parts, r.Note)
	}
	item.Detail = strings.Join(parts, "; ")
}

func fillCandidate(item *wire.QueueItem, w *store.Waiting) {
	item.ScanID, item.Confidence = w.Ref, &w.Confidence
	c := w.Candidate
	if c == nil {
		item.Title = "A candidate that cannot be read"
		return
	}
	item.Title, item.Severity = c.Statement, rule.Severity(strings.ToUpper(c.Metadata.Severity))
	item.Detail = fmt.Sprintf("%s, line %d", c.SourceFile, c.SourceLine)
}

func fillConflict(item *wire.QueueItem, w *store.Waiting) {
	one, other := w.Rules[0], w.Rules[1]
	item.Title, item.Detail, item.Confidence = one.Label()+" and "+other.Label(), w.Ref, &w.Confidence
	item.RuleID, item.OtherRuleID, item.By = one.ID, other.ID, one.UpdatedBy
	item.Severity = one.Severity
	if other.Severity.Rank() > one.Severity.Rank() {
		item.Severity = other.Severity
	}
}

func fillWaiver(item *wire.QueueItem, w *store.Waiting) {
	r := w.Rules[0]
	item.Title, item.Detail, item.Severity, item.RuleID = "Waive "+r.Label()+": "+r.Statement, w.Ref, r.Severity, r.ID
}

// fillApproval shows an action in short. It is approved on its own page, which shows the whole.
func fillApproval(item *wire.QueueItem, w *store.Waiting) {
	var a rule.Approval
	if err := json.Unmarshal(w.Body, &a); err != nil {
		item.Title = "An approval that cannot be read"
		return
	}
	item.Title, item.Severity = a.Title, a.Severity
	labels := make([]string, len(a.Rules))
	for i, r := range a.Rules {
		labels[i] = cmp.Or(r.RuleSlug, r.RuleID)
	}
	parts := []string{strings.Join(labels, ", ")}
	if a.Uncovered {
		parts = append(parts, "no rule covers it")
	}
	if a.Quorum > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d people have approved it", len(a.Approvals()), a.Quorum))
	}
	for _, named := range [][2]string{{"agent ", a.Agent}, {"for ", a.Person}, {"in ", a.Repository}} {
		if named[1] != "" {
			parts = append(parts, named[0]+named[1])
		}
	}
	parts = append(parts, "until "+a.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"))
	if a.Reason != "" {
		parts = append(parts, a.Reason)
	}
	item.Detail = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// fillEvaluation leaves the title and the detail to [Queue.describe], which reads the record.
func fillEvaluation(*wire.QueueItem, *store.Waiting) {}

func snapshotItem(ctx context.Context, s *Snapshot) wire.QueueItem {
	item := wire.QueueItem{Kind: wire.QueueSnapshot, ID: s.ID, ProjectID: s.ProjectID, Title: s.Name, Since: s.Since, By: s.By}
	item.Detail = fmt.Sprintf("%d of %d people have approved it for %s", s.Approvals, s.Needed, s.Environment)
	if who := auth.ActorFrom(ctx).Name; who == s.By || slices.Contains(s.ApprovedBy, who) {
		item.Actions = []wire.QueueAction{}
	}
	return item
}
