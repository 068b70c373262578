package rest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// FuzzCheck holds the check against encoding/json: what it lets pass is JSON, decodes, and holds no NUL.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"\\u0000","\\\\u0000",null]}`, `"\u0000"`, `"\\\u0000"`, `[[],{}]`, `1e400`, `{"a":1,"a":2}`, `{"":""}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := checkJSON(data, anySchema, 64)
		if err != nil {
			if rule.CodeOf(err) != rule.CodeInvalid {
				t.Fatalf("%v", err)
			}
			return
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%q passes, but %v", data, err)
		}
		if _, err := decodeJSON[any](data, anySchema, 64); err != nil {
			t.Fatalf("%q passes, but does not decode: %v", data, err)
		}
		if walkNUL(v) {
			t.Fatalf("%q passes, but holds NUL", data)
		}
	})
}

// A number that would cross a bound when it becomes a double is refused wherever it is in a body.
func TestNumbersThatWouldCrossABound(t *testing.T) {
	number := &Schema{Type: typeNumber}
	for body, kept := range map[string]bool{
		`{"facts":{"amount":1000.0000000000000000001}}`: false, `[{"a":[999.99999999999999999999]}]`: false, `{"a":1e-400}`: false,
		`{"facts":{"amount":1000.10,"id":9007199254740993,"p":0.30000000000000004}}`: true, `{"a":"1000.0000000000000000001"}`: true,
	} {
		if _, err := checkJSON([]byte(body), anySchema, 64); (err == nil) != kept {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := checkJSON([]byte("1000.0000000000000000001"), number, 64); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a declared number: %v", err)
	}
}

func walkNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "\x00")
	case []any:
		return slices.ContainsFunc(v, walkNUL)
	case map[string]any:
		for name, inner := range v {
			if strings.Contains(name, "\x00") || walkNUL(inner) {
				return true
			}
		}
	}
	return false
}

// BenchmarkImportCheck measures the check of a file of 10,000 rules.
func BenchmarkImportCheck(b *testing.B) {
	rules := make([]map[string]any, 10_000)
	for i := range rules {
		rules[i] = map[string]any{
			"slug": "R-" + strconv.Itoa(i), "statement": strings.Repeat("Payments need a second approver. ", 4), "severity": "HIGH",
			"tags": []string{"a", "b"}, "check": map[string]any{"cel": "facts.amount <= 10000"},
		}
	}
	body, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		b.Fatal(err)
	}
	schema := newSchemas().of(reflect.TypeFor[wire.RuleFile]())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := checkJSON(body, schema, 64); err != nil {
			b.Fatal(err)
		}
	}
}
