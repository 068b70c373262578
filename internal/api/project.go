package api

import (
	"context"
	"net/http"
	"slices"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Projects serves the tenants.
type Projects struct{ Projects *catalog.Projects }

// projectRef names a project in a path.
type projectRef struct {
	ID string `path:"id" doc:"Id of the project." example:"default"`
}

// Routes implements [rest.Resource].
func (s Projects) Routes(r *rest.Router) {
	r = r.Tag(projectTag)
	rest.HandleBody(r, rest.Operation{
		ID: "create-project", Route: op.CreateProject.Route(), Role: auth.Admin, Place: rest.AllProjects, Status: http.StatusCreated, Summary: "Create a project",
	}, func(ctx context.Context, _ *rest.None, body *wire.CreateProject) (rest.Created[rule.Project], error) {
		in := catalog.ProjectInput{Description: &body.Description, TwoPerson: &body.TwoPerson, TestsRequired: &body.TestsRequired, Policy: body.Policy}
		if body.Name != "" {
			in.Name = &body.Name
		}
		p, err := s.Projects.Create(ctx, body.ID, in)
		return rest.At(ctx, op.GetProject.Path, p.ID, p), err
	})
	rest.Handle(r, rest.Operation{
		ID: "list-projects", Route: op.ListProjects.Route(), Role: auth.Viewer, Place: rest.EachProject,
		Summary: "List projects", Description: "The projects that the caller may access.",
	}, func(ctx context.Context, in *wire.PageQuery) (wire.Page[rule.Project], error) {
		all, err := s.Projects.List(ctx)
		who := auth.ActorFrom(ctx)
		all = slices.DeleteFunc(all, func(p rule.Project) bool { return !who.Sees(p.ID) })
		return rest.Slice(*in, all, err)
	})
	rest.Handle(r, rest.Operation{ID: "get-project", Route: op.GetProject.Route(), Role: auth.Viewer, Place: rest.PathProject, Summary: "Get a project"},
		func(ctx context.Context, in *projectRef) (rule.Project, error) { return s.Projects.Get(ctx, in.ID) })
	rest.HandleBody(r, rest.Operation{
		ID: "change-project", Route: op.ChangeProject.Route(), Role: auth.Admin, Place: rest.PathProject,
		Summary: "Change a project", Description: "Absent fields stay as they are. A change that loosens the policy needs a reason.",
	}, func(ctx context.Context, in *projectRef, body *wire.ChangeProject) (rule.Project, error) {
		return s.Projects.Update(ctx, in.ID, catalog.ProjectInput{
			Name: given(&body.Name), Description: given(&body.Description), TwoPerson: given(&body.TwoPerson), TestsRequired: given(&body.TestsRequired),
			Policy: body.Policy,
		})
	})
}
