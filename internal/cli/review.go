package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"

	inline "tenet/internal/review"
)

type reviewCommand struct {
	SARIF string `arg:"" name:"file" type:"filled" help:"SARIF file of tenet check --also sarif=FILE."`

	Forge      string `enum:"auto,github,gitlab" default:"auto" help:"Where the request is: github, gitlab, or auto (default), by the variables of the pipeline."`
	Repository string `placeholder:"NAME" help:"owner/name on GitHub, id or path of the project on GitLab; default is that of the pipeline."`
	Number     int    `placeholder:"N" help:"Number of the pull or merge request; default is that of the pipeline."`
	Max        int    `default:"30" placeholder:"N" help:"Most comments; the worst findings come first (default 30)."`
	DryRun     bool   `help:"Print the comments and write none."`
	output
}

func (reviewCommand) Help() string {
	return `Writes the findings of a check beside the lines of a pull or merge request. The next run updates its comments instead of repeating them,
opens those again whose finding is back, and resolves those whose finding is gone.

    tenet check --base origin/main --also sarif=tenet.sarif
    tenet review tenet.sarif

The token comes from TENET_REVIEW_TOKEN, or GITHUB_TOKEN (permission pull-requests: write), or GITLAB_TOKEN (scope api). Findings that the base
has already, waived ones and those of rules in shadow have no comment, nor has a finding beside a line that the request does not show.`
}

func (k *reviewCommand) Run(ctx context.Context, s *session) error {
	data, err := readPath(ctx, k.SARIF, s.in)
	if err != nil {
		return err
	}
	findings, err := inline.Findings(data)
	if err != nil {
		return err
	}
	if k.DryRun {
		return show(s, k.output, findings[:min(len(findings), max(k.Max, 0))], nil, printFindingsInline)
	}
	forge, err := k.forge(ctx, s)
	if err != nil {
		return err
	}
	done := s.progress("commenting")
	o, err := inline.Sync(ctx, forge, findings, max(k.Max, 0))
	done()
	return show(s, k.output, o, err, func(s *session, o inline.Outcome) error { return k.print(s, &o) })
}

func printFindingsInline(s *session, findings []inline.Finding) error {
	for _, f := range findings {
		if _, err := fmt.Fprintf(s.out, "%s:%d\n%s\n", line(f.Path), f.Line, f.Body); err != nil {
			return err
		}
	}
	return nil
}

func (k *reviewCommand) print(s *session, o *inline.Outcome) error {
	text := fmt.Sprintf("comments: %d new, %d updated, %d unchanged, %d resolved", o.Created, o.Updated, o.Unchanged, o.Resolved)
	if o.NoPlace > 0 {
		text += fmt.Sprintf("; findings beside lines that the request does not show: %d", o.NoPlace)
	}
	if o.LeftOut > 0 {
		text += fmt.Sprintf("; findings left out beyond --max %d: %d", k.Max, o.LeftOut)
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

// forge finds the request by the flags and the variables of the pipeline.
func (k *reviewCommand) forge(ctx context.Context, s *session) (inline.Forge, error) {
	onGitLab := k.Forge == "gitlab" || k.Forge == "auto" && s.env("GITLAB_CI") != ""
	if onGitLab {
		number, _ := strconv.Atoi(s.env("CI_MERGE_REQUEST_IID"))
		c := inline.GitLabConfig{
			API: s.env("CI_API_V4_URL"), Token: cmp.Or(s.env("TENET_REVIEW_TOKEN"), s.env("GITLAB_TOKEN")),
			Project: cmp.Or(k.Repository, s.env("CI_MERGE_REQUEST_PROJECT_ID"), s.env("CI_PROJECT_ID")), Number: cmp.Or(k.Number, number),
		}
		if c.Token == "" {
			return nil, errors.New("there is no token; set TENET_REVIEW_TOKEN or GITLAB_TOKEN to one with the scope api")
		}
		return forgeOr(inline.NewGitLab(ctx, c))
	}
	number, commit := pullRequest(s)
	c := inline.GitHubConfig{
		API: s.env("GITHUB_API_URL"), GraphQL: s.env("GITHUB_GRAPHQL_URL"), Token: cmp.Or(s.env("TENET_REVIEW_TOKEN"), s.env("GITHUB_TOKEN")),
		Repository: cmp.Or(k.Repository, s.env("GITHUB_REPOSITORY")), Number: cmp.Or(k.Number, number),
	}
	if c.Number == number && c.Repository == s.env("GITHUB_REPOSITORY") {
		c.Commit = commit
	}
	if c.Token == "" {
		return nil, errors.New("there is no token; set GITHUB_TOKEN or TENET_REVIEW_TOKEN to one that may write pull requests")
	}
	return forgeOr(inline.NewGitHub(ctx, c))
}

// forgeOr makes a nil forge of a failure.
func forgeOr[F inline.Forge](f F, err error) (inline.Forge, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

var pullRef = regexp.MustCompile(`^refs/pull/(\d{1,9})/`)

// pullRequest returns the number and the head of the pull request that a workflow of GitHub runs for; 0 and "" if it runs for none.
func pullRequest(s *session) (number int, commit string) {
	var event struct {
		PullRequest struct {
			Number int `json:"number"`
			Head   struct {
				SHA string `json:"sha"`
			} `json:"head"`
		} `json:"pull_request"`
	}
	if text, err := os.ReadFile(s.env("GITHUB_EVENT_PATH")); err == nil && json.Unmarshal(text, &event) == nil && event.PullRequest.Number > 0 {
		return event.PullRequest.Number, event.PullRequest.Head.SHA
	}
	if m := pullRef.FindStringSubmatch(s.env("GITHUB_REF")); m != nil {
		number, _ = strconv.Atoi(m[1])
	}
	return number, ""
}
