package client

import (
	"context"
	"net/http"
	"net/url"

	"tenet/internal/conflict"
	"tenet/internal/job"
)

const conflictsPath = "/api/v1/conflicts"

// ConflictFilter selects conflicts; empty fields select everything.
type ConflictFilter struct {
	State string // suggested, confirmed, rejected or closed
	Rule  string // id or slug of either rule
	Page  int    // from 1; 0 is the first
	Size  int    // up to 100; 0 leaves the choice to the server
}

// Conflicts lists a page of the conflicts between rules, newest first.
func (c *Client) Conflicts(ctx context.Context, f ConflictFilter) (List[conflict.Conflict], error) {
	q := url.Values{}
	setText(q, "state", f.State)
	setText(q, "rule_id", f.Rule)
	page(q, f.Page, f.Size)
	return into[List[conflict.Conflict]](ctx, c, get(conflictsPath, q))
}

// Conflict returns a conflict.
func (c *Client) Conflict(ctx context.Context, id string) (conflict.Conflict, error) {
	return into[conflict.Conflict](ctx, c, get(conflictPath(id), nil))
}

// ConfirmConflict takes a suggested conflict for one.
func (c *Client) ConfirmConflict(ctx context.Context, id, note string) (conflict.Conflict, error) {
	return c.decideConflict(ctx, id, "/confirm", note)
}

// RejectConflict says that a suggested conflict is none.
func (c *Client) RejectConflict(ctx context.Context, id, note string) (conflict.Conflict, error) {
	return c.decideConflict(ctx, id, "/reject", note)
}

func (c *Client) decideConflict(ctx context.Context, id, how, note string) (conflict.Conflict, error) {
	k, err := send(http.MethodPost, conflictPath(id)+how, map[string]string{"note": note})
	if err != nil {
		return conflict.Conflict{}, err
	}
	k.repeatable = true
	return into[conflict.Conflict](ctx, c, k)
}

// ScanConflicts asks for a look at all rules, in the background.
func (c *Client) ScanConflicts(ctx context.Context, askModel bool) (job.Job, error) {
	k, err := send(http.MethodPost, conflictsPath+"/scan", map[string]bool{"model": askModel})
	if err != nil {
		return job.Job{}, err
	}
	return into[job.Job](ctx, c, k)
}

func conflictPath(id string) string { return conflictsPath + "/" + url.PathEscape(id) }
