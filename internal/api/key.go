package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	keysPath = "/api/v1/keys"
	keyTag   = "Keys"
)

func (s *server) keyRoutes() {
	registerBody(s, operation{
		id: "create-key", method: http.MethodPost, path: keysPath, tag: keyTag, role: auth.Admin, place: ownOrAll,
		status: http.StatusCreated, summary: "Create an API key",
		description: "The secret is shown this once. The first key of a server must be an admin's for all projects (project_id *): " +
			"from then on every request needs a key.",
	}, s.createKey)
	register(s, operation{
		id: "list-keys", method: http.MethodGet, path: keysPath, tag: keyTag, role: auth.Admin, place: ownOrAll,
		summary: "List API keys", description: "Newest first, revoked ones included. project_id * lists the keys for all projects.",
	}, s.listKeys)
	register(s, operation{
		id: "revoke-key", method: http.MethodDelete, path: keysPath + "/{id}", tag: keyTag, role: auth.Admin, place: ownOrAll,
		summary: "Revoke an API key", description: "At once on this node, within two seconds on others.",
	}, s.revokeKey)
}

// Key is an API key without its secret.
type Key struct {
	ID        string     `json:"id" doc:"Identifier of the key."`
	ProjectID string     `json:"project_id" doc:"The one project it may touch, or * for all."`
	Name      string     `json:"name" doc:"Who or what uses it; part of the actor in records."`
	Role      auth.Role  `json:"role" enum:"viewer,evaluator,reviewer,admin" doc:"What it may do; each role may do what those before it may."`
	CreatedAt time.Time  `json:"created_at" doc:"When it was made."`
	CreatedBy string     `json:"created_by" doc:"Actor that made it."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"From then on it is refused."`
	RevokedAt *time.Time `json:"revoked_at,omitempty" doc:"When it was revoked."`
}

func keyOf(k store.Key) Key {
	return Key{
		ID: k.ID, ProjectID: k.ProjectID, Name: k.Name, Role: auth.Role(k.Role), CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy,
		ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
	}
}

// CreateKey is the body that makes a key.
type CreateKey struct {
	Name      string     `json:"name" minLength:"1" doc:"Who or what uses the key." example:"ci"`
	Role      auth.Role  `json:"role" enum:"viewer,evaluator,reviewer,admin" doc:"What it may do."`
	ProjectID string     `json:"project_id,omitempty" doc:"The one project it may touch, or * for all; if the query does not name it."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"From then on it is refused; never if absent."`
}

// CreatedKey is a new key with its secret.
type CreatedKey struct {
	Key
	Secret string `json:"secret" doc:"What to send as Authorization: Bearer. It is shown this once and not stored."`
}

type createdKey struct{ Body CreatedKey }

func (s *server) createKey(ctx context.Context, _ *struct{ ProjectQuery }, body *CreateKey) (*createdKey, error) {
	projectID, err := enterNamed(ctx, body.ProjectID)
	if err != nil {
		return nil, err
	}
	role := auth.Role(strings.ToLower(string(body.Role)))
	if err := s.mayBeFirst(ctx, projectID, role); err != nil {
		return nil, err
	}
	k, secret, err := s.cfg.Keys.Create(ctx, auth.NewKey{ProjectID: projectID, Name: body.Name, Role: role, ExpiresAt: stored(body.ExpiresAt)})
	if err != nil {
		return nil, err
	}
	return &createdKey{CreatedKey{Key: keyOf(k), Secret: secret}}, nil
}

// mayBeFirst keeps the local user from locking everybody out: once there is a key, only keys can make others.
func (s *server) mayBeFirst(ctx context.Context, projectID string, role auth.Role) error {
	required, err := s.cfg.Keys.Required(ctx)
	if err != nil || required || (role == auth.Admin && projectID == store.AllProjects) {
		return err
	}
	return rule.Errorf(rule.CodeConflict,
		"the first key must have the role admin and the project_id *, since from then on every request needs a key; make that one first")
}

func (s *server) listKeys(ctx context.Context, in *struct {
	ProjectQuery
	PageQuery
},
) (*pageOutput[Key], error) {
	all, err := s.cfg.Keys.List(ctx, project(ctx))
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(all))
	for i, k := range all {
		keys[i] = keyOf(k)
	}
	return slicePage(in.PageQuery, keys), nil
}

func (s *server) revokeKey(ctx context.Context, in *struct {
	ProjectQuery
	ID string `path:"id" doc:"Id of the key."`
},
) (*struct{}, error) {
	if !rule.IsID(in.ID) {
		return nil, rule.NotFound("key", in.ID)
	}
	return nil, s.cfg.Keys.Revoke(ctx, project(ctx), in.ID)
}
