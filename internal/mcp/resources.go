package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/packs"
)

const (
	rulesURI = "tenet://rules/"
	packsURI = "tenet://packs/"
	yamlType = "application/yaml"
	jsonType = "application/json"
)

// resources are the rules, by id or slug, and the starter packs of the program.
func (s *server) resources(m *mcp.Server) {
	m.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: rulesURI + "{id}", Name: "rule", Title: "Rule", MIMEType: jsonType,
		Description: "One rule whole, by slug or id: what it says and why, exceptions, relationships, test cases.",
	}, s.readRule)
	m.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: packsURI + "{name}", Name: "pack", Title: "Starter pack", MIMEType: yamlType,
		Description: "One starter pack of rules, as YAML to import. search_rules lists the rules in force; a pack does not.",
	}, readPack)
	for _, name := range packNames() {
		m.AddResource(&mcp.Resource{
			URI: packsURI + name, Name: "pack " + name, Title: "Starter pack " + name, MIMEType: yamlType,
			Description: "Rules of the starter pack " + name + ", as YAML to import.",
		}, readPack)
	}
}

func packNames() []string {
	all, err := packs.All()
	if err != nil {
		panic("mcp: the starter packs do not load: " + err.Error()) // they are part of the program
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names
}

func readPack(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	all, err := packs.All()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(p packs.Pack) bool { return packsURI+p.Name == req.Params.URI })
	if i < 0 {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	return contents(req.Params.URI, yamlType, string(all[i].Rules)), nil
}

func (s *server) readRule(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	c, err := s.client(req.Extra)
	if err != nil {
		return nil, explain(err)
	}
	ref, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, rulesURI))
	if err != nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	e, err := explained(ctx, c, ref)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, explain(err)
	}
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil, err
	}
	return contents(req.Params.URI, jsonType, string(data)), nil
}

func contents(uri, media, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: media, Text: text}}}
}

// maxCompletions is how many values the protocol lets a completion have.
const maxCompletions = 100

// complete completes the variables of the resources: names of packs, and slugs of rules that match what was typed.
func (s *server) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	typed := req.Params.Argument.Value
	if ref := req.Params.Ref; ref != nil && ref.Type == "ref/resource" {
		switch ref.URI {
		case packsURI + "{name}":
			for _, name := range packNames() {
				if strings.HasPrefix(name, strings.ToLower(typed)) {
					values = append(values, name)
				}
			}
		case rulesURI + "{id}":
			var err error
			if values, err = s.slugs(ctx, req.Extra, typed); err != nil {
				return nil, explain(err)
			}
		}
	}
	more := len(values) > maxCompletions
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: values[:min(len(values), maxCompletions)], Total: len(values), HasMore: more,
	}}, nil
}

// slugs are those of the rules that begin with what was typed, or that match it as words.
func (s *server) slugs(ctx context.Context, extra *mcp.RequestExtra, typed string) ([]string, error) {
	c, err := s.client(extra)
	if err != nil {
		return nil, err
	}
	values := []string{}
	list, err := c.Rules(ctx, client.RuleFilter{PageSize: maxCompletions})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if slug := list.Items[i].Slug; slug != "" && strings.HasPrefix(strings.ToLower(slug), strings.ToLower(typed)) {
			values = append(values, slug)
		}
	}
	if strings.TrimSpace(typed) == "" || len(values) > 0 {
		return values, nil
	}
	found, err := client.SearchRules(ctx, c, "keyword", client.SearchQuery{Text: typed, PageBody: wire.PageBody{PageSize: maxListed}})
	if err != nil {
		return nil, err
	}
	for i := range found.Items {
		if slug := found.Items[i].Rule.Slug; slug != "" {
			values = append(values, slug)
		}
	}
	return values, nil
}
