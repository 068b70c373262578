package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// valid has, for the fields of a rule that not every text or list suits, a value that is not the default.
var valid = map[string]any{
	"slug": "NEW-1", "modality": rule.Should, "severity": rule.Critical, "enforcement": rule.Warn, "status": rule.Review,
	"scope": []string{"finance"}, "examples": []rule.Example{{Input: "x", Verdict: rule.Deny}},
	"source_refs":      []rule.SourceRef{{Kind: "law", URI: "https://example.com"}},
	"effective_period": rule.EffectivePeriod{From: new(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))},
	"applies_to":       &rule.AppliesTo{Kinds: []string{"transaction"}, Paths: []string{"*.go"}},
	"check":            &rule.Check{Pattern: &rule.Pattern{Regex: "x", Lines: rule.LinesAdded}, Decides: rule.Both},
}

// full returns a valid rule with a value in each field that an author can write, and the names of these fields.
func full(t *testing.T) (rule.Rule, []string) {
	t.Helper()
	var r rule.Rule
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		name := jsonName(v.Type().Field(i))
		if value, ok := valid[name]; ok {
			v.Field(i).Set(reflect.ValueOf(value))
		} else if v.Field(i).Kind() == reflect.String {
			v.Field(i).SetString("some " + name)
		} else if list, ok := reflect.TypeAssert[[]string](v.Field(i)); ok {
			v.Field(i).Set(reflect.ValueOf(append(list, "some "+name)))
		}
	}
	r.ID, r.ProjectID, r.ChangeNote = "", "", ""
	var names []string
	for _, ch := range rule.Diff(rule.Rule{}, r) {
		names = append(names, ch.Field)
	}
	if len(names) < 16 {
		t.Fatalf("only %v are fields of an author", names)
	}
	return r, names
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldNames are the JSON names of a struct's fields.
func fieldNames[T any]() []string {
	var names []string
	for f := range reflect.TypeFor[T]().Fields() {
		names = append(names, jsonName(f))
	}
	return names
}

// A new field of a rule has to be in the forms that its author writes.
func TestEveryFieldIsInEveryForm(t *testing.T) {
	want, names := full(t)
	for _, name := range names {
		if !slices.Contains(fieldNames[wire.RuleInput](), name) {
			t.Errorf("wire.RuleInput lacks %s", name)
		}
		if name != "status" && !slices.Contains(fieldNames[wire.ReviseRule](), name) { // a transition changes the status
			t.Errorf("wire.ReviseRule lacks %s", name)
		}
	}

	// A rule becomes an input, and the input that rule.
	var in wire.RuleInput
	want.WriteTo(&in)
	var got rule.Rule
	got.Assign(&in)
	if lost := rule.Diff(want, got); len(lost) > 0 {
		t.Errorf("through an input, a rule changes %v", lost)
	}

	// Defaults supply every field that rules can share.
	in.Slug, in.Statement = nil, ""
	joined, err := catalog.Join([]*wire.RuleFile{{Defaults: &in, Rules: []wire.RuleInput{{}}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, joined.Rules[0]); diff != "" {
		t.Errorf("with defaults (-want +got):\n%s", diff)
	}
}

// A revision of any one field makes a version that differs in it, on both databases; the same one again makes none.
func TestEveryFieldCanBeRevised(t *testing.T) {
	want, names := full(t)
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		made, err := c.Create(ctx, "default", wire.RuleInput{Statement: "Old."})
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]json.RawMessage{}
		for _, ch := range rule.Diff(rule.Rule{}, want) {
			values[ch.Field] = ch.After
		}
		for _, name := range names {
			if name == "status" {
				continue
			}
			var body wire.ReviseRule
			if err := json.Unmarshal(fmt.Appendf(nil, `{%q: %s}`, name, values[name]), &body); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				next, err := c.Revise(ctx, "default", made.ID, 0, rule.Permission{}, func(r *rule.Rule) error { r.Assign(&body); return nil })
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				changes := rule.Diff(made, next)
				if next.Version == made.Version && len(changes) == 0 {
					break
				}
				if next.Version != made.Version+1 || len(changes) != 1 || changes[0].Field != name || string(changes[0].After) != string(values[name]) {
					t.Errorf("a revision of %s makes version %d with the changes %v", name, next.Version, changes)
				}
				made = next
			}
			stored, err := c.Get(ctx, "default", made.ID)
			if err != nil || stored.Version != made.Version || len(rule.Diff(made, stored)) > 0 {
				t.Errorf("after a revision of %s, the stored rule is at version %d, %v", name, stored.Version, err)
			}
		}
	})
}

// A rule that is found elsewhere is taken over in all its fields.
func TestAdoptTakesEveryField(t *testing.T) {
	want, _ := full(t)
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		got, err := c.Adoption().Adopt(as(t.Context(), "ann"), "default", want, func(store.Tx, rule.Rule) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if changes := rule.Diff(want, got); len(changes) > 0 {
			t.Errorf("adoption changes %v", changes)
		}
	})
}

// A file may change a status as transitions may, several steps forward at once, and no other way; a plan shows the refusal too.
func TestImportKeepsToTheLifeCycle(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		file := func(slug string, s rule.Status) *wire.RuleFile {
			return &wire.RuleFile{Rules: []wire.RuleInput{{Slug: &slug, Statement: "Rule.", Status: s}}}
		}
		for _, from := range []rule.Status{rule.Draft, rule.Review, rule.Approved, rule.Effective} {
			for _, to := range rule.Statuses {
				if from == to || to == rule.Retired {
					continue
				}
				slug := fmt.Sprintf("R-%s-%s", from, to)
				if _, err := c.Import(ctx, "default", file(slug, from), catalog.ImportOptions{}); err != nil {
					t.Fatal(err)
				}
				want, status := rule.Code(""), to
				if !rule.CanTransition(from, to) && !rule.Advances(from, to) {
					want, status = rule.CodeConflict, from
				}
				for _, o := range []catalog.ImportOptions{{DryRun: true}, {}} {
					_, err := c.Import(ctx, "default", file(slug, to), o)
					code(t, err, want, slug)
				}
				if r, err := c.Get(ctx, "default", slug); err != nil || r.Status != status {
					t.Errorf("%s: the rule is %s, %v", slug, r.Status, err)
				}
			}
		}
		_, err := c.Import(ctx, "default", file("R-DRAFT-EFFECTIVE", "NONE"), catalog.ImportOptions{})
		code(t, err, rule.CodeInvalid, "a status that does not exist")

		// A refused status hides no other error of the file.
		bad := file("R-EFFECTIVE-DRAFT", rule.Draft)
		slug := "R-BAD"
		bad.Rules = append(bad.Rules, wire.RuleInput{Slug: &slug})
		_, err = c.Import(ctx, "default", bad, catalog.ImportOptions{})
		code(t, err, rule.CodeInvalid, "a status and a statement")
		if e, ok := errors.AsType[*rule.Error](err); !ok || len(e.Fields) != 2 || e.Fields[1].Field != "rules[0].status" {
			t.Errorf("the fields of %v are not those of both rules", err)
		}
	})
}
