package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/sso"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// SignIn serves how people sign in, and who they are then.
type SignIn struct {
	// Providers are the identity providers at which people can sign in.
	Providers []sso.Provider
	Keys      rest.Keys
}

// Routes implements [rest.Resource].
func (s SignIn) Routes(r *rest.Router) {
	r.Raw(op.SignInWays.Path, auth.Public, rest.PublicAccess, s.ways)
	rest.Handle(r.Tag(keyTag), rest.Operation{
		ID: "whoami", Route: op.Whoami.Route(), Role: auth.Viewer, Place: rest.EachProject, Asks: true, Summary: "Get who the caller is",
		Description: "The name under which the caller's acts are recorded, and the roles by project.",
	}, func(ctx context.Context, _ *rest.None) (wire.Whoami, error) {
		who := auth.ActorFrom(ctx)
		out := wire.Whoami{Actor: who.Name, Roles: map[string]string{}, KeyID: who.KeyID, Person: who.Person(), Agent: who.Agent}
		if who.Limits != nil {
			limits := who.Limits.Wire()
			out.Limits = &limits
		}
		if who.Grants == nil {
			out.Roles[who.ProjectID] = string(who.Role)
			return out, nil
		}
		for project, role := range who.Grants.Roles() {
			out.Roles[project] = string(role)
		}
		return out, nil
	})
}

// ways answers everybody: those who have yet to sign in need it.
func (s SignIn) ways(w http.ResponseWriter, r *http.Request) {
	required, err := s.Keys.Required(r.Context())
	if err != nil {
		rest.WriteProblem(w, r, err)
		return
	}
	out := wire.SignInWays{Providers: []wire.SignInProvider{}, Keys: required}
	for _, p := range s.Providers {
		out.Providers = append(out.Providers, wire.SignInProvider{Name: p.Name, Title: p.Title, Issuer: p.Issuer, CLIClientID: p.CLIClientID, Scopes: p.Scopes})
	}
	rest.WriteJSON(w, out)
}
