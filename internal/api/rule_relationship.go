package api

import (
	"context"
	"net/http"

	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/rule"
)

const relationshipsPath = rulePath + "/relationships"

func (s *server) relationshipRoutes() {
	register(s, operation{
		id: "list-relationships", method: http.MethodGet, path: relationshipsPath, tag: ruleTag, role: auth.Viewer,
		summary: "List the relationships of a rule", description: "From and to the rule, oldest first.",
	}, s.listRelationships)
	registerBody(s, operation{
		id: "create-relationship", method: http.MethodPost, path: relationshipsPath, tag: ruleTag, role: auth.Reviewer,
		status: http.StatusCreated, summary: "Relate a rule to another",
		description: "OVERRIDES silences the other rule where both apply; the rest is for people and for search.",
	}, s.createRelationship)
	register(s, operation{
		id: "delete-relationship", method: http.MethodDelete, path: relationshipsPath + "/{relationship_id}", tag: ruleTag,
		role: auth.Reviewer, summary: "Remove a relationship",
	}, s.deleteRelationship)
}

func (s *server) listRelationships(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	PageQuery
},
) (*pageOutput[rule.Relationship], error) {
	all, err := s.cfg.Catalog.Relationships(ctx, project(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return slicePage(in.PageQuery, all), nil
}

type relationshipOutput struct{ Body rule.Relationship }

func (s *server) createRelationship(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
}, body *catalog.InputRelationship,
) (*relationshipOutput, error) {
	made, err := s.cfg.Catalog.Relate(ctx, project(ctx), in.ID, *body)
	if err != nil {
		return nil, err
	}
	return &relationshipOutput{made}, nil
}

func (s *server) deleteRelationship(ctx context.Context, in *struct {
	ProjectQuery
	RuleRef
	RelationshipID string `path:"relationship_id" doc:"Id of the relationship."`
},
) (*struct{}, error) {
	if !rule.IsID(in.RelationshipID) {
		return nil, rule.NotFound("relationship", in.RelationshipID)
	}
	return nil, s.cfg.Catalog.Unrelate(ctx, project(ctx), in.ID, in.RelationshipID)
}
