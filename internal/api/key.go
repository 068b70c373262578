package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/hierarchy"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Keys serves the API keys.
type Keys struct {
	Keys  *auth.Keys
	Nodes *hierarchy.Hierarchy
}

// Routes implements [rest.Resource].
func (s Keys) Routes(r *rest.Router) {
	r = r.Tag(keyTag)
	rest.HandleBody(r, rest.Operation{
		ID: "create-key", Route: op.CreateKey.Route(), Role: auth.Admin, Place: rest.OwnOrAll, Status: http.StatusCreated, Summary: "Create an API key",
		Description: "The secret is shown only in this answer. The first key of a server must be an admin's for all projects (project_id *): " +
			"from then on every request needs a key.",
	}, s.create)
	rest.Handle(r, rest.Operation{
		ID: "list-keys", Route: op.ListKeys.Route(), Role: auth.Admin, Place: rest.OwnOrAll,
		Summary: "List API keys", Description: "Newest first, revoked ones included. project_id * lists the keys for all projects; with every=true those of each project, too.",
	}, func(ctx context.Context, in *wire.KeyQuery) (wire.Page[wire.Key], error) {
		list := func() ([]store.Key, error) { return s.Keys.List(ctx, rest.Project(ctx)) }
		if in.Every {
			if err := needsAll(ctx); err != nil {
				return wire.Page[wire.Key]{}, err
			}
			list = func() ([]store.Key, error) { return s.Keys.ListAll(ctx) }
		}
		all, err := list()
		keys := make([]wire.Key, len(all))
		for i, k := range all {
			keys[i] = keyOf(k)
		}
		return rest.Slice(in.PageQuery, keys, err)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "rotate-key", Route: op.RotateKey.Route(), Role: auth.Admin, Place: rest.OwnOrAll, Status: http.StatusCreated,
		Summary: "Rotate an API key", Description: "Makes a key with the same name, role, owner and limits. The old key works for the overlap, so that " +
			"nothing fails while its users change over. The secret is shown only in this answer.",
	}, s.rotate)
	rest.HandleBody(r, rest.Operation{
		ID: "change-key", Route: op.ChangeKey.Route(), Role: auth.Admin, Place: rest.OwnOrAll,
		Summary: "Change an API key", Description: "Its name, networks and rate; its scopes and expiry can only become narrower. Takes effect at once on this node, " +
			"within two seconds on others. 409 for a revoked key.",
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" id:"key" doc:"Id of the key."`
	}, body *wire.ChangeKey,
	) (wire.Key, error) {
		k, err := s.Keys.Change(ctx, rest.Project(ctx), in.ID, auth.ChangeOf(body))
		return keyOf(k), err
	})
	rest.Do(r, rest.Operation{
		ID: "revoke-key", Route: op.RevokeKey.Route(), Role: auth.Admin, Place: rest.OwnOrAll,
		Summary: "Revoke an API key", Description: "Takes effect at once on this node, within two seconds on others.",
	}, func(ctx context.Context, in *struct {
		ID string `path:"id" id:"key" doc:"Id of the key."`
	},
	) error {
		return s.Keys.Revoke(ctx, rest.Project(ctx), in.ID)
	})
}

// needsAll refuses the parameter every of a list unless it is asked for all projects.
func needsAll(ctx context.Context) error {
	if rest.Project(ctx) == store.AllProjects {
		return nil
	}
	return rest.InvalidField("every", "goes with project_id=*, which lists what belongs to no one project")
}

func keyOf(k store.Key) wire.Key {
	return wire.Key{
		ID: k.ID, ProjectID: k.ProjectID, Name: k.Name, Role: k.Role, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy,
		ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt,
		Prefix: k.Prefix, Owner: k.Owner, Agent: k.Agent, KeyLimits: k.Limits, RotatedFrom: k.RotatedFrom, RotatedTo: k.RotatedTo,
		Refused: k.Refused, LastRefusedAt: k.LastRefusedAt, LastRefusal: k.LastRefusal,
	}
}

// defaultOverlap is for how long a rotated key still works unless the request says otherwise.
const defaultOverlap = 24 * time.Hour

func (s Keys) rotate(ctx context.Context, in *struct {
	ID string `path:"id" id:"key" doc:"Id of the key."`
}, body *wire.RotateKey,
) (out wire.CreatedKey, err error) {
	r := auth.Rotation{Overlap: defaultOverlap, ExpiresAt: body.ExpiresAt}
	if body.OverlapHours.Set {
		r.Overlap = time.Duration(body.OverlapHours.Value * float64(time.Hour))
	}
	k, secret, err := s.Keys.Rotate(ctx, rest.Project(ctx), in.ID, r)
	return wire.CreatedKey{Key: keyOf(k), Secret: secret}, err
}

func (s Keys) create(ctx context.Context, _ *rest.None, body *wire.CreateKey) (out wire.CreatedKey, err error) {
	projectID, err := rest.EnterProject(ctx, body.ProjectID)
	if err != nil {
		return out, err
	}
	role := auth.Role(strings.ToLower(string(body.Role)))
	if err := s.mayBeFirst(ctx, projectID, role); err != nil {
		return out, err
	}
	if body.NodeID, err = s.node(ctx, projectID, body.NodeID); err != nil {
		return out, err
	}
	k, secret, err := s.Keys.Create(ctx, auth.NewKey{
		ProjectID: projectID, Name: body.Name, Role: role, ExpiresAt: body.ExpiresAt, Owner: body.Owner, Agent: body.Agent, Limits: body.KeyLimits,
	})
	return wire.CreatedKey{Key: keyOf(k), Secret: secret}, err
}

// node returns the id of the federation node to which a key is to be limited. A key for all projects takes an id: paths are those of one project.
func (s Keys) node(ctx context.Context, projectID, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if projectID == store.AllProjects {
		if !rule.IsID(name) {
			return "", rest.InvalidField("node_id", "is a path or a name, which is of one project; give the id of the node, or the key's project")
		}
		return strings.ToLower(name), nil
	}
	id, exists, err := s.Nodes.NodeID(ctx, projectID, name)
	if err == nil && !exists {
		err = rest.InvalidField("node_id", "names no federation node of the project; give a path such as acme/payments, or an id")
	}
	return id, err
}

// mayBeFirst keeps the local user from locking everybody out: once a key exists, only keys can make others.
func (s Keys) mayBeFirst(ctx context.Context, projectID string, role auth.Role) error {
	if who := auth.ActorFrom(ctx); who.Grants != nil {
		return nil // other people can sign in too
	}
	required, err := s.Keys.Required(ctx)
	if err != nil || required || (role == auth.Admin && projectID == store.AllProjects) {
		return err
	}
	return rule.Errorf(rule.CodeConflict,
		"the first key must have the role admin for all projects (project_id *, --all-projects), since from then on every request needs a key; make that one first")
}
