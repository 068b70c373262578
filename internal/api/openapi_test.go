package api

import (
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
