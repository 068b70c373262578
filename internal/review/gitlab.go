package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// GitLab is a merge request on GitLab.
type GitLab struct {
	caller

	path    string // of the merge request in the API
	version version
}

// version is the newest version of a merge request, which names the commits that lines are counted in.
type version struct {
	Base  string `json:"base_commit_sha"`
	Start string `json:"start_commit_sha"`
	Head  string `json:"head_commit_sha"`
}

// GitLabConfig sets up [NewGitLab].
type GitLabConfig struct {
	API     string // such as https://gitlab.com/api/v4, which is the default
	Token   string
	Project string // its id or path
	Number  int    // iid of the merge request
}

// NewGitLab returns a merge request.
func NewGitLab(ctx context.Context, c GitLabConfig) (*GitLab, error) {
	if c.Project == "" || c.Number < 1 {
		return nil, errors.New("the merge request is not known; run this in a pipeline of a merge request, or give --repository and --number")
	}
	if c.API == "" {
		c.API = "https://gitlab.com/api/v4"
	}
	call, err := newCaller(c.API, http.Header{"Private-Token": {c.Token}, "User-Agent": {"tenet"}})
	if err != nil {
		return nil, err
	}
	g := &GitLab{caller: call, path: fmt.Sprintf("/projects/%s/merge_requests/%d", url.PathEscape(c.Project), c.Number)}
	var versions []version
	if err := g.call(ctx, http.MethodGet, g.path+"/versions", nil, &versions); err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		return nil, errors.New("the merge request has no changes yet")
	}
	g.version = versions[0]
	return g, nil
}

// Comments implements [Forge].
func (g *GitLab) Comments(ctx context.Context) ([]Comment, error) {
	type discussion struct {
		ID    string `json:"id"`
		Notes []struct {
			ID       int64  `json:"id"`
			Body     string `json:"body"`
			Resolved bool   `json:"resolved"`
		} `json:"notes"`
	}
	all, err := pages[discussion](ctx, &g.caller, g.path+"/discussions")
	if err != nil {
		return nil, err
	}
	var out []Comment
	for _, d := range all {
		if len(d.Notes) == 0 {
			continue
		}
		if first := d.Notes[0]; keyOf(first.Body) != "" {
			out = append(out, Comment{Key: keyOf(first.Body), Body: first.Body, Resolved: first.Resolved, ID: strconv.FormatInt(first.ID, 10), Thread: d.ID})
		}
	}
	return out, nil
}

// Create implements [Forge].
func (g *GitLab) Create(ctx context.Context, f *Finding) error {
	err := g.call(ctx, http.MethodPost, g.path+"/discussions", map[string]any{"body": f.Body, "position": map[string]any{
		"position_type": "text", "base_sha": g.version.Base, "start_sha": g.version.Start, "head_sha": g.version.Head,
		"new_path": f.Path, "old_path": f.Path, "new_line": f.Line,
	}}, nil)
	if is(err, http.StatusBadRequest) {
		return ErrNoPlace
	}
	return err
}

// Update implements [Forge].
func (g *GitLab) Update(ctx context.Context, c *Comment, body string) error {
	err := g.call(ctx, http.MethodPut, g.path+"/discussions/"+url.PathEscape(c.Thread)+"/notes/"+c.ID, map[string]any{"body": body}, nil)
	if is(err, http.StatusForbidden, http.StatusNotFound) {
		return ErrForeign
	}
	return err
}

// Resolve implements [Forge].
func (g *GitLab) Resolve(ctx context.Context, c *Comment, resolved bool) error {
	err := g.call(ctx, http.MethodPut, g.path+"/discussions/"+url.PathEscape(c.Thread), map[string]any{"resolved": resolved}, nil)
	if is(err, http.StatusForbidden, http.StatusNotFound) {
		return ErrForeign
	}
	return err
}
