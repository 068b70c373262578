package api

import (
	"context"
	"net/http"
	"slices"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/store"
)

const (
	projectsPath = "/api/v1/projects"
	projectTag   = "Projects"
)

func (s *server) projectRoutes() {
	registerBody(s, operation{
		id: "create-project", method: http.MethodPost, path: projectsPath, tag: projectTag, role: auth.Admin, place: allProjects,
		status: http.StatusCreated, summary: "Create a project",
	}, s.createProject)
	register(s, operation{
		id: "list-projects", method: http.MethodGet, path: projectsPath, tag: projectTag, role: auth.Viewer, place: eachProject,
		summary: "List projects", description: "Those that the key has access to.",
	}, s.listProjects)
	register(s, operation{
		id: "get-project", method: http.MethodGet, path: projectsPath + "/{id}", tag: projectTag, role: auth.Viewer, place: pathProject,
		summary: "Get a project",
	}, s.getProject)
	registerBody(s, operation{
		id: "change-project", method: http.MethodPatch, path: projectsPath + "/{id}", tag: projectTag, role: auth.Admin, place: pathProject,
		summary: "Change a project", description: "Absent fields stay as they are.",
	}, s.changeProject)
}

type projectOutput struct{ Body rule.Project }

// CreateProject is the body that makes a project.
type CreateProject struct {
	ID            string `json:"id" doc:"1 to 63 lower-case letters, digits, - and _, beginning with a letter or digit." example:"payments"`
	Name          string `json:"name,omitempty" doc:"Display name; the id if absent."`
	Description   string `json:"description,omitempty" doc:"What the project is for."`
	TwoPerson     bool   `json:"two_person_approval,omitempty" doc:"Refuse an approval by the author of the rule's last content change."`
	TestsRequired bool   `json:"tests_required,omitempty" doc:"Refuse to make a rule EFFECTIVE unless it has test cases and all of them pass."`
}

type createdProject struct {
	Location string `header:"Location"`
	Body     rule.Project
}

func (s *server) createProject(ctx context.Context, _ *struct{}, body *CreateProject) (*createdProject, error) {
	in := catalog.ProjectInput{Description: &body.Description, TwoPerson: &body.TwoPerson, TestsRequired: &body.TestsRequired}
	if body.Name != "" {
		in.Name = &body.Name
	}
	p, err := s.cfg.Catalog.CreateProject(ctx, body.ID, in)
	if err != nil {
		return nil, err
	}
	return &createdProject{Location: projectsPath + "/" + p.ID, Body: p}, nil
}

func (s *server) listProjects(ctx context.Context, in *struct{ PageQuery }) (*pageOutput[rule.Project], error) {
	all, err := s.cfg.Catalog.Projects(ctx)
	if err != nil {
		return nil, err
	}
	own := actor(ctx).ProjectID
	all = slices.DeleteFunc(all, func(p rule.Project) bool { return own != store.AllProjects && p.ID != own })
	return slicePage(in.PageQuery, all), nil
}

// ProjectRef names a project in a path.
type ProjectRef struct {
	ID string `path:"id" doc:"Id of the project." example:"default"`
}

func (s *server) getProject(ctx context.Context, in *struct{ ProjectRef }) (*projectOutput, error) {
	p, err := s.cfg.Catalog.Project(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &projectOutput{p}, nil
}

// ChangeProject is the body that changes a project.
type ChangeProject struct {
	Name          Optional[string] `json:"name,omitzero" nullable:"false" doc:"Display name."`
	Description   Optional[string] `json:"description,omitzero" doc:"What the project is for; null clears it."`
	TwoPerson     Optional[bool]   `json:"two_person_approval,omitzero" nullable:"false" doc:"Refuse an approval by the author of the rule's last content change."`
	TestsRequired Optional[bool]   `json:"tests_required,omitzero" nullable:"false" doc:"Refuse to make a rule EFFECTIVE unless it has test cases and all of them pass."`
}

func (s *server) changeProject(ctx context.Context, in *struct{ ProjectRef }, body *ChangeProject) (*projectOutput, error) {
	var problems rule.Problems
	if body.Name.Null {
		problems.Add("name", "must not be null; leave it out to keep it as it is")
	}
	if body.TwoPerson.Null {
		problems.Add("two_person_approval", "must not be null; leave it out to keep it as it is")
	}
	if body.TestsRequired.Null {
		problems.Add("tests_required", "must not be null; leave it out to keep it as it is")
	}
	if err := problems.Err("the request body is invalid"); err != nil {
		return nil, err
	}
	p, err := s.cfg.Catalog.UpdateProject(ctx, in.ID, catalog.ProjectInput{
		Name: given(&body.Name), Description: given(&body.Description), TwoPerson: given(&body.TwoPerson), TestsRequired: given(&body.TestsRequired),
	})
	if err != nil {
		return nil, err
	}
	return &projectOutput{p}, nil
}

// given is nil for an absent field, and points to the zero value for null.
func given[T any](o *Optional[T]) *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}
