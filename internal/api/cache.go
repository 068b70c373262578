package api

import (
	"context"
	"net/http"
	"slices"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// VerdictCache serves the stored verdicts of the judge.
type VerdictCache struct {
	Cache    *judge.Cache
	Recorded Recorded
	Projects store.ProjectReader
}

// Routes implements [rest.Resource].
func (s VerdictCache) Routes(r *rest.Router) {
	r = r.Tag(cacheTag)
	rest.Handle(r, rest.Operation{
		ID: "get-cache", Route: op.GetCache.Route(), Role: auth.Viewer, Summary: "Count the stored verdicts", Description: "The verdicts of the project in the database.",
	}, func(ctx context.Context, _ *rest.None) (out wire.CacheStats, err error) {
		if err := projectExists(ctx, s.Projects); err != nil {
			return out, err
		}
		stats, err := s.Cache.Stats(ctx, rest.Project(ctx))
		return wire.CacheStats{ProjectID: rest.Project(ctx), VerdictStats: stats}, err
	})
	rest.HandleBody(r, rest.Operation{
		ID: "prune-cache", Route: op.PruneCache.Route(), Role: auth.Admin, Summary: "Delete old stored verdicts",
		Description: "By age, by size, or those of one evaluation. Other servers follow within a second; of verdicts deleted by size they may use what they have in memory. The server judges again when it needs a deleted verdict.",
	}, func(ctx context.Context, _ *rest.None, body *wire.PruneCache) (wire.CacheDeleted, error) {
		var p store.Prune
		if body.Before != nil {
			p.Before = *body.Before
		}
		if body.MaxBytes != nil {
			p.MaxBytes = *body.MaxBytes
		}
		if body.EvaluationID != "" {
			if err := s.forgetting(ctx, body, &p); err != nil {
				return wire.CacheDeleted{}, err
			}
		} else if body.RuleID != "" {
			return wire.CacheDeleted{}, rest.InvalidField("rule_id", "takes an evaluation_id")
		}
		if p.Before.IsZero() && p.MaxBytes == 0 && len(p.Units) == 0 {
			return wire.CacheDeleted{}, rest.InvalidField("before", "and max_bytes and evaluation_id are absent; say what to delete, or delete all with DELETE")
		}
		return s.prune(ctx, p)
	})
	rest.Handle(r, rest.Operation{
		ID: "clear-cache", Route: op.ClearCache.Route(), Role: auth.Admin, Status: http.StatusOK,
		Summary: "Delete all stored verdicts", Description: "The server judges again when it needs a verdict.",
	}, func(ctx context.Context, _ *rest.None) (wire.CacheDeleted, error) {
		return s.prune(ctx, store.Prune{All: true})
	})
}

// forgetting selects the stored verdicts of an evaluation.
func (s VerdictCache) forgetting(ctx context.Context, body *wire.PruneCache, p *store.Prune) error {
	rec, err := s.Recorded.Get(ctx, rest.Project(ctx), body.EvaluationID)
	if err != nil {
		return err
	}
	ruleID := ""
	if body.RuleID != "" {
		i := slices.IndexFunc(rec.Evaluation.RuleVerdicts, func(v rule.RuleVerdict) bool { return v.RuleID == body.RuleID || v.RuleSlug == body.RuleID })
		if i < 0 {
			return rest.InvalidField("rule_id", "has no verdict in this evaluation")
		}
		ruleID = rec.Evaluation.RuleVerdicts[i].RuleID
	}
	p.Units, p.Rules = rec.StoredKeys(ruleID)
	if len(p.Units) == 0 {
		return rest.InvalidField("evaluation_id", "names an evaluation in which no model took part, or whose record holds no keys; delete all with DELETE")
	}
	return nil
}

func (s VerdictCache) prune(ctx context.Context, p store.Prune) (out wire.CacheDeleted, err error) {
	if err := projectExists(ctx, s.Projects); err != nil {
		return out, err
	}
	out.Deleted, err = s.Cache.Prune(ctx, rest.Project(ctx), p)
	return out, err
}
