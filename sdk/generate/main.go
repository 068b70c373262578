// Command generate writes the parts of the clients for Python and TypeScript that follow from the API description: its types, and a
// method for each operation. What the clients add by hand is beside it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:generate go run . ../../internal/api/testdata/openapi.json ..

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate DESCRIPTION FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run reads the description and writes the files below a folder.
func run(description, folder string) error {
	data, err := os.ReadFile(description)
	if err != nil {
		return err
	}
	a, err := read(data)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"python/src/tenet_sdk/models.py":      pythonModels(a),
		"python/src/tenet_sdk/_operations.py": pythonOperations(a),
		"typescript/src/models.ts":            typescriptModels(a),
		"typescript/src/operations.ts":        typescriptOperations(a),
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// api holds the parts of an API description that the generators read.
type api struct {
	models     []*model
	operations []operation
}

// model is an object of the API.
type model struct {
	name   string
	fields []field
	// tag is the field whose value names the type of an object in a union, and tagValue that value; both are empty outside unions.
	tag, tagValue string
	// sent is true if it occurs in requests, and answered if it occurs in answers.
	sent, answered bool
	// clears is true if a null in it clears a field, so that null and absent differ.
	clears bool
}

type field struct {
	name, doc string
	required  bool
	typ       *schema
}

// operation is a method of the clients.
type operation struct {
	id, method, path, doc string
	inPath                []parameter // of the path
	query, headers        []parameter
	body                  *schema // of JSON; nil without one
	form                  []field // of a form; nil without one
	bodyRequired          bool
	answer                *schema // nil for none
	raw                   bool    // the answer is not JSON
	later                 bool    // asks for an answer before the work is done
	again                 bool    // may be sent again although the server may have carried it out
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Explode     *bool   `json:"explode"`
	Schema      *schema `json:"schema"`
}

// schema is the part of a JSON schema that the description uses.
type schema struct {
	Ref           string             `json:"$ref"`
	Type          types              `json:"type"`
	Format        string             `json:"format"`
	Description   string             `json:"description"`
	Enum          []string           `json:"enum"`
	Items         *schema            `json:"items"`
	Properties    map[string]*schema `json:"properties"`
	Required      []string           `json:"required"`
	AnyOf         []*schema          `json:"anyOf"`
	OneOf         []*schema          `json:"oneOf"`
	Discriminator *struct {
		PropertyName string            `json:"propertyName"`
		Mapping      map[string]string `json:"mapping"`
	} `json:"discriminator"`
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
}

// types are the types that a value may have: one, or one and null.
type types []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *types) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		*t = types{""}
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// words are the values of an enumeration other than null, which decodes as "".
func (s *schema) words() []string {
	return slices.DeleteFunc(slices.Clone(s.Enum), func(w string) bool { return w == "" })
}

// main is the type other than null.
func (s *schema) main() string {
	for _, t := range s.Type {
		if t != "null" {
			return t
		}
	}
	return ""
}

// nullable reports whether null is a value.
func (s *schema) nullable() bool {
	return slices.Contains(s.Type, "null") || slices.ContainsFunc(s.AnyOf, func(o *schema) bool { return slices.Contains(o.Type, "null") })
}

// values is the schema of the values of an object without fields of its own; nil for any.
func (s *schema) values() *schema {
	var v schema
	if json.Unmarshal(s.AdditionalProperties, &v) != nil || (v.Ref == "" && v.main() == "") {
		return nil
	}
	return &v
}

func (s *schema) refName() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// verdicts are the words of an enumeration that a client must not take others for.
var verdicts = []string{"ALLOW", "DENY", "NEEDS_CONFIRMATION"}
