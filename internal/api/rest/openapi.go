package rest

import (
	"encoding/json"
	"reflect"
	"strings"
)

// The types below are the parts of an OpenAPI 3.1 document that this API uses. Fields are in the order of their JSON names.

// document is an API description.
type document struct {
	Components components                     `json:"components"`
	Info       Info                           `json:"info"`
	OpenAPI    string                         `json:"openapi"`
	Paths      map[string]map[string]*apiCall `json:"paths"` // by path and lower-case method
	Tags       []Tag                          `json:"tags"`
}

// Info says what the API is.
type Info struct {
	Description string  `json:"description"`
	License     License `json:"license"`
	Title       string  `json:"title"`
	Version     string  `json:"version"`
}

// License names a license of SPDX.
type License struct {
	Identifier string `json:"identifier"`
	Name       string `json:"name"`
}

// Tag describes a group of operations.
type Tag struct {
	Description string `json:"description"`
	Name        string `json:"name"`
}

type components struct {
	Schemas         map[string]*Schema        `json:"schemas"`
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
}

// SecurityScheme describes how a caller proves who it is.
type SecurityScheme struct {
	Description string `json:"description"`
	In          string `json:"in,omitempty"`
	Name        string `json:"name,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Type        string `json:"type"`
}

// apiCall describes an operation.
type apiCall struct {
	Description  string                `json:"description,omitempty"`
	OperationID  string                `json:"operationId"`
	Parameters   []parameter           `json:"parameters,omitempty"`
	RequestBody  *requestBody          `json:"requestBody,omitempty"`
	Responses    map[string]*Response  `json:"responses"` // by status, or default
	Security     []map[string][]string `json:"security,omitempty"`
	Summary      string                `json:"summary,omitempty"`
	Tags         []string              `json:"tags"`
	EventStream  *eventStream          `json:"x-event-stream,omitempty"`
	RequiredRole string                `json:"x-required-role,omitempty"`
}

// eventStream describes the events that an operation answers with when the caller accepts their media type.
type eventStream struct {
	Description string `json:"description"`
	MediaType   string `json:"mediaType"`
}

type parameter struct {
	Description string  `json:"description,omitempty"`
	Explode     *bool   `json:"explode,omitempty"`
	In          string  `json:"in"`
	Name        string  `json:"name"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema"`
}

type requestBody struct {
	Content  map[string]*Media `json:"content"`
	Required bool              `json:"required,omitempty"`
}

// Response describes an answer.
type Response struct {
	Content     map[string]*Media `json:"content,omitempty"` // by media type
	Description string            `json:"description"`
	Headers     map[string]Header `json:"headers,omitempty"`
}

// Media describes a body.
type Media struct {
	Example any     `json:"example,omitempty"`
	Schema  *Schema `json:"schema"`
}

// Header describes a header of an answer.
type Header struct {
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema"`
}

// Text returns the schema of any text.
func Text(description string) *Schema { return &Schema{Type: typeString, Description: description} }

// File returns the schema of a file.
func File(description string) *Schema {
	return &Schema{Type: typeString, Format: "binary", ContentMediaType: "application/octet-stream", Description: description}
}

// newDocument begins a description, to which operations add themselves.
func newDocument(d Description, s *schemas) *document {
	return &document{
		OpenAPI: "3.1.0", Info: d.Info, Tags: d.Tags, Paths: map[string]map[string]*apiCall{},
		Components: components{Schemas: s.byName, SecuritySchemes: map[string]SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "An API key (tnt_...)."},
			"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key (tnt_...)."},
		}},
	}
}

// add adds an operation, which takes a method and a path.
func (d *document) add(route string, call *apiCall) {
	method, path, _ := strings.Cut(route, " ")
	if d.Paths[path] == nil {
		d.Paths[path] = map[string]*apiCall{}
	}
	d.Paths[path][strings.ToLower(method)] = call
}

// encode renders the description in a stable order.
func (d *document) encode() []byte {
	for _, calls := range d.Paths {
		for _, call := range calls {
			if call.RequestBody == nil {
				continue
			}
			if media := call.RequestBody.Content[jsonType]; media != nil && media.Example == nil {
				media.Example = media.Schema.example(maxExampleDepth)
			}
		}
	}
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic("rest: the description cannot be encoded: " + err.Error())
	}
	return append(b, '\n')
}

// SchemaOf returns the published schema of a type.
func SchemaOf[T any](r *Router) *Schema { return r.server.schemas.of(reflect.TypeFor[T]()) }

// JSON describes a body in JSON.
func JSON(s *Schema) map[string]*Media { return map[string]*Media{jsonType: {Schema: s}} }
