package client

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"tenet/internal/catalog"
	"tenet/internal/rule"
)

// maxPage is the largest page that the API gives.
const maxPage = 100

// page is the query of a page of a list; zero values leave the choice to the server.
func page(q url.Values, number, size int) {
	if number > 0 {
		q.Set("page", strconv.Itoa(number))
	}
	if size > 0 {
		q.Set("page_size", strconv.Itoa(size))
	}
}

func setText[T ~string](q url.Values, name string, v T) {
	if v != "" {
		q.Set(name, string(v))
	}
}

// List is a page of a list.
type List[T any] struct {
	Items    []T `json:"items"`
	Total    int `json:"total"`
	Page     int `json:"page"`
	PageSize int `json:"page_size"`
}

// all collects the pages of a list. What is made meanwhile comes at the end of lists in the order of making, so no item
// is missed there.
func all[T any](ctx context.Context, c *Client, k call) ([]T, error) {
	items := []T{}
	for number := 1; ; number++ {
		q := url.Values{}
		maps.Copy(q, k.query)
		page(q, number, maxPage)
		next := k
		next.query = q
		list, err := into[List[T]](ctx, c, next)
		if err != nil {
			return nil, err
		}
		items = append(items, list.Items...)
		if len(list.Items) < maxPage {
			return items, nil
		}
	}
}

// RuleFilter selects rules; empty fields select everything.
type RuleFilter struct {
	Status   rule.Status
	Severity rule.Severity
	Modality rule.Modality
	Scope    string
	Tags     []string
	Page     int // from 1; 0 is the first
	PageSize int // up to 100; 0 leaves the choice to the server
}

func (f RuleFilter) query() url.Values {
	q := url.Values{}
	setText(q, "status", f.Status)
	setText(q, "severity", f.Severity)
	setText(q, "modality", f.Modality)
	setText(q, "scope", f.Scope)
	for _, tag := range f.Tags {
		q.Add("tags", tag)
	}
	page(q, f.Page, f.PageSize)
	return q
}

const rulesPath = "/api/v1/rules"

// rulePath is the path of one rule and what belongs to it.
func rulePath(ref string, more ...string) string {
	path := rulesPath + "/" + url.PathEscape(ref)
	for _, m := range more {
		path += "/" + url.PathEscape(m)
	}
	return path
}

// Rules returns a page of rules, in the order they were made.
func (c *Client) Rules(ctx context.Context, f RuleFilter) (List[rule.Rule], error) {
	return into[List[rule.Rule]](ctx, c, get(rulesPath, f.query()))
}

// AllRules returns all rules that the filter selects, whatever its page, in the order they were made.
func (c *Client) AllRules(ctx context.Context, f RuleFilter) ([]rule.Rule, error) {
	f.Page, f.PageSize = 0, 0
	return all[rule.Rule](ctx, c, get(rulesPath, f.query()))
}

// Rule returns a rule by id or slug.
func (c *Client) Rule(ctx context.Context, ref string) (rule.Rule, error) {
	return into[rule.Rule](ctx, c, get(rulePath(ref), nil))
}

// CreateRule makes a rule.
func (c *Client) CreateRule(ctx context.Context, in catalog.Input) (rule.Rule, error) {
	k, err := send(http.MethodPost, rulesPath, in)
	if err != nil {
		return rule.Rule{}, err
	}
	return into[rule.Rule](ctx, c, k)
}

// PatchRule changes the fields of a rule that patch names, as a new version. A version other than 0 must be the current
// one, else the error is precondition_failed.
func (c *Client) PatchRule(ctx context.Context, ref string, version int, patch map[string]any) (rule.Rule, error) {
	k, err := send(http.MethodPatch, rulePath(ref), patch)
	if err != nil {
		return rule.Rule{}, err
	}
	k.header = ifMatch(version)
	return into[rule.Rule](ctx, c, k)
}

// TransitionRule moves a rule to another status.
func (c *Client) TransitionRule(ctx context.Context, ref string, to rule.Status, note string) (rule.Rule, error) {
	k, err := send(http.MethodPost, rulePath(ref, "transitions"), map[string]string{"to": string(to), "note": note})
	if err != nil {
		return rule.Rule{}, err
	}
	return into[rule.Rule](ctx, c, k)
}

// RetireRule takes a rule out of force for good; version is as in [Client.PatchRule].
func (c *Client) RetireRule(ctx context.Context, ref string, version int) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: rulePath(ref), header: ifMatch(version)})
	return err
}

// RuleVersions returns a page of a rule's versions, newest first.
func (c *Client) RuleVersions(ctx context.Context, ref string, number, size int) (List[rule.Rule], error) {
	q := url.Values{}
	page(q, number, size)
	return into[List[rule.Rule]](ctx, c, get(rulePath(ref, "versions"), q))
}

// ifMatch is the header that guards a change of a version.
func ifMatch(version int) http.Header {
	if version == 0 {
		return nil
	}
	return http.Header{"If-Match": {strconv.Quote(strconv.Itoa(version))}}
}

// ImportRules creates and updates rules from a file: all of them, or none.
func (c *Client) ImportRules(ctx context.Context, f *catalog.File, o catalog.ImportOptions) (rule.ImportResult, error) {
	k, err := send(http.MethodPost, rulesPath+"/import", f)
	if err != nil {
		return rule.ImportResult{}, err
	}
	k.query = url.Values{}
	if o.CreateOnly {
		k.query.Set("mode", "create")
	}
	if o.Prune {
		k.query.Set("prune", "true")
	}
	if o.DryRun {
		k.query.Set("dry_run", "true")
		k.repeatable = true
	}
	return into[rule.ImportResult](ctx, c, k)
}

// ExportRules returns the rules that are neither retired nor superseded as a file, as YAML or JSON ("yaml" or "json").
func (c *Client) ExportRules(ctx context.Context, format string, f RuleFilter) ([]byte, error) {
	q := f.query()
	setText(q, "format", format)
	k := get(rulesPath+"/export", q)
	k.limit = maxExport
	a, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// Relationships lists the relationships from and to a rule, which ref names by id or slug.
func (c *Client) Relationships(ctx context.Context, ref string) ([]rule.Relationship, error) {
	return all[rule.Relationship](ctx, c, get(rulePath(ref, "relationships"), nil))
}
