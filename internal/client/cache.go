package client

import (
	"context"
	"net/http"
	"time"

	"tenet/internal/store"
)

const cachePath = "/api/v1/cache"

// CacheStats tells how many verdicts of a project are kept.
type CacheStats struct {
	ProjectID string `json:"project_id"`
	store.VerdictStats
}

// CacheStats returns how many verdicts of the client's project are kept.
func (c *Client) CacheStats(ctx context.Context) (CacheStats, error) {
	return into[CacheStats](ctx, c, get(cachePath, nil))
}

type deleted struct {
	Deleted int64 `json:"deleted"`
}

// PruneCache deletes the verdicts of the client's project that were made before a time (all ages, if it is zero), and the
// oldest until the others have at most so many bytes (any number, if it is 0). It returns how many were deleted.
func (c *Client) PruneCache(ctx context.Context, before time.Time, maxBytes int64) (int64, error) {
	body := map[string]any{}
	if !before.IsZero() {
		body["before"] = before
	}
	if maxBytes > 0 {
		body["max_bytes"] = maxBytes
	}
	k, err := send(http.MethodPost, cachePath+"/prune", body)
	if err != nil {
		return 0, err
	}
	d, err := into[deleted](ctx, c, k)
	return d.Deleted, err
}

// ClearCache deletes all verdicts of the client's project that are kept and returns how many there were.
func (c *Client) ClearCache(ctx context.Context) (int64, error) {
	d, err := into[deleted](ctx, c, call{method: http.MethodDelete, path: cachePath, repeatable: true})
	return d.Deleted, err
}
