package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const jsonType = "application/json"

type content map[string]struct {
	Schema *schema `json:"schema"`
}

// description is an OpenAPI document.
type description struct {
	Paths map[string]map[string]struct {
		ID          string      `json:"operationId"`
		Summary     string      `json:"summary"`
		Description string      `json:"description"`
		Parameters  []parameter `json:"parameters"`
		RequestBody *struct {
			Content  content `json:"content"`
			Required bool    `json:"required"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Content content `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// repeatable are the operations by POST that only read, or that the server recognizes when they come again.
var repeatable = []string{"evaluate", "submit", "applicable-rules", "search-", "similar-rules", "preview-", "playground-"}

// read reads an API description.
func read(data []byte) (*api, error) {
	var d description
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if len(d.Paths) == 0 {
		return nil, errors.New("the description has no paths")
	}
	a := &api{}
	byName := map[string]*model{}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		if s.main() != "object" {
			return nil, fmt.Errorf("the schema %s is no object", name)
		}
		m := &model{name: name}
		for _, f := range slices.Sorted(maps.Keys(s.Properties)) {
			m.fields = append(m.fields, field{name: f, doc: s.Properties[f].Description, required: slices.Contains(s.Required, f), typ: s.Properties[f]})
		}
		byName[name] = m
		a.models = append(a.models, m)
	}
	for _, s := range d.Components.Schemas {
		for _, p := range s.Properties {
			if p.Discriminator == nil {
				continue
			}
			for value, ref := range p.Discriminator.Mapping {
				m := byName[(&schema{Ref: ref}).refName()]
				m.tag, m.tagValue = p.Discriminator.PropertyName, value
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			if strings.HasPrefix(path, "/rest/") {
				continue // the same as below /agent
			}
			call := d.Paths[path][method]
			o := operation{id: call.ID, method: strings.ToUpper(method), path: path, doc: call.Summary + ".", again: method != "post" && method != "patch"}
			for _, prefix := range repeatable {
				o.again = o.again || (method == "post" && strings.HasPrefix(call.ID, prefix))
			}
			if call.Description != "" {
				o.doc += " " + call.Description
			}
			for _, p := range call.Parameters {
				switch p.In {
				case "path":
					o.inPath = append(o.inPath, p)
				case "query":
					o.query = append(o.query, p)
				default:
					if p.Name != "Prefer" && p.Name != "If-None-Match" { // those have methods of their own, or are of no use here
						o.headers = append(o.headers, p)
					}
				}
			}
			if call.RequestBody != nil {
				o.bodyRequired = call.RequestBody.Required
				if media, ok := call.RequestBody.Content[jsonType]; ok {
					o.body = media.Schema
				} else if form, ok := call.RequestBody.Content["multipart/form-data"]; ok {
					for _, name := range slices.Sorted(maps.Keys(form.Schema.Properties)) {
						f := form.Schema.Properties[name]
						o.form = append(o.form, field{name, f.Description, slices.Contains(form.Schema.Required, name), f})
					}
				}
			}
			for _, status := range []string{"200", "201", "202"} {
				answer, ok := call.Responses[status]
				if !ok || len(answer.Content) == 0 {
					continue
				}
				o := o
				if media, ok := answer.Content[jsonType]; ok && len(answer.Content) == 1 {
					o.answer = media.Schema
				} else {
					o.raw = true
				}
				if _, synchronous := call.Responses["200"]; status == "202" && synchronous {
					o.id, o.later = o.id+"-later", true
					o.doc = call.Summary + ", in the background. The answer names where to ask for the result."
				}
				a.operations = append(a.operations, o)
			}
			if _, nothing := call.Responses["204"]; nothing {
				a.operations = append(a.operations, o)
			}
		}
	}
	a.trace(byName)
	return a, nil
}

// trace finds out which models occur in requests and which in answers.
func (a *api) trace(byName map[string]*model) {
	var mark func(s *schema, seen func(*model) *bool)
	mark = func(s *schema, seen func(*model) *bool) {
		if s == nil {
			return
		}
		if s.Ref != "" {
			m := byName[s.refName()]
			if done := seen(m); !*done {
				*done = true
				for _, f := range m.fields {
					mark(f.typ, seen)
				}
			}
			return
		}
		mark(s.Items, seen)
		mark(s.values(), seen)
		for _, o := range slices.Concat(s.AnyOf, s.OneOf) {
			mark(o, seen)
		}
	}
	byName["Problem"].answered = true
	for _, o := range a.operations {
		mark(o.body, func(m *model) *bool { return &m.sent })
		mark(o.answer, func(m *model) *bool { return &m.answered })
		if o.method == "PATCH" && o.body != nil && o.body.Ref != "" {
			byName[o.body.refName()].clears = true
		}
	}
}

// snake turns the id of an operation or the name of a header into a name: get-rule is get_rule.
func snake(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "_")) }

// camel turns the id of an operation or the name of a header into a name: get-rule is getRule.
func camel(id string) string {
	var b strings.Builder
	for i, part := range strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r == '-' || r == '_' }) {
		if i > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	return b.String()
}
