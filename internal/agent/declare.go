package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// Bounds of a declaration.
const (
	MaxDeclared     = 50         // agents
	MaxPrompt       = 20_000     // characters of a prompt
	MaxDeclaredFile = 1 << 20    // bytes of the file
	maxSchema       = 64 << 10   // bytes of a result schema
	maxScope        = 1024       // bytes of the scope of the rules in view
	maxRulesInView  = 100        // rules that an agent is shown
	defaultInView   = shownRules // where the declaration does not say
)

// Declared is an agent of the operator: a prompt, the rules that it sees, and the form of its result.
type Declared struct {
	Name        string
	Description string
	Prompt      string
	Rules       InView
	// Schema is the JSON Schema of the result.
	Schema json.RawMessage

	compiled *jsonschema.Schema
}

// InView says which rules in force an agent is shown. Without a match, the best for the intent.
type InView struct {
	Match       string        `yaml:"match"` // intent (default): the best for the intent; all: in the order they were made
	Scope       string        `yaml:"scope"`
	Tags        []string      `yaml:"tags"`
	SeverityMin rule.Severity `yaml:"severity_min"`
	Max         int           `yaml:"max"`
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// ReadDeclared reads the file of agents with a name; an empty name means no agents.
func ReadDeclared(name string) ([]Declared, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "agents_file: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	data, err := io.ReadAll(io.LimitReader(f, MaxDeclaredFile+1))
	if err != nil {
		return nil, err
	}
	return ParseDeclared(data)
}

// ParseDeclared reads a file of agents (YAML or JSON). It returns all faults in one invalid error.
func ParseDeclared(data []byte) ([]Declared, error) {
	if len(data) > MaxDeclaredFile {
		return nil, rule.Errorf(rule.CodeTooLarge, "the file of agents has more than %d bytes", MaxDeclaredFile)
	}
	var file struct {
		Agents []struct {
			Name        string         `yaml:"name"`
			Description string         `yaml:"description"`
			Prompt      string         `yaml:"prompt"`
			Rules       InView         `yaml:"rules"`
			Result      map[string]any `yaml:"result"`
		} `yaml:"agents"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, rule.Errorf(rule.CodeInvalid, "the file of agents is not what it should be: %s", text.Clip(llm.Clean(yaml.FormatError(err, false, false)), 500, " ..."))
	}
	var p rule.Problems
	if len(file.Agents) > MaxDeclared {
		p.Add("agents", "has %d entries; at most %d are allowed", len(file.Agents), MaxDeclared)
		return nil, p.Err("the file of agents is invalid")
	}
	var out []Declared
	for i, f := range file.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		d := Declared{Name: f.Name, Description: strings.TrimSpace(f.Description), Prompt: strings.TrimSpace(f.Prompt), Rules: f.Rules}
		if slices.ContainsFunc(out, func(x Declared) bool { return x.Name == d.Name }) {
			p.Add(at+".name", "%q stands here twice", d.Name)
		}
		d.validate(&p, at)
		if err := d.compile(f.Result); err != nil {
			p.Add(at+".result", "%s", err.Error())
		}
		out = append(out, d)
	}
	return out, p.Err("the file of agents is invalid")
}

func (d *Declared) validate(p *rule.Problems, at string) {
	switch {
	case !nameForm.MatchString(d.Name) || len(d.Name) > 40:
		p.Add(at+".name", "is %q; use up to 40 lower-case letters and digits, with single - between", text.Clip(d.Name, 60, " ..."))
	case slices.Contains([]string{Ask, Check, Author, Review}, d.Name):
		p.Add(at+".name", "%q is an agent that there is already", d.Name)
	}
	for _, f := range []struct {
		name, text string
		most       int
	}{{"description", d.Description, 1000}, {"prompt", d.Prompt, MaxPrompt}} {
		if n := utf8.RuneCountInString(f.text); n == 0 || n > f.most {
			p.Add(at+"."+f.name, "has %d characters; give 1 to %d", n, f.most)
		}
	}
	v := &d.Rules
	if v.Match == "" {
		v.Match = "intent"
	}
	if v.Match != "intent" && v.Match != "all" {
		p.Add(at+".rules.match", "is %q; use intent or all", text.Clip(v.Match, 60, " ..."))
	}
	if v.Scope = rule.CleanScope(v.Scope); v.Scope == "*" {
		v.Scope = ""
	}
	if v.Scope != "" && (len(v.Scope) > maxScope || slices.ContainsFunc(strings.Split(v.Scope, "/"), func(s string) bool { return s == "" || s == "*" })) {
		p.Add(at+".rules.scope", "is %q; write a path without empty or * segments, such as finance/payments", text.Clip(v.Scope, 60, " ..."))
	}
	if v.SeverityMin != "" {
		s, ok := rule.Parse(string(v.SeverityMin), rule.Severities)
		if !ok {
			p.Add(at+".rules.severity_min", "is %q; use one of %s", text.Clip(string(v.SeverityMin), 60, " ..."), rule.Names(rule.Severities))
		}
		v.SeverityMin = s
	}
	if v.Max == 0 {
		v.Max = defaultInView
	}
	if v.Max < 1 || v.Max > maxRulesInView {
		p.Add(at+".rules.max", "is %d; use 1 to %d", v.Max, maxRulesInView)
	}
}

// compile makes the schema of results ready. It must describe an object, and refer to nothing: it is shown to models and
// published unchanged.
func (d *Declared) compile(result map[string]any) error {
	if len(result) == 0 {
		return errors.New("is missing; give the JSON Schema of the result")
	}
	data, err := json.Marshal(result)
	if err != nil {
		return errors.New("cannot be written as JSON")
	}
	if len(data) > maxSchema {
		return fmt.Errorf("has %d bytes as JSON; at most %d are allowed", len(data), maxSchema)
	}
	if key := referenceIn(result); key != "" {
		return fmt.Errorf("uses %s; write the schema out in one piece", key)
	}
	if result["type"] != "object" {
		return errors.New("must have type: object")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return errors.New("is not JSON")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return fmt.Errorf("is no JSON Schema: %s", firstLine(err))
	}
	if d.compiled, err = c.Compile(schemaURL); err != nil {
		return fmt.Errorf("is no JSON Schema: %s", firstLine(err))
	}
	d.Schema = data
	return nil
}

const schemaURL = "tenet:result"

// nowhere loads no schemas: a declaration must not make the server fetch anything.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not loaded", url) }

// referenceIn finds a keyword that refers to another schema. A property may have such a name.
func referenceIn(v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema"} {
			if _, ok := v[key].(string); ok {
				return key
			}
		}
		for _, inner := range v {
			if key := referenceIn(inner); key != "" {
				return key
			}
		}
	case []any:
		for _, inner := range v {
			if key := referenceIn(inner); key != "" {
				return key
			}
		}
	}
	return ""
}

// firstLine is an error in one line of bounded length.
func firstLine(err error) string {
	return text.Clip(strings.Join(strings.Fields(llm.Clean(err.Error())), " "), 500, " ...")
}
