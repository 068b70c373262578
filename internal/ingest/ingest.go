// Package ingest accepts changes that other systems send: pull requests from GitHub, and submissions signed by the Standard
// Webhooks specification. A signature replaces an API key. A change is evaluated in the
// background; nobody waits for the answer.
package ingest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/signature"
	"tenet/internal/store"
)

// GitHubKind is the kind of the jobs that fetch the diff of a pull request; [Ingest.FetchDiff] is their handler.
const GitHubKind = "ingest.github"

// DefaultGitHubURL is the address of GitHub's API.
const DefaultGitHubURL = "https://api.github.com"

// Change is a pull request to be judged.
type Change struct {
	ProjectID  string
	Diff       string
	Repository string // owner/name
	Intent     string // the title
}

// Named identifies a request, so that it is carried out once: by an id, a key, and the SHA-256 of its body.
type Named struct{ SubmissionID, Key, BodyHash string }

// Evaluator judges changes in the background.
type Evaluator interface {
	// Known reports whether a submission has the id or the key of a name.
	Known(ctx context.Context, projectID string, n Named) (bool, error)
	// Submit accepts a change that has happened; conflict if the id or the key is known, or the change cannot be judged as things are.
	Submit(ctx context.Context, n Named, c Change) error
}

// Config sets up [New]. Store, Queue, Evaluator and Now are required.
type Config struct {
	Store     store.Updater
	Queue     job.Queue
	Evaluator Evaluator
	Now       func() time.Time
	// ProjectID is the project of all changes; empty means the project default.
	ProjectID string
	// Secret verifies submissions from anywhere, GitHubSecret those from GitHub. Without one, they are refused.
	Secret, GitHubSecret string
	// GitHubURL is the address of GitHub's API. GitHubToken may read the pull requests; empty for public ones.
	GitHubURL, GitHubToken string
	// MaxDiff bounds the diff of a pull request, in bytes; 0 means 10 MiB.
	MaxDiff int64
	Timeout time.Duration // of the fetch of a diff; 0 means 30 s
}

// Ingest accepts signed changes. It is safe for concurrent use.
type Ingest struct {
	cfg    Config
	client *http.Client
}

// New returns an Ingest. The error is invalid if a secret or the address cannot be used; it repeats no secret.
func New(c Config) (*Ingest, error) {
	if c.ProjectID == "" {
		c.ProjectID = rule.DefaultProject
	}
	if !rule.ValidProjectID(c.ProjectID) {
		return nil, rule.Errorf(rule.CodeInvalid, "ingest_project: %q is not the id of a project", c.ProjectID)
	}
	if c.Secret != "" {
		if err := signature.CheckSecret(c.Secret); err != nil {
			return nil, rule.Errorf(rule.CodeInvalid, "ingest_secret: %s", err.Error())
		}
	}
	if c.GitHubURL == "" {
		c.GitHubURL = DefaultGitHubURL
	}
	u, err := url.Parse(strings.TrimRight(c.GitHubURL, "/"))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, rule.Errorf(rule.CodeInvalid, "github_url: write the address of GitHub's API, such as %s or https://github.example.com/api/v3", DefaultGitHubURL)
	}
	c.GitHubURL = u.String()
	if c.MaxDiff <= 0 {
		c.MaxDiff = 10 << 20
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	return &Ingest{cfg: c, client: &http.Client{
		Timeout: c.Timeout,
		// The token must not follow to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Expect checks the header of a request from anywhere before its body is read. The error is unavailable without a secret, and
// unauthenticated without a signature.
func (in *Ingest) Expect(header http.Header) error {
	if in.cfg.Secret == "" {
		return rule.Errorf(rule.CodeUnavailable, "no secret is configured for what comes in; set TENET_INGEST_SECRET on the server")
	}
	return signature.CheckHeader(header.Get(signature.HeaderID), header.Get(signature.HeaderTimestamp), header.Get(signature.HeaderSignature), in.cfg.Now())
}

// Verify checks the signature of a request from anywhere, and returns its actor: an evaluator of the one project. Its errors
// are those of Expect, and unauthenticated if the signature does not match.
func (in *Ingest) Verify(header http.Header, body []byte) (auth.Actor, error) {
	if err := in.Expect(header); err != nil {
		return auth.Actor{}, err
	}
	err := signature.Verify(in.cfg.Secret, header.Get(signature.HeaderID), header.Get(signature.HeaderTimestamp), header.Get(signature.HeaderSignature),
		body, in.cfg.Now())
	return in.actor("ingest:generic"), err
}

// ExpectGitHub is Expect for requests from GitHub.
func (in *Ingest) ExpectGitHub(header http.Header) error {
	if in.cfg.GitHubSecret == "" {
		return rule.Errorf(rule.CodeUnavailable, "no secret is configured for GitHub; set TENET_INGEST_GITHUB_SECRET on the server, and the same in GitHub")
	}
	return signature.CheckGitHubHeader(header.Get("X-Hub-Signature-256"))
}

// VerifyGitHub is Verify for requests from GitHub.
func (in *Ingest) VerifyGitHub(header http.Header, body []byte) (auth.Actor, error) {
	if err := in.ExpectGitHub(header); err != nil {
		return auth.Actor{}, err
	}
	return in.actor("ingest:github"), signature.VerifyGitHub(in.cfg.GitHubSecret, header.Get("X-Hub-Signature-256"), body)
}

func (in *Ingest) actor(name string) auth.Actor {
	return auth.Actor{Name: name, Role: auth.Evaluator, ProjectID: in.cfg.ProjectID, KeyID: name}
}
