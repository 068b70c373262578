package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// MaxImport is how many rules one file may hold.
const MaxImport = 20_000

// ParseYAML reads a file in YAML (and so also JSON). Unknown and repeated keys, anchors and aliases are refused.
func ParseYAML(data []byte) (*wire.RuleFile, error) {
	if !utf8.Valid(data) {
		return nil, rule.Errorf(rule.CodeInvalid, "the rule file is not valid UTF-8")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, rule.Errorf(rule.CodeInvalid, "the rule file holds a NUL character")
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return parseJSON(trimmed)
	}
	tokens := lexer.Tokenize(string(data))
	if err := noAliases(tokens); err != nil {
		return nil, err
	}
	invalid := func(err error) error {
		return rule.Errorf(rule.CodeInvalid, "the rule file is not valid: %s", strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, invalid(err)
	}
	f := &wire.RuleFile{}
	read := 0
	for _, doc := range parsed.Docs {
		if doc.Body == nil {
			continue
		}
		if read++; read > 1 {
			return nil, rule.Errorf(rule.CodeInvalid, "the rule file holds more than one YAML document")
		}
		dec := yaml.NewDecoder(strings.NewReader(""), yaml.Strict(), yaml.CustomUnmarshaler(readTime))
		if err := dec.DecodeFromNode(doc.Body, f); err != nil && !errors.Is(err, io.EOF) {
			return nil, invalid(err)
		}
	}
	for i := range f.Cases {
		f.Cases[i].Facts = numbers(f.Cases[i].Facts)
	}
	return f, nil
}

// readTime reads a time or a date, in UTC unless it has an offset. The YAML library reads an invalid time as the year 1, which
// would put a rule out of force by a typing error.
func readTime(t *time.Time, text []byte) error {
	s := strings.Trim(strings.TrimSpace(string(text)), `"'`)
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if parsed, err := time.Parse(layout, s); err == nil {
			*t = parsed
			return nil
		}
	}
	return fmt.Errorf("%q is not a time such as 2026-01-31 or 2026-01-31T12:00:00Z", s)
}

// numbers turns the numbers that YAML decodes into those that JSON decodes, as facts have them.
func numbers[T any](v T) T {
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case uint64:
			return float64(v)
		case int64:
			return float64(v)
		case map[string]any:
			for key, inner := range v {
				v[key] = walk(inner)
			}
		case []any:
			for i, inner := range v {
				v[i] = walk(inner)
			}
		}
		return v
	}
	out, _ := walk(v).(T)
	return out
}

func parseJSON(data []byte) (*wire.RuleFile, error) {
	f := &wire.RuleFile{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "the rule file is not valid JSON: %s", err.Error())
	}
	if dec.More() {
		return nil, rule.Errorf(rule.CodeInvalid, "the rule file holds more than one JSON value")
	}
	return f, nil
}

// maxDepth bounds the nesting of a YAML file; rules need six levels.
const maxDepth = 32

// noAliases refuses what lets a small file grow large or deep when it is read.
func noAliases(tokens token.Tokens) error {
	depth := 0
	for _, t := range tokens {
		switch t.Type { //nolint:exhaustive // only these can do harm
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return rule.Errorf(rule.CodeInvalid, "line %d: anchors, aliases and merge keys are not supported in rule files", t.Position.Line)
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxDepth || t.Position.IndentNum > 4*maxDepth {
			return rule.Errorf(rule.CodeInvalid, "line %d: the file is nested too deeply", t.Position.Line)
		}
	}
	return nil
}

// withDefaults joins the file's defaults into an input.
func withDefaults(f *wire.RuleFile, in wire.RuleInput) wire.RuleInput {
	d := f.Defaults
	if d == nil {
		return in
	}
	tags := in.Tags
	if d.Tags != nil {
		tags = append(slices.Clone(d.Tags), in.Tags...)
	}
	to, from := reflect.ValueOf(&in).Elem(), reflect.ValueOf(d).Elem()
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	in.Tags = tags
	return in
}

// Export returns the rules of a project that are neither retired nor superseded as a file, in a stable order and without
// times, so that equal rules give equal files.
// A nil selects selects all rules and the federation; with one, the federation, whose rules may not be selected, is left out.
func (c *Catalog) Export(ctx context.Context, projectID string, selects func(*rule.Rule) bool) (*wire.RuleFile, error) {
	view, err := c.views.View(ctx, projectID)
	if err != nil {
		return nil, err
	}
	name := func(id string) string {
		if e, ok := view.Get(id); ok && e.Rule.Slug != "" {
			return e.Rule.Slug
		}
		return id
	}
	f := &wire.RuleFile{Rules: []wire.RuleInput{}}
	if selects == nil {
		f.Federation = c.nodes.Export(view)
	}
	for e := range view.All() {
		if e.Rule.Status.Ended() || (selects != nil && !selects(e.Rule)) {
			continue
		}
		in := toInput(e.Rule)
		for _, rel := range e.Relationships {
			in.Relationships = append(in.Relationships, wire.RelationshipInput{
				Kind: rel.Kind, To: name(rel.ToID), Reason: rel.Reason, AllowWeakening: rel.AllowWeakening,
			})
		}
		slices.SortFunc(in.Relationships, func(a, b wire.RelationshipInput) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.To, b.To))
		})
		f.Rules = append(f.Rules, in)
	}
	slices.SortStableFunc(f.Rules, func(a, b wire.RuleInput) int { return compareNames(a, b) })
	return f, nil
}

// compareNames orders rules with a slug by it, and those without behind them by id.
func compareNames(a, b wire.RuleInput) int {
	if (a.Slug == nil) != (b.Slug == nil) {
		if a.Slug != nil {
			return -1
		}
		return 1
	}
	if a.Slug != nil {
		return cmp.Compare(*a.Slug, *b.Slug)
	}
	return cmp.Compare(a.ID, b.ID)
}

// toInput returns the rule as its author would write it. It leaves out the id where the slug names the rule.
func toInput(r *rule.Rule) wire.RuleInput {
	var in wire.RuleInput
	r.WriteTo(&in)
	if in.Slug == nil {
		in.ID = r.ID
	}
	return in
}

// YAML writes the file.
func YAML(f *wire.RuleFile) ([]byte, error) {
	b, err := yaml.MarshalWithOptions(f, yaml.Indent(2), yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return nil, fmt.Errorf("catalog: writing YAML: %w", err)
	}
	return b, nil
}
