package catalog

import (
	"context"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/change"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Projects keeps the projects.
type Projects struct {
	store   store.Updater
	reader  store.ProjectReader
	changes *change.Changes
	now     func() time.Time
	// FailModes are those of the server: the policy of no project may be looser.
	FailModes rule.FailModes
}

// NewProjects returns the Projects of a database. changes carries out the changes of policies; it may be nil where none is changed. now
// is the clock.
func NewProjects(s store.Updater, r store.ProjectReader, changes *change.Changes, now func() time.Time) *Projects {
	return &Projects{store: s, reader: r, changes: changes, now: now}
}

// ProjectInput is a project as its admin writes it. On an update, absent fields stay as they are.
type ProjectInput struct {
	Name          *string
	Description   *string
	TwoPerson     *bool
	TestsRequired *bool
	Policy        *wire.ProjectPolicyInput
}

// List returns all projects by id.
func (s *Projects) List(ctx context.Context) ([]rule.Project, error) {
	return s.reader.List(ctx)
}

// Get returns one project.
func (s *Projects) Get(ctx context.Context, id string) (rule.Project, error) {
	return s.reader.Get(ctx, id)
}

// Create makes a project; conflict if its id is taken.
func (s *Projects) Create(ctx context.Context, id string, in ProjectInput) (rule.Project, error) {
	now := rule.Instant(s.now())
	p := rule.Project{ID: id, Name: id, CreatedAt: now, UpdatedAt: now}
	policy, err := in.apply(&p, s.FailModes)
	if err != nil {
		return rule.Project{}, err
	}
	return p, s.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.Projects.Create(ctx, p); err != nil {
			return err
		}
		return noteProject(ctx, tx, "created", nil, p, policy)
	})
}

// Update changes a project. A change of its policy holds from the next evaluation on: like a change of a rule, it raises the
// corpus version.
func (s *Projects) Update(ctx context.Context, id string, in ProjectInput) (rule.Project, error) {
	var p rule.Project
	update := func(tx store.Tx) error {
		var err error
		if p, err = tx.Projects.Get(ctx, id); err != nil {
			return err
		}
		before := p
		policy, err := in.apply(&p, s.FailModes)
		if err != nil {
			return err
		}
		p.UpdatedAt = rule.Instant(s.now())
		if err := tx.Projects.Update(ctx, p); err != nil {
			return err
		}
		return noteProject(ctx, tx, "changed", &before, p, policy)
	}
	var err error
	if in.Policy == nil {
		err = s.store.Update(ctx, update)
	} else {
		err = s.changes.Run(ctx, id, func(ch *change.Change) error { return update(ch.Tx) })
	}
	return p, err
}

// apply changes a project and returns the change of its policy, if any. The error names every wrong field.
func (in *ProjectInput) apply(p *rule.Project, least rule.FailModes) (*policyChange, error) {
	rule.Set(&p.Name, in.Name)
	rule.Set(&p.Description, in.Description)
	rule.Set(&p.TwoPerson, in.TwoPerson)
	rule.Set(&p.TestsRequired, in.TestsRequired)
	p.Name, p.Description = strings.TrimSpace(p.Name), strings.TrimSpace(p.Description)
	if err := validateProject(*p); err != nil {
		return nil, err
	}
	return changePolicy(p, in.Policy, least)
}

func validateProject(p rule.Project) error {
	var problems rule.Problems
	if !rule.ValidProjectID(p.ID) {
		problems.Add("id", "must have 1 to 63 lower-case letters, digits, - and _, and begin with a letter or digit")
	}
	if p.Name == "" || len(p.Name) > rule.MaxLabel {
		problems.Add("name", "must have 1 to %d bytes", rule.MaxLabel)
	}
	if len(p.Description) > rule.MaxRationale {
		problems.Add("description", "has %d bytes; at most %d are allowed", len(p.Description), rule.MaxRationale)
	}
	return problems.Err("the project is invalid")
}

// noteProject notes a change of a project in the audit chain; before is nil for a new one, policy if its policy stays.
func noteProject(ctx context.Context, tx store.Tx, action string, before *rule.Project, p rule.Project, policy *policyChange) error {
	body := map[string]any{"action": action, "project": p}
	if before != nil {
		earlier := *before
		earlier.UpdatedAt = p.UpdatedAt // goes without saying
		body["changed"] = audit.Changed(earlier, p)
	}
	if policy != nil {
		body["policy"] = policy
	}
	return audit.Append(ctx, tx, p.ID, audit.Record{
		Kind: audit.KindProject, At: p.UpdatedAt, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(body),
	})
}
