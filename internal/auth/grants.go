package auth

import (
	"maps"
	"slices"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Grants are the roles of one person in projects. They do not change after they are made.
type Grants struct{ roles map[string]Role }

// NewGrants returns the grants of roles by project; the role under [store.AllProjects] holds in every project. A person has the higher of
// the two roles in a project. It returns nil if no known role is among them.
func NewGrants(roles map[string]Role) *Grants {
	roles = maps.Clone(roles)
	maps.DeleteFunc(roles, func(_ string, r Role) bool { return !slices.Contains(Roles, r) })
	if len(roles) == 0 {
		return nil
	}
	return &Grants{roles}
}

// Roles returns the roles by project.
func (g *Grants) Roles() map[string]Role { return maps.Clone(g.roles) }

func (g *Grants) in(projectID string) (Role, bool) {
	own, one := g.roles[projectID]
	every, all := g.roles[store.AllProjects]
	return Higher(own, every), one || all
}

func (g *Grants) highest() (role Role) {
	for _, r := range g.roles {
		role = Higher(role, r)
	}
	return role
}

func (g *Grants) home() string {
	if _, ok := g.in(rule.DefaultProject); ok {
		return rule.DefaultProject
	}
	return slices.Min(slices.Collect(maps.Keys(g.roles)))
}

// Higher returns the role that includes the other.
func Higher(a, b Role) Role {
	if a.Allows(b) {
		return a
	}
	return b
}
