package catalog

import (
	"context"
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

// CountUncounted counts the rules of the projects of an older database, which has no tallies.
func (c *Catalog) CountUncounted(ctx context.Context) error {
	projects, err := c.store.Projects.List(ctx)
	if err != nil {
		return err
	}
	for i := range projects {
		if _, err := c.store.Rules.Tally(ctx, projects[i].ID); rule.CodeOf(err) != rule.CodeNotFound {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := c.recount(ctx, projects[i].ID, map[string]any{"action": "counted"}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Catalog) recount(ctx context.Context, projectID string, body map[string]any) (store.Tally, error) {
	var tally store.Tally
	err := c.changes.Run(ctx, projectID, func(ch *change.Change) error {
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
		return ch.Note(ctx, audit.KindCorpus, body)
	})
	return tally, err
}
