package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"tenet/internal/job"
)

const jobsPath = "/api/v1/jobs"

// JobFilter selects jobs; empty fields select everything.
type JobFilter struct {
	Kind  string
	State string
	Page  int // from 1; 0 is the first
	Size  int // up to 100; 0 leaves the choice to the server
}

// Jobs lists a page of background jobs, newest first.
func (c *Client) Jobs(ctx context.Context, f JobFilter) (List[job.Job], error) {
	q := url.Values{}
	setText(q, "kind", f.Kind)
	setText(q, "state", f.State)
	page(q, f.Page, f.Size)
	return into[List[job.Job]](ctx, c, get(jobsPath, q))
}

// Job returns a background job.
func (c *Client) Job(ctx context.Context, id int64) (job.Job, error) {
	return into[job.Job](ctx, c, get(jobPath(id), nil))
}

// RetryJob lets a failed or cancelled job begin anew.
func (c *Client) RetryJob(ctx context.Context, id int64) (job.Job, error) {
	return into[job.Job](ctx, c, call{method: http.MethodPost, path: jobPath(id) + "/retry"})
}

// CancelJob ends a job that waits or runs.
func (c *Client) CancelJob(ctx context.Context, id int64) (job.Job, error) {
	return into[job.Job](ctx, c, call{method: http.MethodPost, path: jobPath(id) + "/cancel"})
}

func jobPath(id int64) string { return jobsPath + "/" + strconv.FormatInt(id, 10) }
