package health

import (
	"context"
	"log/slog"
	"slices"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// maxDenials is how many of the newest denials of a rule an alert is about.
const maxDenials = 100

// name adds who asked for the newest denials to alerts about high rates. An alert without them is better than none, so a failure is logged.
func (c *conditions) name(ctx context.Context, list []rule.Alert) {
	for i := range list {
		if a := &list[i]; a.Type == rule.HighDenyRate {
			a.Acted = c.acted(ctx, a.ProjectID, a.RuleID)
		}
	}
}

func (c *conditions) acted(ctx context.Context, projectID, ruleID string) []rule.ActedBy {
	if c.denials == nil {
		return nil
	}
	entries, err := c.denials(ctx, projectID, ruleID, c.window(projectID, nil).From.Time(), maxDenials)
	if err != nil {
		c.log.WarnContext(ctx, "the denials of a rule cannot be found, so an alert about it names nobody", slog.String("project", projectID),
			slog.String("rule", ruleID), slog.Any("error", err))
	}
	return actedBy(entries)
}

// rising returns who asked for the denials of the rules whose rate becomes high with the counts of a batch. It reads before the transaction
// that adds them, because others wait for that.
func (c *conditions) rising(ctx context.Context, projectID string, batch []store.RuleCount) (map[string][]rule.ActedBy, error) {
	if c.denials == nil {
		return nil, nil
	}
	ids := ruleIDs(batch)
	within := c.window(projectID, ids)
	within.Min = 0
	counts, err := c.store.Counts.Rules(ctx, within)
	if err != nil {
		return nil, err
	}
	for i := range batch {
		if batch[i].Day >= within.From {
			counts = append(counts, batch[i])
		}
	}
	sums := map[string]*store.RuleCount{}
	for i := range counts {
		n := &counts[i]
		if s := sums[n.RuleID]; s != nil {
			s.Allowed, s.Denied, s.Unsure = s.Allowed+n.Allowed, s.Denied+n.Denied, s.Unsure+n.Unsure
		} else {
			sums[n.RuleID] = n
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return sums[id] == nil || !c.high(sums[id]) })
	if len(ids) == 0 {
		return nil, nil
	}
	quiet, err := c.quiet(ctx, found{projectID: projectID, kind: rule.HighDenyRate, hold: make([]rule.Alert, 1)})
	if err != nil {
		return nil, err
	}
	acted := map[string][]rule.ActedBy{}
	for _, id := range ids {
		if !quiet[id] {
			acted[id] = c.acted(ctx, projectID, id)
		}
	}
	return acted, nil
}

// actedBy names those who asked for evaluations, which come newest first: each actor with each agent and person once.
func actedBy(entries []store.AuditEntry) []rule.ActedBy {
	type key struct{ actor, agent, person string }
	var list []rule.ActedBy
	at := map[key]int{}
	for i := range entries {
		e := &entries[i]
		who := rule.ActedBy{Actor: cut(e.Actor, maxName), Evaluations: 1, EvaluationID: e.ID, At: e.At}
		if id := audit.EvaluationIdentity(e); id != nil {
			who.Identity = rule.Identity{
				Person: cut(id.Person, maxName), Agent: cut(id.Agent, maxName), Session: cut(id.Session, maxName), Client: cut(id.Client, maxName), Claimed: id.Claimed,
			}
		}
		k := key{who.Actor, rule.FoldName(who.Agent), rule.FoldName(who.Person)}
		if n, ok := at[k]; ok {
			list[n].Evaluations++
		} else {
			at[k] = len(list)
			list = append(list, who)
		}
	}
	return list[:min(len(list), rule.MaxActed)]
}
