package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestGeneratorsTakeTheDescription reads the API description as tools do that generate clients: it must be valid by itself, with
// no reference to nothing and with examples that fit, and every operation must have a name of its own and tell its errors.
func TestGeneratorsTakeTheDescription(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(newNode(t).call("GET", "/openapi.json", nil).body)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			if other, taken := names[op.OperationID]; taken || op.OperationID == "" {
				t.Errorf("%s has the operationId %q like %q", where, op.OperationID, other)
			}
			names[op.OperationID] = where
			if op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s has the summary %q and the tags %v", where, op.Summary, op.Tags)
			}
			failure := op.Responses.Default()
			if failure == nil || failure.Value == nil || failure.Value.Content[problemType] == nil || failure.Value.Content[problemType].Schema.Value == nil {
				t.Errorf("%s does not tell its errors", where)
			}
			success := false
			for status, r := range op.Responses.Map() {
				success = success || (strings.HasPrefix(status, "2") && r.Value != nil)
			}
			if !success {
				t.Errorf("%s does not tell what comes of it", where)
			}
			for _, p := range op.Parameters {
				if p.Value == nil || p.Value.Schema == nil || (p.Value.In == "path") != strings.Contains(path, "{"+p.Value.Name+"}") {
					t.Errorf("%s has a parameter that is not whole: %+v", where, p)
				}
			}
		}
	}
	if len(names) < 90 {
		t.Errorf("the description has %d operations", len(names))
	}
}

// TestGeneratedTypesAreThoseOfJSON looks for what generators turn into types that nobody can use: events beside the JSON of an answer, and
// fields of bodies with a default, which they take for fields that are always there.
func TestGeneratedTypesAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	doc, err := openapi3.NewLoader().LoadFromData(n.call("GET", "/openapi.json", nil).body)
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range doc.Components.Schemas {
		for field, f := range schema.Value.Properties {
			if f.Ref == "" && f.Value.Default != nil {
				t.Errorf("%s.%s has a default", name, field)
			}
		}
	}
	options := doc.Components.Schemas["EvaluateRequest"].Value.Properties["max_rules"].Value.Description
	if !strings.Contains(options, "Default: 20.") {
		t.Errorf("the description of max_rules is %q", options)
	}
	examples, streams, tags := requestExamples(), 0, map[string]bool{}
	for _, tag := range doc.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			if !tags[op.Tags[0]] {
				t.Errorf("%s has the tag %s, which Description does not describe", where, op.Tags[0])
			}
			if _, ok := op.Extensions["x-event-stream"]; ok {
				streams++
			}
			for status, answer := range op.Responses.Map() {
				if answer.Value.Content["text/event-stream"] != nil {
					t.Errorf("%s has events beside the body of %s", where, status)
				}
			}
			if op.RequestBody == nil {
				continue
			}
			media := op.RequestBody.Value.Content["application/json"]
			if media != nil && media.Example == nil {
				t.Errorf("%s has a body without an example", where)
			}
			if _, ok := examples[op.OperationID]; ok {
				if media == nil {
					t.Errorf("%s has an example but no body in JSON", where)
				}
				delete(examples, op.OperationID)
			}
		}
	}
	if streams < 10 {
		t.Errorf("%d operations are described with events", streams)
	}
	for id := range examples {
		if !strings.HasPrefix(id, "rest-") { // mounted only where the setting names a prefix
			t.Errorf("an example for %s, which is no operation", id)
		}
	}
}

// TestExamplesOfEvaluationsWork sends the requests that the description shows, as a reader of /docs does.
func TestExamplesOfEvaluationsWork(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for id, path := range map[string]string{
		"evaluate": "/api/v1/evaluate", "evaluate-quick": "/api/v1/evaluate/quick", "submit": "/api/v1/submissions",
		"applicable-rules": "/api/v1/evaluate/applicable-rules", "create-rule": "/api/v1/rules",
	} {
		if got := n.call("POST", path, string(requestExamples()[id])).status; got != http.StatusOK && got != http.StatusCreated {
			t.Errorf("the example of %s is answered with %d", id, got)
		}
	}
}

// TestADescriptionThatIsWrongIsNoticed shows that the validator looks.
func TestADescriptionThatIsWrongIsNoticed(t *testing.T) {
	t.Parallel()
	good := string(newNode(t).call("GET", "/openapi.json", nil).body)
	for name, change := range map[string][2]string{
		"a reference to nothing": {`"#/components/schemas/Evaluation"`, `"#/components/schemas/Evaluatoin"`},
		"no such type":           {`"type": "boolean"`, `"type": "bool"`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s: the description does not hold %s", name, change[0])
		}
		doc, err := openapi3.NewLoader().LoadFromData([]byte(bad))
		if err == nil {
			err = doc.Validate(t.Context())
		}
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}
}
