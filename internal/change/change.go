// Package change runs the transactions that change a project's rules, relationships, waivers and federation nodes. Each raises
// the corpus version, and then brings the views of this node up to date.
package change

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// ErrUndo rolls a transaction back, if its function returns it, without an error to the caller.
var ErrUndo = errors.New("undo")

// Hook is part of the transaction of every change, so that work that follows from it can be queued. An error of it undoes the
// change.
type Hook func(ctx context.Context, tx store.Tx, projectID string) error

// Views refreshes the corpus views of projects; corpus.Live is one.
type Views interface {
	Refresh(ctx context.Context, projectID string) (*corpus.View, error)
}

// Publish sends an event to webhooks as part of a transaction.
type Publish func(ctx context.Context, tx store.Tx, e rule.Event) error

// MaxEvents bounds the events of one change; an import may submit many rules at once.
const MaxEvents = 100

// Changes runs changes.
type Changes struct {
	publish Publish // nil publishes nothing
	store   store.Updater
	views   Views
	hook    Hook
	logger  *slog.Logger
	now     func() time.Time
	groups  *groups
}

// New returns a Changes. hook may be nil.
func New(s store.Updater, views Views, hook Hook, logger *slog.Logger, now func() time.Time) *Changes {
	return &Changes{store: s, views: views, hook: hook, logger: logger, now: now, groups: &groups{logger: logger, lanes: map[string]*lane{}}}
}

// Publishing returns a Changes whose changes publish their events.
func (c *Changes) Publishing(publish Publish) *Changes {
	other := *c
	other.publish = publish
	return &other
}

// Change is a change inside its transaction.
type Change struct {
	Tx      store.Tx
	Project rule.Project
	Version int64     // corpus version that the change makes
	At      time.Time // of the change, as it is stored
	By      string    // name of the actor

	events []rule.Event
}

// Event lets an event about a rule be published at the end of the change; of one change, the first [MaxEvents] are. data is the JSON object that the API
// would answer for its subject.
func (c *Change) Event(t rule.EventType, r *rule.Rule, data any) {
	if len(c.events) == MaxEvents {
		return
	}
	c.events = append(c.events, rule.Event{
		ID: audit.NewID(), ProjectID: c.Project.ID, Type: t, Time: c.At, RuleIDs: []string{r.ID}, Severity: r.Severity, Scope: r.Scope, Data: audit.JSON(data),
	})
}

// Run runs fn in a transaction with the corpus version raised. The transaction may run again, and fn with it. It may have other changes of the
// project, which came while one was being stored; an error of one undoes no other. After the commit Run refreshes the project's view, so that this
// node reads its own writes. A refresh that fails is only logged: the change is stored, and the view follows with the next poll.
func (c *Changes) Run(ctx context.Context, projectID string, fn func(*Change) error) error {
	return c.run(ctx, projectID, false, fn)
}

// RunApart is [Changes.Run] for a change that may be large or be undone: no other one shares its transaction.
func (c *Changes) RunApart(ctx context.Context, projectID string, fn func(*Change) error) error {
	return c.run(ctx, projectID, true, fn)
}

func (c *Changes) run(ctx context.Context, projectID string, apart bool, fn func(*Change) error) error {
	m := &member{ctx: ctx, apart: apart, join: func(tx store.Tx) error { return c.Join(ctx, tx, projectID, fn) }}
	err := c.groups.run(c.store, projectID, m)
	if errors.Is(err, ErrUndo) {
		return nil
	}
	if err != nil {
		return err
	}
	// A caller who has gone leaves a change that others read.
	if _, err := c.views.Refresh(context.WithoutCancel(ctx), projectID); err != nil {
		c.logger.ErrorContext(ctx, "a stored change is not visible on this node yet", "project", projectID, "error", err)
	}
	return nil
}

// Latest returns the view of a project as the database has it now, for those who want to know what a change would do.
func (c *Changes) Latest(ctx context.Context, projectID string) (*corpus.View, error) {
	return c.views.Refresh(ctx, projectID)
}

// Join is [Changes.Run] as a part of a transaction of the caller, who refreshes the view if needed.
func (c *Changes) Join(ctx context.Context, tx store.Tx, projectID string, fn func(*Change) error) error {
	version, err := tx.Projects.RaiseCorpus(ctx, projectID)
	if err != nil {
		return err
	}
	project, err := tx.Projects.Get(ctx, projectID)
	if err != nil {
		return err
	}
	// The time is read under the lock of the corpus version, so that changes are in the order of their times.
	ch := &Change{Tx: tx, Project: project, Version: version, At: rule.Instant(c.now()), By: auth.ActorFrom(ctx).Name}
	if err := fn(ch); err != nil {
		return err
	}
	if c.hook != nil {
		if err := c.hook(ctx, tx, projectID); err != nil {
			return err
		}
	}
	if c.publish == nil {
		return nil
	}
	for _, e := range ch.events {
		if err := c.publish(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// Before returns the corpus as it is before the change. All other changes of the project wait for this one, so the view is
// exact. latest is any view of the project that the caller has.
func (c *Change) Before(ctx context.Context, latest *corpus.View) (*corpus.View, error) {
	if latest.Version() == c.Version-1 {
		return latest, nil
	}
	return latest.Follow(ctx, c.Tx.Federation, c.Project.ID)
}

// Note appends a record of the change to the audit chain. That of a change of rules says how many rules there are after it.
func (c *Change) Note(ctx context.Context, kind string, body map[string]any) error {
	if kind == audit.KindRule || kind == audit.KindImport || kind == audit.KindCorpus {
		switch tally, err := c.Tx.Rules.Tally(ctx, c.Project.ID); {
		case err == nil:
			body["corpus"] = tally
		case rule.CodeOf(err) != rule.CodeNotFound:
			return err
		}
	}
	return audit.Append(ctx, c.Tx, c.Project.ID, c.Record(kind, body))
}

// Record returns the record that [Change.Note] appends.
func (c *Change) Record(kind string, body map[string]any) audit.Record {
	return audit.Record{Kind: kind, At: c.At, Actor: c.By, Body: audit.JSON(body)}
}
