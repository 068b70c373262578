package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// GitHub is a pull request on GitHub.
type GitHub struct {
	caller

	graphQL    string
	repository string // owner/name
	number     int
	commit     string // that the comments are on
	threads    map[int64]thread
}

type thread struct {
	id       string
	resolved bool
}

// GitHubConfig sets up [NewGitHub].
type GitHubConfig struct {
	API, GraphQL string // addresses; empty for github.com
	Token        string
	Repository   string // owner/name
	Number       int
	Commit       string // the head of the pull request; empty asks GitHub for it
}

var (
	repositoryForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)
	commitForm     = regexp.MustCompile(`^[0-9a-f]{40,64}$`)
)

// NewGitHub returns a pull request.
func NewGitHub(ctx context.Context, c GitHubConfig) (*GitHub, error) {
	if !repositoryForm.MatchString(c.Repository) || c.Number < 1 {
		return nil, errors.New("the pull request is not known; run this on the event pull_request, or give --repository and --number")
	}
	if c.API == "" {
		c.API = "https://api.github.com"
	}
	if c.GraphQL == "" {
		c.GraphQL = strings.TrimSuffix(strings.TrimRight(c.API, "/"), "/v3") + "/graphql"
	}
	call, err := newCaller(c.API, http.Header{
		"Authorization": {"Bearer " + c.Token}, "Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}, "User-Agent": {"tenet"},
	})
	if err != nil {
		return nil, err
	}
	g := &GitHub{caller: call, graphQL: c.GraphQL, repository: c.Repository, number: c.Number, commit: c.Commit}
	if g.commit == "" {
		var pull struct {
			Head struct {
				SHA string `json:"sha"`
			} `json:"head"`
		}
		if err := g.call(ctx, http.MethodGet, fmt.Sprintf("/repos/%s/pulls/%d", g.repository, g.number), nil, &pull); err != nil {
			return nil, err
		}
		g.commit = pull.Head.SHA
	}
	if !commitForm.MatchString(g.commit) {
		return nil, fmt.Errorf("%q is not a commit", g.commit)
	}
	return g, nil
}

// Comments implements [Forge].
func (g *GitHub) Comments(ctx context.Context) ([]Comment, error) {
	type comment struct {
		ID        int64  `json:"id"`
		Body      string `json:"body"`
		InReplyTo int64  `json:"in_reply_to_id"`
	}
	all, err := pages[comment](ctx, &g.caller, fmt.Sprintf("/repos/%s/pulls/%d/comments", g.repository, g.number))
	if err != nil {
		return nil, err
	}
	var out []Comment
	for _, c := range all {
		if key := keyOf(c.Body); key != "" && c.InReplyTo == 0 {
			out = append(out, Comment{Key: key, Body: c.Body, ID: strconv.FormatInt(c.ID, 10)})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	if err := g.readThreads(ctx); err != nil {
		return nil, err
	}
	for i := range out {
		id, _ := strconv.ParseInt(out[i].ID, 10, 64)
		out[i].Thread, out[i].Resolved = g.threads[id].id, g.threads[id].resolved
	}
	return out, nil
}

const threadsQuery = `query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){pullRequest(number:$number){` +
	`reviewThreads(first:100,after:$after){pageInfo{hasNextPage endCursor}nodes{id isResolved comments(first:1){nodes{databaseId}}}}}}}`

// readThreads finds out which threads the comments begin; the REST API does not say.
func (g *GitHub) readThreads(ctx context.Context) error {
	g.threads = map[int64]thread{}
	owner, name, _ := strings.Cut(g.repository, "/")
	var after any
	for range maxPages {
		var got struct {
			Repository struct {
				PullRequest struct {
					ReviewThreads struct {
						PageInfo struct {
							HasNextPage bool
							EndCursor   string
						}
						Nodes []struct {
							ID         string
							IsResolved bool
							Comments   struct {
								Nodes []struct{ DatabaseID int64 }
							}
						}
					}
				}
			}
		}
		if err := g.query(ctx, threadsQuery, map[string]any{"owner": owner, "name": name, "number": g.number, "after": after}, &got); err != nil {
			return err
		}
		list := &got.Repository.PullRequest.ReviewThreads
		for _, n := range list.Nodes {
			for _, c := range n.Comments.Nodes {
				g.threads[c.DatabaseID] = thread{n.ID, n.IsResolved}
			}
		}
		if !list.PageInfo.HasNextPage {
			break
		}
		after = list.PageInfo.EndCursor
	}
	return nil
}

// query sends a query of GraphQL, whose errors come with status 200.
func (g *GitHub) query(ctx context.Context, text string, variables map[string]any, data any) error {
	answer := struct {
		Data   any `json:"data"`
		Errors []struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"errors"`
	}{Data: data}
	if err := g.call(ctx, http.MethodPost, g.graphQL, map[string]any{"query": text, "variables": variables}, &answer); err != nil {
		return err
	}
	if len(answer.Errors) == 0 {
		return nil
	}
	if answer.Errors[0].Type == "FORBIDDEN" {
		return ErrForeign
	}
	return fmt.Errorf("GitHub answers: %.200s", answer.Errors[0].Message)
}

// Create implements [Forge].
func (g *GitHub) Create(ctx context.Context, f *Finding) error {
	err := g.call(ctx, http.MethodPost, fmt.Sprintf("/repos/%s/pulls/%d/comments", g.repository, g.number),
		map[string]any{"body": f.Body, "commit_id": g.commit, "path": f.Path, "line": f.Line, "side": "RIGHT"}, nil)
	if is(err, http.StatusUnprocessableEntity) {
		return ErrNoPlace
	}
	return err
}

// Update implements [Forge].
func (g *GitHub) Update(ctx context.Context, c *Comment, body string) error {
	err := g.call(ctx, http.MethodPatch, fmt.Sprintf("/repos/%s/pulls/comments/%s", g.repository, c.ID), map[string]any{"body": body}, nil)
	if is(err, http.StatusForbidden, http.StatusNotFound) {
		return ErrForeign
	}
	return err
}

// Resolve implements [Forge].
func (g *GitHub) Resolve(ctx context.Context, c *Comment, resolved bool) error {
	if c.Thread == "" {
		return ErrForeign // it was deleted meanwhile
	}
	mutation := "resolveReviewThread"
	if !resolved {
		mutation = "unresolveReviewThread"
	}
	return g.query(ctx, "mutation($id:ID!){"+mutation+"(input:{threadId:$id}){thread{id}}}", map[string]any{"id": c.Thread}, &struct{}{})
}
