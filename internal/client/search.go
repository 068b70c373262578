package client

import (
	"context"
	"net/http"
	"net/url"

	"tenet/internal/rule"
	"tenet/internal/search"
)

const searchPath = "/api/v1/search/"

// SearchFilter narrows a search; empty fields select everything, but for Status: empty means every status but SUPERSEDED and
// RETIRED.
type SearchFilter struct {
	Modality rule.Modality `json:"modality,omitempty"`
	Severity rule.Severity `json:"severity,omitempty"`
	Scope    string        `json:"scope,omitempty"`
	Tags     []string      `json:"tags,omitempty"`
	Status   rule.Status   `json:"status,omitempty"`
}

// SearchPage asks for a part of what is found; zero values leave the choice to the server.
type SearchPage struct {
	Page     int `json:"page,omitempty"`      // from 1
	PageSize int `json:"page_size,omitempty"` // up to 100
	// NodeID narrows the search to what holds at a federation node.
	NodeID string `json:"-"`
}

// query is the query of a search that has no body.
func (p SearchPage) query() url.Values {
	q := p.where()
	page(q, p.Page, p.PageSize)
	return q
}

// where is the query of a search that has a body.
func (p SearchPage) where() url.Values {
	q := url.Values{}
	setText(q, "node_id", p.NodeID)
	return q
}

// SearchQuery looks for a text by words, by meaning, or by both.
type SearchQuery struct {
	Text   string    `json:"query,omitempty"`
	Vector []float64 `json:"vector,omitempty"` // in place of the text's; not for a search by words
	SearchFilter
	SearchPage
}

// Found is a page of rules that a search has found, the best first.
type Found struct {
	Items    []search.Item    `json:"items"`
	Total    int              `json:"total"`
	Page     int              `json:"page"`
	PageSize int              `json:"page_size"`
	Query    string           `json:"query"`
	Mode     search.Mode      `json:"mode,omitempty"`
	Degraded *search.Degraded `json:"degraded,omitempty"`
}

// Conflicts are the rules that conflict with a rule.
type Conflicts struct {
	RuleID    string            `json:"rule_id"`
	Conflicts []search.Conflict `json:"conflicts"`
	Total     int               `json:"total"`
}

// ask carries out a search, which may be sent again: it changes nothing.
func ask[T any](ctx context.Context, c *Client, name string, query url.Values, body any) (T, error) {
	k, err := send(http.MethodPost, searchPath+name, body)
	if err != nil {
		var none T
		return none, err
	}
	k.query, k.repeatable = query, true
	return into[T](ctx, c, k)
}

// Search finds rules for a text.
func (c *Client) Search(ctx context.Context, mode search.Mode, q SearchQuery) (Found, error) {
	name := string(mode)
	if mode == search.Keyword {
		name = "fulltext"
	}
	return ask[Found](ctx, c, name, q.where(), q)
}

// SearchCategory finds all rules that a filter selects, in the order they were made.
func (c *Client) SearchCategory(ctx context.Context, f SearchFilter, p SearchPage) (Found, error) {
	return ask[Found](ctx, c, "category", p.where(), struct {
		SearchFilter
		SearchPage
	}{f, p})
}

// SearchContext finds the rules that matter in a situation.
func (c *Client) SearchContext(ctx context.Context, facts, scope string, p SearchPage) (Found, error) {
	return ask[Found](ctx, c, "context", p.where(), struct {
		Facts string `json:"facts"`
		Scope string `json:"scope,omitempty"`
		SearchPage
	}{facts, scope, p})
}

// SearchTemporal finds the rules in force at a time, which is one of ISO 8601, and for a text among them unless it is empty.
func (c *Client) SearchTemporal(ctx context.Context, asOf, text string, p SearchPage) (Found, error) {
	q := p.query()
	q.Set("as_of", asOf)
	setText(q, "q", text)
	return ask[Found](ctx, c, "temporal", q, nil)
}

// SearchCitation finds the rules that refer to a source.
func (c *Client) SearchCitation(ctx context.Context, source string, p SearchPage) (Found, error) {
	q := p.query()
	q.Set("source", source)
	return ask[Found](ctx, c, "citation", q, nil)
}

// SearchSubject finds the rules for a kind of person.
func (c *Client) SearchSubject(ctx context.Context, profile search.Profile, p SearchPage) (Found, error) {
	q := p.query()
	setText(q, "role", profile.Role)
	setText(q, "location", profile.Location)
	setText(q, "employment_type", profile.EmploymentType)
	setText(q, "department", profile.Department)
	return ask[Found](ctx, c, "subject", q, nil)
}

// SearchConflict finds the rules that conflict with a rule, which ref names by id or slug.
func (c *Client) SearchConflict(ctx context.Context, ref string) (Conflicts, error) {
	return ask[Conflicts](ctx, c, "conflict", url.Values{"rule_id": {ref}}, nil)
}

// SearchStatus tells what searches can rest on.
func (c *Client) SearchStatus(ctx context.Context) (search.Status, error) {
	return into[search.Status](ctx, c, get(searchPath+"status", nil))
}
