// Package auth identifies callers and their permissions: roles, API keys, and the actor in a context.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Role is a set of permissions. Each role includes the roles before it.
type Role string

// Roles from the least to the most powerful.
const (
	Public    Role = ""          // no credentials needed
	Viewer    Role = "viewer"    // reads rules and evaluations
	Evaluator Role = "evaluator" // asks for evaluations
	Reviewer  Role = "reviewer"  // writes and approves rules
	Admin     Role = "admin"     // manages projects and keys
)

// Roles lists the roles that a key may have, from the least to the most powerful.
var Roles = []Role{Viewer, Evaluator, Reviewer, Admin}

// Allows reports whether role r includes the role needed.
func (r Role) Allows(needed Role) bool {
	if needed == Public {
		return true
	}
	have := slices.Index(Roles, r)
	return have >= 0 && have >= slices.Index(Roles, needed)
}

// Actor is a caller.
type Actor struct {
	Name      string
	Role      Role
	ProjectID string // the only project that it has access to, or store.AllProjects
	KeyID     string // empty without a key
	Owner     string // person to whom the key belongs; empty if nobody is named
	Agent     string // agent that the key or the token names; empty for people and services
	// Limits narrow the role of the key; nil for none.
	Limits *Limits
	// Grants are the roles of a person whom an identity provider has named. They take the place of Role and ProjectID.
	Grants *Grants
}

// May returns nil if the actor has a role in a project, else a forbidden error. The error does not reveal whether the project
// exists.
func (a Actor) May(needed Role, projectID string) error {
	role, access := a.roleIn(projectID)
	if !access {
		return rule.Errorf(rule.CodeForbidden, "%s has no access to project %q", a.credential(), projectID)
	}
	if !role.Allows(needed) {
		return rule.Errorf(rule.CodeForbidden, "this needs the role %s; %s has the role %s", needed, a.credential(), role)
	}
	return nil
}

// MayAnywhere returns nil if the actor has a role in some project, else a forbidden error.
func (a Actor) MayAnywhere(needed Role) error {
	role := a.Role
	if a.Grants != nil {
		role = a.Grants.highest()
	}
	if !role.Allows(needed) {
		return rule.Errorf(rule.CodeForbidden, "this needs the role %s; %s has the role %s", needed, a.credential(), role)
	}
	return nil
}

// MayEverywhere reports whether the actor has access to all projects.
func (a Actor) MayEverywhere() bool {
	_, access := a.roleIn(store.AllProjects)
	return access
}

// ProjectIDs lists the projects that an actor without access to all of them has access to, by name.
func (a Actor) ProjectIDs() []string {
	switch {
	case a.MayEverywhere():
		return nil
	case a.Grants != nil:
		return slices.Sorted(maps.Keys(a.Grants.roles))
	default:
		return []string{a.ProjectID}
	}
}

// RateID identifies the caller whose requests count together against the rate limit: the key, or the person.
func (a Actor) RateID() string {
	if a.Grants != nil {
		return a.Name
	}
	return a.KeyID
}

// Sees reports whether the actor has access to a project.
func (a Actor) Sees(projectID string) bool {
	_, access := a.roleIn(projectID)
	return access
}

// Home is the project of requests that name none: the actor's only one; else the default one if the actor has access to it, else the first by
// name. It is empty for an actor without access to any.
func (a Actor) Home() string {
	switch {
	case a.Grants != nil:
		return a.Grants.home()
	case a.ProjectID == store.AllProjects:
		return rule.DefaultProject
	default:
		return a.ProjectID
	}
}

func (a Actor) roleIn(projectID string) (role Role, access bool) {
	if a.Grants != nil {
		return a.Grants.in(projectID)
	}
	return a.Role, a.ProjectID == store.AllProjects || a.ProjectID == projectID
}

// credential names the source of the actor's roles, for errors.
func (a Actor) credential() string {
	if a.Grants != nil {
		return "your sign-in"
	}
	return "this key"
}

// Local is the actor of a server that runs without keys on loopback, and of the embedded command line.
func Local(name string) Actor { return Actor{Name: name, Role: Admin, ProjectID: store.AllProjects} }

type contextKey struct{}

// WithActor puts the actor into a context.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, contextKey{}, a)
}

// ActorFrom returns the actor of a context, or an actor without permissions.
func ActorFrom(ctx context.Context) Actor {
	a, _ := ctx.Value(contextKey{}).(Actor)
	return a
}

// keyPrefix begins every secret, so that scanners can find leaked ones.
const keyPrefix = "tnt_"

// NewSecret returns a secret of 256 random bits for a key, with the prefix tnt_.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return keyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// HashSecret returns the SHA-256 of a secret, in hex, which the database stores. Secrets have 256 bits of entropy, so a plain
// hash is enough to make the stored value useless to a thief.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// IsSecret reports whether s has the form of a secret.
func IsSecret(s string) bool {
	return strings.HasPrefix(s, keyPrefix) && len(s) == len(keyPrefix)+43
}
