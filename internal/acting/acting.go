// Package acting knows the agents that act for people: those that have asked for evaluations, and those that are suspended, whose requests
// are denied on all nodes within a second.
package acting

import (
	"context"
	"strings"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// freshFor is how long a node uses its knowledge of the suspensions without asking the database again. A suspension takes effect on all nodes
// within that time.
const freshFor = 400 * time.Millisecond

// maxPending bounds the agents that were seen and are not written yet. Further ones are not listed until the next write.
const maxPending = 10_000

// Store is the part of the database that an [Agents] uses.
type Store struct {
	store.Updater
	Agents   store.AgentReader
	Projects store.ProjectReader
}

// Config sets up [New]. All fields but Publish are required.
type Config struct {
	Store Store
	Now   func() time.Time
	// Publish publishes suspensions in the transaction of their cause; nil publishes none.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
}

// Agents lists, suspends and resumes agents. It is safe for concurrent use.
type Agents struct {
	cfg Config

	reading sync.Mutex // held while the suspensions are read
	mu      sync.Mutex
	known   []rule.Suspension // in force
	until   time.Time         // when known is no longer fresh, by the monotonic clock
	seen    map[agentKey]store.SeenAgent
}

type agentKey struct{ project, agent, person string }

// New makes an Agents.
func New(cfg Config) *Agents { return &Agents{cfg: cfg, seen: map[agentKey]store.SeenAgent{}} }

// Suspended returns the suspension that stops an identity in a project; nil if none does.
func (a *Agents) Suspended(ctx context.Context, projectID string, id rule.Identity) (*rule.Suspension, error) {
	if id.Agent == "" {
		return nil, nil
	}
	list, err := a.inForce(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		s := &list[i]
		if (s.ProjectID == store.AllProjects || s.ProjectID == projectID) && s.Stops(id) {
			found := *s
			return &found, nil
		}
	}
	return nil, nil
}

// MayAct returns a forbidden error if the agent of an identity is suspended in a project.
func (a *Agents) MayAct(ctx context.Context, projectID string, id rule.Identity) error {
	s, err := a.Suspended(ctx, projectID, id)
	if err != nil || s == nil {
		return err
	}
	return s.Refusal()
}

// inForce returns the suspensions in force. Callers must not change them.
func (a *Agents) inForce(ctx context.Context) ([]rule.Suspension, error) {
	if list, fresh := a.cached(); fresh {
		return list, nil
	}
	a.reading.Lock()
	defer a.reading.Unlock()
	if list, fresh := a.cached(); fresh { // another request has read them meanwhile
		return list, nil
	}
	began := time.Now()
	list, err := a.cfg.Store.Agents.Suspended(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known, a.until = list, began.Add(freshFor)
	return list, nil
}

func (a *Agents) cached() ([]rule.Suspension, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known, time.Now().Before(a.until)
}

func (a *Agents) forget() {
	a.reading.Lock() // a read that has begun before the change must not be kept
	defer a.reading.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = time.Time{}
}

// Suspend suspends an agent in a project, or in all; with a person, only where it acts for that one.
func (a *Agents) Suspend(ctx context.Context, projectID, agent, person, reason string) (rule.Suspension, error) {
	s := rule.Suspension{
		ID: audit.NewID(), ProjectID: projectID, Agent: strings.TrimSpace(agent), Person: strings.TrimSpace(person), Reason: strings.TrimSpace(reason),
		SuspendedAt: rule.Instant(a.cfg.Now()), SuspendedBy: auth.ActorFrom(ctx).Name,
	}
	var p rule.Problems
	auth.CheckActing(&p, "agent", s.Agent)
	auth.CheckActing(&p, "person", s.Person)
	if s.Agent == "" {
		p.Add("agent", "is missing")
	}
	checkReason(&p, s.Reason)
	if err := p.Err("the suspension is invalid"); err != nil {
		return s, err
	}
	defer a.forget()
	return s, a.cfg.Store.Update(ctx, func(tx store.Tx) error {
		if projectID != store.AllProjects {
			if _, err := tx.Projects.Get(ctx, projectID); err != nil {
				return err
			}
		}
		if err := tx.Agents.Suspend(ctx, s); err != nil {
			return err
		}
		return a.note(ctx, tx, &s, "suspended", rule.AgentSuspended)
	})
}

// Lift lifts a suspension.
func (a *Agents) Lift(ctx context.Context, projectID, id, reason string) (s rule.Suspension, err error) {
	var p rule.Problems
	reason = strings.TrimSpace(reason)
	checkReason(&p, reason)
	if err := p.Err("the suspension cannot be lifted so"); err != nil {
		return s, err
	}
	defer a.forget()
	return s, a.cfg.Store.Update(ctx, func(tx store.Tx) error {
		s, err = tx.Agents.Lift(ctx, projectID, id, rule.Instant(a.cfg.Now()), auth.ActorFrom(ctx).Name, reason)
		if err != nil {
			return err
		}
		return a.note(ctx, tx, &s, "resumed", rule.AgentResumed)
	})
}

// maxReason bounds a reason, in bytes.
const maxReason = 4000

func checkReason(p *rule.Problems, reason string) {
	if reason == "" || len(reason) > maxReason {
		p.Add("reason", "must have 1 to %d bytes", maxReason)
	}
}

// note records and publishes the change of a suspension: one for all projects is recorded in the default project, and published in each.
func (a *Agents) note(ctx context.Context, tx store.Tx, s *rule.Suspension, action string, kind rule.EventType) error {
	at, project := s.SuspendedAt, s.ProjectID
	if s.LiftedAt != nil {
		at = *s.LiftedAt
	}
	told := []string{project}
	if project == store.AllProjects {
		project, told = rule.DefaultProject, nil
		all, err := tx.Projects.List(ctx)
		if err != nil {
			return err
		}
		for _, one := range all {
			told = append(told, one.ID)
		}
	}
	reason := s.Reason
	if s.LiftedAt != nil {
		reason = s.LiftReason
	}
	err := audit.Append(ctx, tx, project, audit.Record{
		Kind: audit.KindSuspension, At: at, Actor: auth.ActorFrom(ctx).Name,
		Body: audit.JSON(map[string]any{"action": action, "reason": reason, "suspension": s}),
	})
	if err != nil || a.cfg.Publish == nil {
		return err
	}
	for _, id := range told {
		err := a.cfg.Publish(ctx, tx, rule.Event{ID: audit.NewID(), ProjectID: id, Type: kind, Time: at, Severity: rule.High, Data: audit.JSON(s)})
		if err != nil {
			return err
		}
	}
	return nil
}

// Suspensions returns a page of the suspensions of a project and of those for all projects, newest first, and the total.
func (a *Agents) Suspensions(ctx context.Context, f store.SuspensionFilter) ([]rule.Suspension, int, error) {
	return a.cfg.Store.Agents.Suspensions(ctx, f)
}

// Saw notes that an agent has asked for an evaluation.
func (a *Agents) Saw(projectID, actor string, id rule.Identity, denied bool) {
	if id.Agent == "" {
		return
	}
	now := rule.Instant(a.cfg.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	key := agentKey{projectID, id.Agent, id.Person}
	s, ok := a.seen[key]
	if !ok {
		if len(a.seen) >= maxPending {
			return
		}
		s = store.SeenAgent{ProjectID: projectID, Agent: id.Agent, Person: id.Person, FirstSeen: now}
	}
	s.Actor, s.Session, s.LastSeen, s.Verified = actor, id.Session, now, s.Verified || !id.Claims("agent")
	s.Evaluations++
	if denied {
		s.Denied++
	}
	a.seen[key] = s
}

// Flush writes the agents that were seen. If it fails, the next call writes them.
func (a *Agents) Flush(ctx context.Context) error {
	a.mu.Lock()
	seen := a.seen
	a.seen = map[agentKey]store.SeenAgent{}
	a.mu.Unlock()
	if len(seen) == 0 {
		return nil
	}
	list := make([]store.SeenAgent, 0, len(seen))
	for _, s := range seen {
		list = append(list, s)
	}
	err := a.cfg.Store.Update(ctx, func(tx store.Tx) error { return tx.Agents.See(ctx, list) })
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, before := range seen {
		now, ok := a.seen[key]
		if !ok {
			now = before
		} else {
			now.FirstSeen, now.Verified = before.FirstSeen, now.Verified || before.Verified
			now.Evaluations, now.Denied = now.Evaluations+before.Evaluations, now.Denied+before.Denied
		}
		a.seen[key] = now
	}
	return err
}

// Seen is an agent with the suspension that stops it, if one does.
type Seen struct {
	store.SeenAgent

	Suspension *rule.Suspension
}

// List returns a page of the agents of a project, the last seen first, and the total. Agents that other nodes have seen take up to half a
// minute to be listed.
func (a *Agents) List(ctx context.Context, f store.AgentFilter) ([]Seen, int, error) {
	if _, err := a.cfg.Store.Projects.Get(ctx, f.ProjectID); err != nil {
		return nil, 0, err
	}
	if err := a.Flush(ctx); err != nil {
		return nil, 0, err
	}
	list, total, err := a.cfg.Store.Agents.Find(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	out := make([]Seen, len(list))
	for i, s := range list {
		stop, err := a.Suspended(ctx, f.ProjectID, rule.Identity{Agent: s.Agent, Person: s.Person})
		if err != nil {
			return nil, 0, err
		}
		out[i] = Seen{s, stop}
	}
	return out, total, nil
}
