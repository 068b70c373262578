// Package queue lists what waits for a person: rules in review, revisions of rules in force, candidates, conflicts, waivers and snapshots to approve, actions to confirm, and evaluations
// that ended in NEEDS_CONFIRMATION, over one project or all. It keeps who takes care of what, and passes decisions on to the package that
// each thing belongs to.
package queue

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/text"
	"tenet/internal/wire"
)

const (
	// MaxOfKind bounds the items of each kind that are read, the oldest.
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
	// Describe returns what evaluations of a project were about, by their numbers in the audit chain.
	Describe func(ctx context.Context, projectID string, seqs []int64) (map[int64]Description, error)
	Now      func() time.Time
	// Logger logs faults of the server; nil discards them.
	Logger *slog.Logger
}

// Description says what an evaluation was about.
type Description struct{ Title, Detail string }

// Snapshot is a snapshot that waits for approvals.
type Snapshot struct {
	ProjectID, ID, Name, By string
	Since                   time.Time
	Environment             string
	Approvals, Needed       int
	ApprovedBy              []string // who has approved it already
}

// Queue lists what waits. It is safe for concurrent use.
type Queue struct {
	cfg   Config
	items kept[place, waiting]
	marks kept[place, map[wire.QueueRef]store.QueueMark]
	about kept[entry, described] // what evaluations were about
}

// New makes a Queue.
func New(cfg Config) *Queue {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{cfg: cfg}
}

// Filter selects items; empty fields select everything.
type Filter struct {
	Kinds         []wire.QueueKind
	Severity      rule.Severity // at least
	Assignee      string        // "me" for the caller, "none" for nobody
	By            string
	Words         string
	Snoozed       bool // also items that are put aside
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
	all, cut, err := q.collectEach(ctx, places, now)
	if err != nil {
		return out, err
	}
	found := slices.DeleteFunc(all, func(r row) bool { return !f.matches(&r, who.Name) })
	if words := strings.Fields(strings.ToLower(f.Words)); len(words) > 0 {
		if err := q.describe(ctx, found); err != nil {
			return out, err
		}
		found = slices.DeleteFunc(found, func(r row) bool { return !r.mentions(words) })
	}
	for _, r := range found {
		out.Counts[r.item.Kind]++
	}
	if len(f.Kinds) > 0 {
		found = slices.DeleteFunc(found, func(r row) bool { return !slices.Contains(f.Kinds, r.item.Kind) })
	}
	sortRows(found, f.Order)
	out.Total, out.Cut = len(found), cut
	from := min(max(f.Offset, 0), len(found))
	page := found[from:min(from+max(f.Limit, 0), len(found))]
	if err := q.describe(ctx, page); err != nil {
		return out, err
	}
	for _, r := range page {
		item := *r.item
		item.Assignee, item.SnoozedUntil = r.assignee, r.snoozed
		complete(ctx, &item)
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// row is an item with what people have noted on it. The item may be of a list that is kept, so nobody changes it; those of evaluations are not.
type row struct {
	item     *wire.QueueItem
	words    string // as in [waiting]
	entry    entry  // of an evaluation
	assignee string
	snoozed  *time.Time // in the future
}

// matches reports whether the filter selects a row, its words left out.
func (f *Filter) matches(r *row, caller string) bool {
	assignee := f.Assignee
	if assignee == "me" {
		assignee = caller
	}
	switch {
	case r.snoozed != nil && !f.Snoozed,
		f.Severity != "" && r.item.Severity.Rank() < f.Severity.Rank(),
		f.By != "" && r.item.By != f.By,
		assignee == "none" && r.assignee != "",
		assignee != "" && assignee != "none" && r.assignee != assignee:
		return false
	}
	return true
}

// mentions reports whether the title and the detail of an item have all words, which are in lower case.
func (r *row) mentions(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(r.words, w) })
}

func wordsOf(item *wire.QueueItem) string { return strings.ToLower(item.Title + " " + item.Detail) }

// sortRows puts rows into an order; the oldest first where nothing else decides.
func sortRows(rows []row, order string) {
	slices.SortFunc(rows, func(r, other row) int {
		a, b := r.item, other.item
		if order != "age" && order != "newest" {
			if d := b.Severity.Rank() - a.Severity.Rank(); d != 0 {
				return d
			}
		}
		age := a.Since.Compare(b.Since)
		if age == 0 {
			age = cmp.Or(cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.ID, b.ID))
		}
		if order == "newest" {
			return -age
		}
		return age
	})
}

// complete adds what is worked out only for the items of a page.
func complete(ctx context.Context, item *wire.QueueItem) {
	item.Title, item.Detail = text.FitRunes(item.Title, maxTitle, "…"), text.FitRunes(item.Detail, maxDetail, "…")
	who := auth.ActorFrom(ctx)
	if item.Actions != nil || who.May(auth.Reviewer, item.ProjectID) != nil {
		item.Actions = []wire.QueueAction{}
		return
	}
	item.Actions = offered[item.Kind]
	own := item.By == who.Name
	if item.Kind == wire.QueueApproval && own {
		item.Actions = []wire.QueueAction{}
	}
	if item.Kind == wire.QueueWaiver && own || item.Kind == wire.QueueRevision && (own || item.Stale) {
		item.Actions = []wire.QueueAction{wire.QueueReject}
	}
}
