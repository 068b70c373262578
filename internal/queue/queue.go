// Package queue lists what waits for a person: rules in review, revisions of rules in force, candidates, conflicts, waivers and snapshots to approve, actions to confirm, and evaluations
// that ended in NEEDS_CONFIRMATION, over one project or all. It keeps who takes care of what, and passes decisions on to the package that
// each thing belongs to.
package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

const (
	// MaxOfKind bounds the items of each kind that are looked at, those that have waited longest.
	MaxOfKind = 1000
	// Confirmable is how long an evaluation waits for an answer.
	Confirmable = 14 * 24 * time.Hour

	readers   = 4      // that read at once for a list
	maxMarks  = 10_000 // that are read for a list
	maxTitle  = 400    // characters
	maxDetail = 400    // characters
)

// Store is the part of the database that this package uses.
type Store struct {
	store.Updater
	Queue store.QueueReader
}

// Config sets up [New]. All fields are required.
type Config struct {
	Store Store
	// Deciders carry out decisions, by kind.
	Deciders map[wire.QueueKind]Decider
	// Snapshots lists the snapshots of a project, or of all, that an environment's gates let pass only after more approvals.
	Snapshots func(ctx context.Context, projectID string, limit int) ([]Snapshot, error)
	// Describe says what an evaluation was about.
	Describe func(ctx context.Context, projectID, id string) (title, detail string, err error)
	Now      func() time.Time
	// Logger logs faults of the server; nil discards them.
	Logger *slog.Logger
}

// Snapshot is a snapshot that waits for approvals.
type Snapshot struct {
	ProjectID, ID, Name, By string
	Since                   time.Time
	Environment             string
	Approvals, Needed       int
	ApprovedBy              []string // who has approved it already
}

// Queue lists what waits. It is safe for concurrent use.
type Queue struct{ cfg Config }

// New makes a Queue.
func New(cfg Config) *Queue {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{cfg}
}

// Filter selects items; empty fields select everything.
type Filter struct {
	Kinds         []wire.QueueKind
	Severity      rule.Severity // at least
	Assignee      string        // "me" for the caller, "none" for nobody
	By            string
	Words         string
	Snoozed       bool // also what is put aside
	Order         string
	Offset, Limit int
}

// List returns a page of what waits in a project, or in all that the caller has access to with [store.AllProjects]. The page's own number and size are for the caller to set.
func (q *Queue) List(ctx context.Context, projectID string, f Filter) (wire.Queue, error) {
	now, who := q.cfg.Now(), auth.ActorFrom(ctx)
	out := wire.Queue{Items: []wire.QueueItem{}, Counts: map[wire.QueueKind]int{}}
	places := []string{projectID}
	if projectID == store.AllProjects && !who.MayEverywhere() {
		places = who.ProjectIDs()
	}
	all, marks, cut, err := q.collectEach(ctx, places, now)
	if err != nil {
		return out, err
	}
	noted := make(map[wire.QueueRef]store.QueueMark, len(marks))
	for _, m := range marks {
		noted[wire.QueueRef{Kind: wire.QueueKind(m.Kind), ID: m.ID, ProjectID: m.ProjectID}] = m
	}
	kept := make([]*wire.QueueItem, 0, len(all))
	for i := range all {
		item := &all[i]
		m := noted[wire.QueueRef{Kind: item.Kind, ID: item.ID, ProjectID: item.ProjectID}]
		item.Assignee = m.Assignee
		if m.SnoozedUntil != nil && m.SnoozedUntil.After(now) {
			item.SnoozedUntil = m.SnoozedUntil
		}
		if f.matches(item, who.Name) {
			kept = append(kept, item)
		}
	}
	if words := strings.Fields(strings.ToLower(f.Words)); len(words) > 0 {
		if err := q.describeAll(ctx, kept); err != nil {
			return out, err
		}
		kept = slices.DeleteFunc(kept, func(item *wire.QueueItem) bool { return !mentions(item, words) })
	}
	for _, item := range kept {
		out.Counts[item.Kind]++
	}
	kept = slices.DeleteFunc(kept, func(item *wire.QueueItem) bool { return len(f.Kinds) > 0 && !slices.Contains(f.Kinds, item.Kind) })
	sortItems(kept, f.Order)
	out.Total, out.Cut = len(kept), cut
	from := min(max(f.Offset, 0), len(kept))
	for _, item := range kept[from:min(from+max(f.Limit, 0), len(kept))] {
		out.Items = append(out.Items, *item)
	}
	for i := range out.Items {
		if err := q.complete(ctx, &out.Items[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// matches reports whether the filter selects an item, its words left out.
func (f *Filter) matches(item *wire.QueueItem, caller string) bool {
	assignee := f.Assignee
	if assignee == "me" {
		assignee = caller
	}
	switch {
	case item.SnoozedUntil != nil && !f.Snoozed,
		f.Severity != "" && item.Severity.Rank() < f.Severity.Rank(),
		f.By != "" && item.By != f.By,
		assignee == "none" && item.Assignee != "",
		assignee != "" && assignee != "none" && item.Assignee != assignee:
		return false
	}
	return true
}

// mentions reports whether the title and the detail of an item have all words, which are in lower case.
func mentions(item *wire.QueueItem, words []string) bool {
	content := strings.ToLower(item.Title + " " + item.Detail)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(content, w) })
}

// sortItems puts items into an order; the oldest first where nothing else decides.
func sortItems(items []*wire.QueueItem, order string) {
	slices.SortFunc(items, func(a, b *wire.QueueItem) int {
		age := cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.ID, b.ID))
		switch order {
		case "age":
			return age
		case "newest":
			return -age
		}
		return cmp.Or(b.Severity.Rank()-a.Severity.Rank(), age)
	})
}

