package api

import (
	"context"
	"net/http"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	cachePath = "/api/v1/cache"
	cacheTag  = "Cache"
)

func (s *server) cacheRoutes() {
	register(s, operation{
		id: "get-cache", method: http.MethodGet, path: cachePath, tag: cacheTag, role: auth.Viewer,
		summary: "Get how many verdicts are kept", description: "Those of the project, in the database.",
	}, s.getCache)
	registerBody(s, operation{
		id: "prune-cache", method: http.MethodPost, path: cachePath + "/prune", tag: cacheTag, role: auth.Admin,
		summary: "Delete old kept verdicts", description: "By age, by size, or both. What is deleted is judged again when it is needed.",
	}, s.pruneCache)
	register(s, operation{
		id: "clear-cache", method: http.MethodDelete, path: cachePath, tag: cacheTag, role: auth.Admin, status: http.StatusOK,
		summary: "Delete all kept verdicts", description: "Everything is judged again when it is needed.",
	}, s.clearCache)
}

// CacheStats tells how many verdicts of a project are kept.
type CacheStats struct {
	ProjectID string `json:"project_id" doc:"The project."`
	store.VerdictStats
}

type cacheStats struct{ Body CacheStats }

func (s *server) getCache(ctx context.Context, _ *struct{ ProjectQuery }) (*cacheStats, error) {
	if err := s.exists(ctx); err != nil {
		return nil, err
	}
	stats, err := s.cfg.Verdicts.Stats(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	return &cacheStats{CacheStats{project(ctx), stats}}, nil
}

// PruneCache is the body that says which kept verdicts to delete.
type PruneCache struct {
	Before   *time.Time `json:"before,omitempty" required:"false" doc:"Delete verdicts made before this time."`
	MaxBytes *int64     `json:"max_bytes,omitempty" required:"false" minimum:"1" doc:"Delete the oldest until the text of the others has at most so many bytes."`
}

// CacheDeleted tells how many verdicts were deleted.
type CacheDeleted struct {
	Deleted int64 `json:"deleted" doc:"Verdicts that were deleted."`
}

type cacheDeleted struct{ Body CacheDeleted }

func (s *server) pruneCache(ctx context.Context, _ *struct{ ProjectQuery }, body *PruneCache) (*cacheDeleted, error) {
	var p store.Prune
	if body.Before != nil {
		p.Before = *body.Before
	}
	if body.MaxBytes != nil {
		p.MaxBytes = *body.MaxBytes
	}
	if p.Before.IsZero() && p.MaxBytes == 0 {
		var problems rule.Problems
		problems.Add("before", "and max_bytes are both absent; say what to delete, or delete all with DELETE")
		return nil, problems.Err("the request is invalid")
	}
	return s.deleteVerdicts(ctx, p)
}

func (s *server) clearCache(ctx context.Context, _ *struct{ ProjectQuery }) (*cacheDeleted, error) {
	return s.deleteVerdicts(ctx, store.Prune{All: true})
}

func (s *server) deleteVerdicts(ctx context.Context, p store.Prune) (*cacheDeleted, error) {
	if err := s.exists(ctx); err != nil {
		return nil, err
	}
	n, err := s.cfg.Verdicts.Prune(ctx, project(ctx), p)
	if err != nil {
		return nil, err
	}
	return &cacheDeleted{CacheDeleted{n}}, nil
}
