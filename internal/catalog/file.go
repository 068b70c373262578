package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"tenet/internal/rule"
	"tenet/internal/rulefile"
	"tenet/internal/wire"
)

// MaxImport is how many rules one file may hold.
const MaxImport = 20_000

// ParseYAML reads a file in YAML or JSON. Unknown and repeated keys, anchors and aliases are refused, and what is wrong with the form of a
// file is reported all at once, with lines; see [rulefile.Parse].
func ParseYAML(data []byte) (*wire.RuleFile, error) {
	f, _, err := rulefile.Parse(data)
	if e, ok := errors.AsType[*rulefile.Error](err); ok && e.File() != nil {
		return e.File(), nil // an import validates values, and names the rules
	}
	return f, err
}

// ReadFor reads a file for a project as [ParseYAML] does. Of a file in the wrong form it also reports the test cases whose rule neither the file nor
// the project has.
func ReadFor(ctx context.Context, c *Catalog, projectID string, data []byte) (*wire.RuleFile, error) {
	f, err := ParseYAML(data)
	if e, ok := errors.AsType[*rulefile.Error](err); ok {
		addUnknownCases(ctx, c, projectID, e)
	}
	return f, err
}

// addUnknownCases adds nothing if a rule of the file has no name that can be read: a case may mean it.
func addUnknownCases(ctx context.Context, c *Catalog, projectID string, e *rulefile.Error) {
	own, all := e.Named()
	if !all {
		return
	}
	rules, numbers := e.Cases()
	var ask wire.RuleFile
	var places []int // of the asked cases in the file
	for i, name := range rules {
		if !slices.ContainsFunc(own, func(o string) bool { return strings.EqualFold(o, name) }) {
			ask.Cases = append(ask.Cases, rule.FileCase{Rule: name, Name: "of a file with errors", Expect: rule.Deny, Action: "read"})
			places = append(places, numbers[i])
		}
	}
	if len(places) == 0 || len(places) > MaxImport {
		return
	}
	_, err := c.Import(ctx, projectID, &ask, ImportOptions{DryRun: true})
	unknown, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return // the form is wrong in any case
	}
	messages := map[string]string{}
	for _, f := range unknown.Fields {
		messages[f.Field] = f.Message
	}
	for i, place := range places {
		if message, ok := messages[fmt.Sprintf("cases[%d].rule", i)]; ok {
			fault := rule.FieldError{Field: fmt.Sprintf("cases[%d].rule", place), Message: message}
			e.Problems = append(e.Problems, e.Source().With([]rule.FieldError{fault}).Problems...)
		}
	}
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

// CheckFile returns an invalid error with everything that is wrong with the rules of a file and can be said without the corpus, by
// field; nil if nothing is.
func CheckFile(f *wire.RuleFile) error {
	var p rule.Problems
	inputs := inputsOf(f, &p)
	uncompiled := compileAll(inputs)
	for i := range inputs {
		r := rule.Rule{}
		r.Assign(&inputs[i])
		r.Normalize()
		if r.Statement == "" {
			r.Statement = "of the rule that exists"
		}
		at := fmt.Sprintf("rules[%d]", i)
		p.AddAll(at, allWrong(validateFields(&r), uncompiled[i]))
	}
	return p.Err("the rule file is invalid")
}