// collectEach is collect for several projects, with the marks.
func (q *Queue) collectEach(ctx context.Context, places []string, now time.Time) (items []wire.QueueItem, marks []store.QueueMark, cut []wire.QueueKind, err error) {
	for _, place := range places {
		here, cutHere, err := q.collect(ctx, place, now)
		if err != nil {
			return nil, nil, nil, err
		}
		marked, err := q.cfg.Store.Queue.Marks(ctx, place, maxMarks)
		if err != nil {
			return nil, nil, nil, err
		}
		if items == nil {
			items = here
		} else {
			items = append(items, here...)
		}
		marks = append(marks, marked...)
		for _, kind := range cutHere {
			if !slices.Contains(cut, kind) {
				cut = append(cut, kind)
			}
		}
	}
	return items, marks, cut, nil
}

// collect lists what waits, and the kinds of which more waits than it has looked at. It reads the kinds side by side.
func (q *Queue) collect(ctx context.Context, projectID string, now time.Time) (items []wire.QueueItem, cut []wire.QueueKind, err error) {
	r := q.cfg.Store.Queue
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(readers)
	sources := []struct {
		kind wire.QueueKind
		list func() ([]store.Waiting, error)
		fill func(item *wire.QueueItem, w *store.Waiting)
	}{
		{wire.QueueRule, func() ([]store.Waiting, error) { return r.RulesInReview(ctx, projectID, MaxOfKind+1) }, fillRule},
		{wire.QueueRevision, func() ([]store.Waiting, error) { return r.PendingRevisions(ctx, projectID, MaxOfKind+1) }, fillRevision},
		{wire.QueueCandidate, func() ([]store.Waiting, error) { return r.PendingCandidates(ctx, projectID, MaxOfKind+1) }, fillCandidate},
		{wire.QueueConflict, func() ([]store.Waiting, error) { return r.SuggestedConflicts(ctx, projectID, MaxOfKind+1) }, fillConflict},
		{wire.QueueWaiver, func() ([]store.Waiting, error) { return r.WaiversToApprove(ctx, projectID, now, MaxOfKind+1) }, fillWaiver},
		{wire.QueueApproval, func() ([]store.Waiting, error) { return r.PendingApprovals(ctx, projectID, now, MaxOfKind+1) }, fillApproval},
		{wire.QueueEvaluation, func() ([]store.Waiting, error) {
			return r.Unconfirmed(ctx, projectID, now.Add(-Confirmable), MaxOfKind+1)
		}, fillEvaluation},
	}
	found, more := make([][]wire.QueueItem, len(sources)), make([]bool, len(sources))
	for i, source := range sources {
		reading.Go(func() error {
			list, err := source.list()
			if more[i] = len(list) > MaxOfKind; more[i] {
				list = list[:MaxOfKind]
			}
			found[i] = make([]wire.QueueItem, 0, len(list))
			for j := range list {
				w := &list[j]
				item := wire.QueueItem{Kind: source.kind, ID: w.ID, ProjectID: w.ProjectID, Since: w.Since, By: w.By}
				source.fill(&item, w)
				found[i] = append(found[i], item)
			}
			return err
		})
	}
	var snapshots []Snapshot
	reading.Go(func() (err error) {
		snapshots, err = q.cfg.Snapshots(ctx, projectID, MaxOfKind+1)
		return err
	})
	if err := reading.Wait(); err != nil {
		return nil, nil, err
	}
	all := len(snapshots)
	for i := range found {
		all += len(found[i])
	}
	items = make([]wire.QueueItem, 0, all)
	for i, source := range sources {
		if items = append(items, found[i]...); more[i] {
			cut = append(cut, source.kind)
		}
	}
	if len(snapshots) > MaxOfKind {
		snapshots, cut = snapshots[:MaxOfKind], append(cut, wire.QueueSnapshot)
	}
	for i := range snapshots {
		items = append(items, snapshotItem(ctx, &snapshots[i]))
	}
	return items, cut, nil
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

// fillEvaluation leaves the title to [Queue.describe], which reads the record.
func fillEvaluation(item *wire.QueueItem, w *store.Waiting) { item.Detail = w.Ref }

func snapshotItem(ctx context.Context, s *Snapshot) wire.QueueItem {
	item := wire.QueueItem{Kind: wire.QueueSnapshot, ID: s.ID, ProjectID: s.ProjectID, Title: s.Name, Since: s.Since, By: s.By}
	item.Detail = fmt.Sprintf("%d of %d people have approved it for %s", s.Approvals, s.Needed, s.Environment)
	if who := auth.ActorFrom(ctx).Name; who == s.By || slices.Contains(s.ApprovedBy, who) {
		item.Actions = []wire.QueueAction{}
	}
	return item
}

// describe reads from its record what an evaluation was about, unless that was read already. Other items are described as they are listed.
func (q *Queue) describe(ctx context.Context, item *wire.QueueItem) (err error) {
	if item.Kind != wire.QueueEvaluation || item.Title != "" {
		return nil
	}
	item.Title, item.Detail, err = q.cfg.Describe(ctx, item.ProjectID, item.ID)
	return err
}

// describeAll describes items side by side.
func (q *Queue) describeAll(ctx context.Context, items []*wire.QueueItem) error {
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(readers)
	for _, item := range items {
		if item.Kind == wire.QueueEvaluation && item.Title == "" {
			reading.Go(func() error { return q.describe(ctx, item) })
		}
	}
	return reading.Wait()
}

// complete adds what is worked out only for the items of a page.
func (q *Queue) complete(ctx context.Context, item *wire.QueueItem) error {
	if err := q.describe(ctx, item); err != nil {
		return err
	}
	item.Title, item.Detail = text.FitRunes(item.Title, maxTitle, "…"), text.FitRunes(item.Detail, maxDetail, "…")
	who := auth.ActorFrom(ctx)
	if item.Actions != nil || who.May(auth.Reviewer, item.ProjectID) != nil {
		item.Actions = []wire.QueueAction{}
		return nil
	}
	item.Actions = offered[item.Kind]
	own := item.By == who.Name
	if item.Kind == wire.QueueApproval && own {
		item.Actions = []wire.QueueAction{}
	}
	if item.Kind == wire.QueueWaiver && own || item.Kind == wire.QueueRevision && (own || item.Stale) {
		item.Actions = []wire.QueueAction{wire.QueueReject}
	}
	return nil
}
