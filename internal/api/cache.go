package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/judge"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// VerdictCache serves the stored verdicts of the judge.
type VerdictCache struct {
	Cache    *judge.Cache
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
		Description: "By age, by size, or both. The server judges again when it needs a deleted verdict.",
	}, func(ctx context.Context, _ *rest.None, body *wire.PruneCache) (wire.CacheDeleted, error) {
		var p store.Prune
		if body.Before != nil {
			p.Before = *body.Before
		}
		if body.MaxBytes != nil {
			p.MaxBytes = *body.MaxBytes
		}
		if p.Before.IsZero() && p.MaxBytes == 0 {
			return wire.CacheDeleted{}, rest.InvalidField("before", "and max_bytes are both absent; say what to delete, or delete all with DELETE")
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

func (s VerdictCache) prune(ctx context.Context, p store.Prune) (out wire.CacheDeleted, err error) {
	if err := projectExists(ctx, s.Projects); err != nil {
		return out, err
	}
	out.Deleted, err = s.Cache.Prune(ctx, rest.Project(ctx), p)
	return out, err
}
