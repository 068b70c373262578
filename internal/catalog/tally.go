package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/change"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// AcceptCorpus makes the rules of a project that the database has those that it should have, after a damage that no backup mends. It is
// recorded with the reason. The error is unavailable if a row cannot be read.
func (c *Catalog) AcceptCorpus(ctx context.Context, projectID, reason string) (store.Tally, error) {
	var p rule.Problems
	if reason = strings.TrimSpace(reason); reason == "" || len(reason) > rule.MaxRationale {
		p.Add("reason", "must have 1 to %d bytes: say why rules may be missing", rule.MaxRationale)
	}
	if err := p.Err("the rules are not accepted"); err != nil {
		return store.Tally{}, err
	}
	return c.recount(ctx, projectID, map[string]any{"action": "accepted", "reason": reason})
}

// CountUncounted counts the rules of the projects of an older database, which has no tallies. It also records what is in force in the projects of a
// database whose audit logs do not explain it yet; the default project is the last, so that nothing is recorded again once that is done.
func (c *Catalog) CountUncounted(ctx context.Context, explained func(ctx context.Context, projectID string) (bool, error)) error {
	projects, err := c.store.Projects.List(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(projects, func(a, b rule.Project) int { return last(a.ID) - last(b.ID) })
	done := len(projects) == 0
	if !done {
		done, err = explained(ctx, projects[len(projects)-1].ID)
		if done = done || errors.Is(err, store.ErrDamaged); err != nil && !done {
			return err
		}
	}
	for i := range projects {
		_, err := c.store.Rules.Tally(ctx, projects[i].ID)
		switch {
		case rule.CodeOf(err) == rule.CodeNotFound:
			_, err = c.recount(ctx, projects[i].ID, map[string]any{"action": "counted"})
		case err == nil && !done:
			err = recordAll(ctx, c.changes, projects[i].ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// last is 1 for the default project, and 0 for others.
func last(projectID string) int {
	if projectID == rule.DefaultProject {
		return 1
	}
	return 0
}

func (c *Catalog) recount(ctx context.Context, projectID string, body map[string]any) (store.Tally, error) {
	var tally store.Tally
	err := c.changes.RunApart(ctx, projectID, func(ch *change.Change) error {
		switch before, err := ch.Tx.Rules.Tally(ctx, projectID); {
		case err == nil && body["action"] == "counted":
			tally = before // another node was faster
			return change.ErrUndo
		case err == nil:
			body["before"] = before
		case rule.CodeOf(err) != rule.CodeNotFound:
			return err
		}
		var err error
		if tally, err = ch.Tx.Rules.Recount(ctx, projectID, ch.Version); err != nil {
			return err
		}
		ch.Tx.InForce.ChangeAll(projectID)
		return ch.Note(ctx, audit.KindCorpus, body)
	})
	return tally, err
}

// recordAll has an entry explain all that is in force in a project of an older version.
func recordAll(ctx context.Context, changes *change.Changes, projectID string) error {
	return changes.RunApart(ctx, projectID, func(ch *change.Change) error {
		ch.Tx.InForce.ChangeAll(projectID)
		return ch.Note(ctx, audit.KindCorpus, map[string]any{"action": "recorded"})
	})
}
