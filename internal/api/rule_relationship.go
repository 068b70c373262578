package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Relationships serves the relationships between rules.
type Relationships struct{ Catalog *catalog.Catalog }

// Routes implements [rest.Resource].
func (s Relationships) Routes(r *rest.Router) {
	r = r.Tag(ruleTag)
	rest.Handle(r, rest.Operation{
		ID: "list-relationships", Route: op.ListRelationships.Route(), Role: auth.Viewer,
		Summary: "List the relationships of a rule", Description: "From and to the rule, oldest first.",
	}, func(ctx context.Context, in *struct {
		ruleRef
		wire.PageQuery
	},
	) (wire.Page[rule.Relationship], error) {
		all, err := s.Catalog.Relationships(ctx, rest.Project(ctx), in.ID)
		return rest.Slice(in.PageQuery, all, err)
	})
	rest.HandleBody(r, rest.Operation{
		ID: "create-relationship", Route: op.CreateRelationship.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Relate a rule to another",
		Description: "OVERRIDES silences the other rule where both apply; the other kinds serve people and search. 409 if the other rule is more severe or " +
			"more binding, unless allow_weakening and a reason are given.",
	}, func(ctx context.Context, in *ruleRef, body *wire.RelationshipInput) (rule.Relationship, error) {
		return s.Catalog.Relate(ctx, rest.Project(ctx), in.ID, *body)
	})
	rest.Do(r, rest.Operation{
		ID: "delete-relationship", Route: op.DeleteRelationship.Route(), Role: auth.Reviewer, Summary: "Remove a relationship",
	}, func(ctx context.Context, in *struct {
		ruleRef
		RelationshipID string `path:"relationship_id" id:"relationship" doc:"Id of the relationship."`
	},
	) error {
		return s.Catalog.Unrelate(ctx, rest.Project(ctx), in.ID, in.RelationshipID)
	})
}
