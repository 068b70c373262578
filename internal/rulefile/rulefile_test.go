package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the golden file")

func TestSchemaIsGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/schema.json"
	if *update {
		if err := os.WriteFile(golden, Schema(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(Schema(), want) {
		t.Errorf("the schema has changed (%v); if that is meant: go test ./internal/rulefile -update", err)
	}
}

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID) // checks it against the schema of schemas
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a file as an editor reads it.
func asJSON(t testing.TB, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ruleFiles are the rule files of the repository, those in the documentation among them.
func ruleFiles(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, root := range []string{"../../packs", "../../examples", "../../docs", "../../cases", "../../e2e"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			isFile := strings.HasPrefix(root, "../../packs") || strings.HasPrefix(root, "../../examples")
			switch {
			case isFile && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)):
				if strings.Contains(string(text), "rules:") || strings.HasPrefix(string(text), "cases:") {
					found[path] = string(text)
				}
			case filepath.Ext(path) == ".md":
				for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
					body, _, _ := strings.Cut(block, "```")
					if first, _, _ := strings.Cut(strings.TrimLeft(body, "#\n "), ":"); slices.Contains([]string{"rules", "defaults", "cases", "federation", "pack"}, first) {
						found[fmt.Sprintf("%s block %d", path, i+1)] = body
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// Every rule file that is shipped or documented is valid, by the schema and by the parser.
func TestShippedFilesAreValid(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	files := ruleFiles(t)
	if len(files) < 25 {
		t.Fatalf("only %d files were found: %v", len(files), slices.Sorted(maps.Keys(files)))
	}
	for name, text := range files {
		if _, _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%s: the parser: %v", name, err)
		}
		if err := s.Validate(asJSON(t, []byte(text))); err != nil {
			t.Errorf("%s: the schema: %v", name, err)
		}
	}
}

const whole1 = `pack: p
defaults: {severity: high, tags: [x], applies_to: {kinds: [code_change], paths: ["**/*.go"]}}
rules:
  - slug: A-1
    statement: Keys must not be in code.
    modality: must_not
    status: EFFECTIVE
    enforcement: warn
    waivable: false
    owner: team
    scope: [a/b]
    rationale: why
    exceptions: [none]
    examples: [{input: x, verdict: deny, note: n}]
    source_refs: [{kind: law, uri: "https://x.test"}]
    effective_period: {from: 2026-01-31, until: 2026-12-31T00:00:00Z}
    check: {pattern: {regex: a, unless: b, paths: [a], lines: any, multiline: true}, decides: deny, message: m}
    relationships: [{kind: refines, to: A-2, reason: r, allow_weakening: true}]
  - {id: 6f0c6a0e-3b1f-4a57-9a0e-000000000001, check: {cel: "true", when: "true"}}
cases:
  - {rule: A-1, name: n, files: [{path: a.go, content: x}], expect: deny, lines: [1]}
  - {rule: A-1, name: n, facts: {a: [1, null, {b: x}]}, expect: ALLOW}
federation:
  - {name: acme, level: organization, rules: [A-1], children: [{name: pay, overrides: [{rule: A-1, instead_of: A-2}], own_rules_only: true, own_rules_reason: r}]}
`

// mutations are values that are put in place of others.
var mutations = []any{
	nil, "", "  ", "x", "MUST", "must", "HIHG", "Deny", "A-1", "1bad", "a..b", "6f0c6a0e-3b1f-4a57-9a0e-000000000001", "abcdef12-3b1f-4a57-9a0e-000000000001",
	"2026-01-31", "2026-13-31", "2026-01-31T10:00:00Z", "2026-01-31 10:00", "code_change", "Code-Change", "law", "LAW", strings.Repeat("é", 256), strings.Repeat("é", 257),
	strings.Repeat("x", 4001), strings.Repeat("x", 8001), strings.Repeat("x", 501), strings.Repeat("x", 2001), true, false, 0, 1, -3, 1.5,
	[]any{},
	[]any{"x"},
	[]any{1},
	[]any{nil},
	[]any{""},
	[]any{"x", strings.Repeat("y", 257)},
	map[string]any{},
	map[string]any{"x": 1},
	map[string]any{"regex": "a"},
	map[string]any{"cel": "true"},
	[]any{map[string]any{}},
	func() any {
		var many []any
		for i := range 65 {
			many = append(many, fmt.Sprint("t", i))
		}
		return many
	}(),
}

var newKeys = []string{"slug", "cel", "pattern", "files", "facts", "action", "diff", "extra", "severty", "statement", "id", "uri", "relationships", "verdict"}

// mutate changes one place of a value.
func mutate(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		names := slices.Sorted(maps.Keys(v))
		switch n := r.IntN(10); {
		case n == 0 && len(names) > 0:
			delete(out, names[r.IntN(len(names))])
		case n == 1:
			out[newKeys[r.IntN(len(newKeys))]] = mutations[r.IntN(len(mutations))]
		case len(names) > 0:
			name := names[r.IntN(len(names))]
			out[name] = mutate(r, v[name])
		}
		return out
	case []any:
		if len(v) > 0 && r.IntN(5) > 0 {
			out := slices.Clone(v)
			i := r.IntN(len(v))
			out[i] = mutate(r, v[i])
			return out
		}
	}
	return mutations[r.IntN(len(mutations))]
}

// What the schema refuses the parser refuses, and the other way round: YAML and JSON, over mutations of a file that has everything.
func TestSchemaAndParserAgree(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	var base any
	if err := yaml.Unmarshal([]byte(whole1), &base); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Parse([]byte(whole1)); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 500 {
		v := base
		for range 1 + r.IntN(2) {
			v = mutate(r, v)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, []byte("{")) {
			continue
		}
		bySchema := s.Validate(asJSON(t, text))
		_, _, byParser := Parse(text)
		if (bySchema == nil) != (byParser == nil) {
			t.Fatalf("the schema says %v and the parser %v of\n%s", bySchema, byParser, text)
		}
		asYAML, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Parse(asYAML); (err == nil) != (byParser == nil) {
			t.Fatalf("in YAML: %v; in JSON: %v; of\n%s", err, byParser, asYAML)
		}
		if byParser != nil {
			refused++
		}
	}
	if refused < 100 || refused > 450 {
		t.Errorf("%d of 500 were refused", refused)
	}
}

func TestProblemsHavePlaces(t *testing.T) {
	t.Parallel()
	const text = "rules:\n  - slug: A\n    severty: LOW\n    statement: \"x\"\n    severity: HIHG\n\tmodality: MUST\n"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a key and a value", strings.ReplaceAll(text, "\t", "    "), []string{
			"3:5 rules[0].severty is not a field here; did you mean severity?",
			"5:15 rules[0].severity is \"HIHG\"; use one of LOW, MEDIUM, HIGH, CRITICAL; did you mean HIGH?",
		}},
		{"JSON", `{"rules": [` + "\n" + `  {"slug": "A", "tags": "é", "statementt": "x"}]}`, []string{
			"2:25 rules[0].tags must be a list, not text; write it as [é]", "2:30 rules[0].statementt is not a field here; did you mean statement?",
		}},
		{"no quotes", "rules:\n- slug: A\n  owner: 42\n  waivable: \"no\"\n", []string{
			`3:10 rules[0].owner must be text, not 42; write it in quotes: "42"`, "4:13 rules[0].waivable must be true or false, not text; write true or false without quotes",
		}},
		{"a key twice in JSON", `{"rules": [], "rules": []}`, []string{`1:15  the key "rules" is there twice`}},
		{"no mapping", "- a\n", []string{"1:1 the file must be a mapping of fields, not a list"}},
	} {
		_, _, err := Parse([]byte(c.text))
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, p := range e.Problems {
			got = append(got, fmt.Sprintf("%d:%d %s %s", p.Line, p.Column, p.Field, p.Message))
			if excerpt := e.Source().Excerpt(p); !strings.Contains(excerpt, "^") {
				t.Errorf("%s: excerpt %q", c.name, excerpt)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n\t%s\nwant\n\t%s", c.name, strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
		}
	}
	// Syntax errors have places too.
	for text, line := range map[string]int{text: 6, "rules:\n  - slug: A\n   statement: x\n": 3, "{\n\"rules\": [}": 2, "a: &x 1\n": 1} {
		_, _, err := Parse([]byte(text))
		if e, ok := errors.AsType[*Error](err); !ok || len(e.Problems) != 1 || e.Problems[0].Line != line {
			t.Errorf("%q: %v, want line %d", text, err, line)
		}
	}
}

// An excerpt of a hostile line is short and has no control characters.
func TestExcerptIsClean(t *testing.T) {
	t.Parallel()
	text := "rules:\n- {slug: A, x\u202e: 1, owner: [\"" + strings.Repeat("é", 5000) + "\"]}\n"
	_, _, err := Parse([]byte(text))
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Problems) != 2 {
		t.Fatal(err)
	}
	for _, p := range e.Problems {
		if x := e.Source().Excerpt(p); len([]rune(x)) > 250 || strings.ContainsRune(x, 0x202e) {
			t.Errorf("%q", x)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole1)
	f.Add(`{"rules": [{"slug": "A", "statement": "x"}]}`)
	f.Add("rules:\n- a: !!str 1\n  b: |\n    x\n  ? c\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, s, err := Parse([]byte(text))
		if (err == nil) != (got != nil && s != nil) {
			t.Fatalf("%v, %v", got, err)
		}
		if e, ok := errors.AsType[*Error](err); ok {
			for _, p := range e.Problems {
				_ = e.Source().Excerpt(p)
			}
			e.Rest()
		}
	})
}
