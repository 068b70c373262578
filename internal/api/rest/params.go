package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// param is a field of an input struct that a path, query or header parameter fills.
type param struct {
	parameter
	index []int  // of the field
	noun  string // of what the parameter is the id of; empty for others
}

// inputParams lists the parameters of an input struct, embedded structs included.
func (r *schemas) inputParams(t reflect.Type) []param {
	var params []param
	for _, f := range reflect.VisibleFields(t) {
		p := param{index: f.Index, noun: f.Tag.Get("id")}
		for _, in := range []string{"path", "query", "header"} {
			if name, ok := f.Tag.Lookup(in); ok {
				p.In, p.Name = in, name
			}
		}
		if p.In == "" {
			continue
		}
		var explode bool
		p.Name, explode = strings.CutSuffix(p.Name, ",explode")
		if p.In == "query" {
			p.Explode = &explode
		}
		p.Schema = r.ofField(f)
		if p.Schema.Type != typeArray {
			p.Schema.Nullable = false // a pointer is nil for an absent parameter
		}
		p.Description = p.Schema.Description
		p.Required = p.In == "path" || f.Tag.Get("required") == "true"
		params = append(params, p)
	}
	return params
}

// readParams fills an input struct.
func readParams(r *http.Request, params []param, in reflect.Value) error {
	invalid := rule.Errorf(rule.CodeInvalid, "the request is invalid")
	var query url.Values
	if r.URL.RawQuery != "" {
		query = r.URL.Query()
	}
	for i := range params {
		p := &params[i]
		var values []string
		switch p.In {
		case "path":
			values = []string{r.PathValue(p.Name)}
		case "query":
			values = query[p.Name]
		case "header":
			if value := r.Header.Get(p.Name); value != "" {
				values = []string{value}
			}
		}
		if len(values) == 0 && p.Schema.Default != nil {
			values = []string{strings.Trim(string(p.Schema.Default), `"`)}
		}
		if len(values) == 0 {
			if p.Required {
				invalid.Fields = append(invalid.Fields, rule.FieldError{Field: p.Name, Message: "is missing"})
			}
			continue
		}
		if err := p.set(in.FieldByIndex(p.index), values); err != nil {
			e := rule.FieldError{Field: p.Name, Message: err.Error(), Value: values[0]}
			if n, err := strconv.ParseInt(values[0], 10, 64); err == nil && p.Schema.Type == typeInteger {
				e.Value = n
			} else if x, err := strconv.ParseFloat(values[0], 64); err == nil && p.Schema.Type == typeNumber && finite(x) {
				e.Value = x
			}
			invalid.Fields = append(invalid.Fields, e)
		}
	}
	if invalid.Fields == nil {
		return nil
	}
	return invalid
}

// checkIDs returns not_found for a path parameter that cannot be an id. It runs after the check of the body.
func checkIDs(ctx context.Context) error {
	x := exchangeFrom(ctx)
	for i := range x.endpoint.params {
		p := &x.endpoint.params[i]
		if value := x.r.PathValue(p.Name); p.noun != "" && !rule.IsID(value) {
			return rule.NotFound(p.noun, Clip(value, maxValue))
		}
	}
	return nil
}

// set parses the values of a parameter into a field.
func (p *param) set(field reflect.Value, values []string) error {
	value := values[0]
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if field.Type() == timeType {
		t, err := ParseTime(value)
		field.Set(reflect.ValueOf(t))
		return err
	}
	switch field.Kind() {
	case reflect.String:
		if p.Schema.Enum != nil && !slices.Contains(p.Schema.Enum, value) {
			return fmt.Errorf("is %q; use one of %s", Clip(value, maxValue), strings.Join(p.Schema.Enum, ", "))
		}
		if wrong := p.Schema.length(value); wrong != "" {
			return fmt.Errorf("%s", wrong)
		}
		field.SetString(value)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("is %q; use true or false", Clip(value, maxValue))
		}
		field.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("is %q; use an integer", Clip(value, maxValue))
		}
		field.SetInt(n)
		return p.within(float64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || x != x {
			return fmt.Errorf("is %q; use a number", Clip(value, maxValue))
		}
		field.SetFloat(x)
		return p.within(x)
	case reflect.Slice:
		field.Set(reflect.ValueOf(values))
	default:
		panic("rest: the parameter " + p.Name + " has the type " + field.Type().String())
	}
	return nil
}

func (p *param) within(x float64) error {
	if p.Schema.outside(x) {
		return fmt.Errorf("is %s; %s", plain(x), p.Schema.bounds())
	}
	return nil
}

// projectQuery is the parameter of every operation on one project. Operations have it by their [Place].
type projectQuery struct {
	ProjectID string `query:"project_id" doc:"Project; the key's own, or default, if absent." example:"default"`
}
