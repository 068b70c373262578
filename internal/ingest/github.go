package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// oldest is the greatest age of a change of a pull request in an event. GitHub redelivers for three days; older events are replays.
const oldest = 73 * time.Hour

// maxIntent bounds the title that becomes the intent, in characters.
const maxIntent = 1000

// payload is the part of a pull_request event that is read. It has no address.
type payload struct {
	Action      string `json:"action"`
	Number      int64  `json:"number"`
	PullRequest struct {
		Title     string    `json:"title"`
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"pull_request"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

var (
	deliveryForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	// repositoryForm is owner/name. Neither part can be . or .., which would change the path of the request.
	repositoryForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9_-][A-Za-z0-9._-]{0,99}|\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,98})$`)
)

// pullRequest is the arguments of a job that fetches a diff: the checked fields of the payload that it needs.
type pullRequest struct {
	Delivery string `json:"delivery"`
	Owner    string `json:"owner"`
	Name     string `json:"name"`
	Number   int64  `json:"number"`
	Title    string `json:"title"`
	BodyHash string `json:"body_hash"`
}

func (p *pullRequest) submissionID() string { return "github:" + p.Delivery }

func (p *pullRequest) named() Named {
	return Named{SubmissionID: p.submissionID(), Key: "github:" + p.BodyHash, BodyHash: p.BodyHash}
}

// GitHub accepts an event that GitHub has sent under a delivery id, with a body whose signature has been verified. The same
// delivery again, and the same body under another id, lead to no second evaluation. The error is invalid if the body cannot be
// understood.
func (in *Ingest) GitHub(ctx context.Context, event, delivery string, body []byte) (wire.Receipt, error) {
	if event != "pull_request" {
		return wire.Receipt{Status: "ignored", Reason: "only pull_request events are evaluated"}, nil
	}
	p, ignored, err := in.parse(delivery, body)
	if err != nil || ignored != "" {
		return wire.Receipt{Status: "ignored", Reason: ignored}, err
	}
	accepted := wire.Receipt{Status: "accepted", SubmissionID: p.submissionID()}
	known, err := in.cfg.Evaluator.Known(ctx, in.cfg.ProjectID, p.named())
	if err != nil || known {
		return accepted, err
	}
	err = in.cfg.Store.Update(ctx, func(tx store.Tx) error {
		// Without this, a wrong ingest_project would end in jobs that nobody sees.
		if _, err := tx.Projects.Get(ctx, in.cfg.ProjectID); err != nil {
			return err
		}
		_, err := in.cfg.Queue.Enqueue(ctx, tx, GitHubKind, in.cfg.ProjectID, p, job.Options{UniqueKey: p.Delivery, Priority: job.First})
		return err
	})
	return accepted, err
}

// parse reads a pull_request event; ignored says why it is nothing to evaluate.
func (in *Ingest) parse(delivery string, body []byte) (p *pullRequest, ignored string, err error) {
	var problems rule.Problems
	if !deliveryForm.MatchString(delivery) {
		problems.Add("X-GitHub-Delivery", "must have 1 to 64 letters, digits and -")
	}
	var event payload
	if err := json.Unmarshal(body, &event); err != nil {
		problems.Add("body", "is not a pull_request event of GitHub; choose the content type application/json there")
		return nil, "", problems.Err("the event cannot be read")
	}
	switch event.Action {
	case "opened", "synchronize", "reopened":
	default:
		return nil, "only pull requests that are opened, reopened or have new commits are evaluated", problems.Err("the event cannot be read")
	}
	parts := repositoryForm.FindStringSubmatch(event.Repository.FullName)
	if parts == nil {
		problems.Add("repository.full_name", "must be owner/name")
		parts = make([]string, 3)
	}
	if event.Number < 1 || event.Number > 1<<31 {
		problems.Add("number", "must be the number of a pull request")
	}
	if event.PullRequest.UpdatedAt.IsZero() {
		problems.Add("pull_request.updated_at", "is missing")
	}
	if err := problems.Err("the event cannot be read"); err != nil {
		return nil, "", err
	}
	if in.cfg.Now().Sub(event.PullRequest.UpdatedAt) > oldest {
		return nil, "", rule.Errorf(rule.CodeUnauthenticated, "the event is from %s, which is too long ago; it may be a replay",
			event.PullRequest.UpdatedAt.UTC().Format(time.RFC3339))
	}
	title := []rune(event.PullRequest.Title)
	sum := sha256.Sum256(body)
	return &pullRequest{
		Delivery: delivery, Owner: parts[1], Name: parts[2], Number: event.Number, Title: string(title[:min(len(title), maxIntent)]),
		BodyHash: hex.EncodeToString(sum[:]),
	}, "", nil
}

// FetchDiff is the handler of the jobs that fetch the diff of a pull request and submit it. It may run twice.
func (in *Ingest) FetchDiff(ctx context.Context, j wire.Job, progress func(done, total int)) error {
	var p pullRequest
	if err := job.DecodeArgs(&j, &p); err != nil {
		return err
	}
	known, err := in.cfg.Evaluator.Known(ctx, j.ProjectID, p.named())
	if err != nil || known {
		return err
	}
	diff, err := in.fetch(ctx, &p)
	if err != nil {
		return err
	}
	ctx = auth.WithActor(ctx, in.actor("ingest:github"))
	// If the same body is being taken in under another delivery id, the next attempt finds it known.
	err = in.cfg.Evaluator.Submit(ctx, p.named(), Change{
		ProjectID: j.ProjectID, Diff: diff, Repository: p.Owner + "/" + p.Name, Intent: p.Title,
	})
	progress(1, 1)
	return err
}

// fetch reads the diff of a pull request from the configured place. Nothing of the payload but checked names is in its address.
func (in *Ingest) fetch(ctx context.Context, p *pullRequest) (string, error) {
	at := fmt.Sprintf("%s/repos/%s/%s/pulls/%d", in.cfg.GitHubURL, p.Owner, p.Name, p.Number)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/vnd.github.diff")
	req.Header.Set("User-Agent", "Tenet")
	if in.cfg.GitHubToken != "" {
		req.Header.Set("Authorization", "Bearer "+in.cfg.GitHubToken)
	}
	res, err := in.client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return "", rule.Errorf(rule.CodeUnavailable, "GitHub does not answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // opened for reading
	if res.StatusCode != http.StatusOK {
		return "", refusedBy(res)
	}
	diff, err := io.ReadAll(io.LimitReader(res.Body, in.cfg.MaxDiff+1))
	switch {
	case err != nil:
		return "", rule.Errorf(rule.CodeUnavailable, "GitHub's answer ends too early: %w", err)
	case int64(len(diff)) > in.cfg.MaxDiff:
		return "", rule.Errorf(rule.CodeInvalid, "the diff of pull request %d of %s/%s has more than %d bytes, so it was not evaluated", p.Number, p.Owner, p.Name, in.cfg.MaxDiff)
	}
	return string(diff), nil
}

// longestWait bounds the pause that GitHub may ask for.
const longestWait = time.Hour

// refusedBy is the error for an answer without a diff. Those that come out the same next time are final.
func refusedBy(res *http.Response) error {
	limited := res.Header.Get("Retry-After") != "" || res.Header.Get("X-Ratelimit-Remaining") == "0"
	switch code := res.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && limited:
		err := rule.Errorf(rule.CodeUnavailable, "GitHub asks for patience (%d)", code)
		if seconds, parse := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 31); parse == nil {
			return job.RetryIn(min(time.Duration(seconds)*time.Second, longestWait), err)
		}
		return err
	case code >= 300 && code < 400:
		return rule.Errorf(rule.CodeInvalid, "GitHub answered %d, and redirects are not followed; was the repository renamed, or is github_url wrong?", code)
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound:
		return rule.Errorf(rule.CodeInvalid, "GitHub answered %d; check that github_token may read the pull requests of the repository", code)
	case code >= 400 && code < 500:
		return rule.Errorf(rule.CodeInvalid, "GitHub answered %d; it gives no diff for this pull request", code)
	default:
		return rule.Errorf(rule.CodeUnavailable, "GitHub answered %d", code)
	}
}
