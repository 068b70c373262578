package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// VerifyAudit walks the audit chain of the client's project. expect, if not zero, is a head noted earlier, which the chain
// must still hold.
func (c *Client) VerifyAudit(ctx context.Context, expect store.AuditHead) (audit.Report, error) {
	q := url.Values{}
	if expect.Seq > 0 {
		q.Set("expect_seq", strconv.FormatInt(expect.Seq, 10))
		q.Set("expect_hash", expect.Hash)
	}
	return into[audit.Report](ctx, c, get("/api/v1/audit/verify", q))
}

// Key is an API key without its secret.
type Key struct {
	ID        string     `json:"id"`
	ProjectID string     `json:"project_id"` // or * for all projects
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	CreatedAt time.Time  `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	ExpiresAt *time.Time `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// MadeKey is a new key with its secret, which is shown this once.
type MadeKey struct {
	Key
	Secret string `json:"secret"`
}

// NewKey describes the key to make.
type NewKey struct {
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	ProjectID string     `json:"project_id,omitempty"` // or * for all projects
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

const keysPath = "/api/v1/keys"

// Keys lists keys, newest first, revoked ones included.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	return all[Key](ctx, c, get(keysPath, nil))
}

// CreateKey makes a key.
func (c *Client) CreateKey(ctx context.Context, n NewKey) (MadeKey, error) {
	if n.ProjectID == "" {
		n.ProjectID = c.project
	}
	k, err := send(http.MethodPost, keysPath, n)
	if err != nil {
		return MadeKey{}, err
	}
	k.anywhere = true // the body says which project
	return into[MadeKey](ctx, c, k)
}

// RevokeKey ends a key at once.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: keysPath + "/" + url.PathEscape(id), repeatable: true})
	return err
}

const projectsPath = "/api/v1/projects"

// Projects lists the projects that the key may see.
func (c *Client) Projects(ctx context.Context) ([]rule.Project, error) {
	k := get(projectsPath, nil)
	k.anywhere = true
	return all[rule.Project](ctx, c, k)
}

// Project returns one project.
func (c *Client) Project(ctx context.Context, id string) (rule.Project, error) {
	k := get(projectsPath+"/"+url.PathEscape(id), nil)
	k.anywhere = true
	return into[rule.Project](ctx, c, k)
}

// NewProject describes the project to make.
type NewProject struct {
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"`
	Description   string `json:"description,omitempty"`
	TwoPerson     bool   `json:"two_person_approval,omitempty"`
	TestsRequired bool   `json:"tests_required,omitempty"`
}

// CreateProject makes a project.
func (c *Client) CreateProject(ctx context.Context, n NewProject) (rule.Project, error) {
	k, err := send(http.MethodPost, projectsPath, n)
	if err != nil {
		return rule.Project{}, err
	}
	k.anywhere = true
	return into[rule.Project](ctx, c, k)
}
