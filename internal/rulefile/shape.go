package rulefile

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// kind is the kind of a value in a rule file.
type kind int

const (
	object kind = iota
	list
	words
	whole
	truth
	moment
	anything
)

// shape describes the values that a place of a rule file may have. The schema is written from it and files are checked against it, so that they agree.
type shape struct {
	kind   kind
	name   string // of an object, in the schema
	fields []field
	// exactly and some are fields of an object: one of the first must be present and no other, one of the second at least.
	exactly, some []string
	items         *shape
	values        []string // that a text may have, in any letter case if folds
	folds         bool
	shortest      int // characters of a text, entries of a list
	longest       int // 0 is no bound
	pattern       string
	without       string // a pattern that a text must not match
	mismatch      string // what a text should be that does not match pattern, or matches without
}

type field struct {
	name     string
	shape    *shape
	doc      string
	example  string
	fallback string // the value where it is absent
	required bool
	never    bool // null is no value of it
}

const (
	uuidPattern = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
	slugPattern = `^(|[A-Za-z][A-Za-z0-9]*([._-][A-Za-z0-9]+)*)$`
	timePattern = `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$`
)

// file is the shape of a whole rule file.
var file = makeFile()

// enumerations are the types of text whose values are listed; letter case does not count.
var enumerations = map[reflect.Type][]string{
	reflect.TypeFor[rule.Modality]():     valuesOf(rule.Modalities),
	reflect.TypeFor[rule.Severity]():     valuesOf(rule.Severities),
	reflect.TypeFor[rule.Status]():       valuesOf(rule.Statuses),
	reflect.TypeFor[rule.Enforcement]():  valuesOf(rule.Enforcements),
	reflect.TypeFor[rule.Decides]():      valuesOf(rule.DecidesValues),
	reflect.TypeFor[rule.Lines]():        valuesOf(rule.LinesValues),
	reflect.TypeFor[rule.Verdict]():      valuesOf(rule.Verdicts),
	reflect.TypeFor[rule.RelationKind](): valuesOf(rule.RelationKinds),
	reflect.TypeFor[rule.Level]():        valuesOf(rule.Levels),
}

func valuesOf[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = string(v)
	}
	return out
}

// bounds are the shortest and the longest text, or list, by type and field.
var bounds = map[string][2]int{
	"RuleInput.statement": {1, rule.MaxStatement}, "RuleInput.rationale": {0, rule.MaxRationale}, "RuleInput.owner": {0, rule.MaxLabel},
	"RuleInput.change_note": {0, rule.MaxRationale}, "RuleInput.slug": {0, rule.MaxLabel}, "RuleInput.source_refs": {0, rule.MaxListItems},
	"RuleInput.examples": {0, rule.MaxPoints}, "Example.input": {1, rule.MaxExample}, "Example.note": {0, rule.MaxException},
	"SourceRef.uri": {1, rule.MaxStatement}, "SourceRef.document_id": {1, rule.MaxLabel}, "SourceRef.section": {1, rule.MaxStatement}, "SourceRef.quote": {1, rule.MaxRationale},
	"Check.cel": {1, rule.MaxExpr}, "Check.when": {0, rule.MaxExpr}, "Check.message": {0, rule.MaxRationale}, "Check.fix": {0, rule.MaxRationale},
	"Pattern.regex": {1, rule.MaxExpr}, "Pattern.unless": {0, rule.MaxExpr},
	"FileCase.rule": {1, rule.MaxLabel}, "FileCase.name": {1, 0}, "FileCase.files": {1, 0}, "FileCase.diff": {1, 0}, "FileCase.action": {1, 0},
	"CaseFile.path": {1, 0}, "FileNode.name": {1, rule.MaxLabel}, "RelationshipInput.to": {1, rule.MaxLabel},
	"FileOverride.rule": {1, rule.MaxLabel}, "FileOverride.instead_of": {1, rule.MaxLabel},
}

// listed are the lists of short texts: the most entries, and the longest one.
var listed = map[string][2]int{
	"RuleInput.scope": {rule.MaxListItems, rule.MaxLabel}, "RuleInput.tags": {rule.MaxListItems, rule.MaxLabel}, "RuleInput.exceptions": {rule.MaxPoints, rule.MaxException},
	"AppliesTo.paths": {rule.MaxListItems, rule.MaxLabel}, "AppliesTo.exclude_paths": {rule.MaxListItems, rule.MaxLabel}, "AppliesTo.repositories": {rule.MaxListItems, rule.MaxLabel},
	"AppliesTo.kinds": {rule.MaxListItems, 0}, "AppliesTo.tools": {rule.MaxListItems, rule.MaxLabel},
	"Pattern.paths": {rule.MaxListItems, rule.MaxLabel}, "Pattern.exclude_paths": {rule.MaxListItems, rule.MaxLabel},
}

// groups say which fields of an object go together.
var groups = map[string]struct{ exactly, some []string }{
	"RuleInput": {some: []string{"statement", "slug", "id"}},
	"Check":     {exactly: []string{"cel", "pattern"}},
	"FileCase":  {exactly: []string{"files", "diff", "facts", "action"}},
	"SourceRef": {some: []string{"uri", "document_id", "section", "quote"}},
}

// examples are those of fields whose type has none.
var examples = map[string]string{
	"RuleInput.scope": "finance/payments", "RuleInput.tags": "payments", "RuleInput.owner": "platform team", "AppliesTo.paths": "src/**/*.py",
	"AppliesTo.repositories": "acme/*", "AppliesTo.tools": "filesystem/write_*", "RuleInput.exceptions": "The last four digits may be logged.",
	"EffectivePeriod.from": "2026-01-31", "EffectivePeriod.until": "2026-12-31T00:00:00Z", "FileCase.rule": "SEC-003",
}

func makeFile() *shape {
	known := map[reflect.Type]*shape{}
	f := structure(reflect.TypeFor[wire.RuleFile](), known)
	// Defaults are a rule without what belongs to one rule alone.
	one := known[reflect.TypeFor[wire.RuleInput]()]
	shared := &shape{kind: object, name: "Defaults"}
	for _, in := range one.fields {
		if !slices.Contains(ownFields, in.name) {
			shared.fields = append(shared.fields, in)
		}
	}
	for i := range f.fields {
		if f.fields[i].name == "defaults" {
			f.fields[i].shape = shared
		}
	}
	return f
}

// ownFields belong to one rule, so defaults do not have them.
var ownFields = []string{"id", "slug", "statement", "relationships"}

// structure returns the shape of a struct. known holds those that are under way: nodes hold nodes.
func structure(t reflect.Type, known map[reflect.Type]*shape) *shape {
	if s, ok := known[t]; ok {
		return s
	}
	s := &shape{kind: object, name: t.Name()}
	known[t] = s
	group := groups[s.name]
	s.exactly, s.some = group.exactly, group.some
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := s.name + "." + name
		v := value(f.Type, at, known)
		if enum := f.Tag.Get("enum"); enum != "" && v.values != nil {
			v.values = strings.Split(enum, ",")
		}
		optional := f.Tag.Get("required") == "false" || strings.Contains(options, "omitempty") || at == "RuleInput.statement"
		grouped := slices.Contains(s.exactly, name) || slices.Contains(s.some, name)
		s.fields = append(s.fields, field{
			name: name, shape: v, doc: f.Tag.Get("doc"), fallback: f.Tag.Get("default"), example: cmp.Or(f.Tag.Get("example"), examples[at]),
			required: !optional, never: !optional || grouped,
		})
	}
	return s
}

// value returns the shape of a field of type t, which at names.
func value(t reflect.Type, at string, known map[reflect.Type]*shape) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if all, ok := enumerations[t]; ok {
		return &shape{kind: words, values: all, folds: true}
	}
	if t == reflect.TypeFor[time.Time]() {
		return &shape{kind: moment, pattern: timePattern, mismatch: "must be a day or a time such as 2026-01-31 or 2026-01-31T12:00:00Z"}
	}
	switch t.Kind() { //nolint:exhaustive // rule files have no others
	case reflect.Struct:
		return structure(t, known)
	case reflect.Slice:
		s := &shape{kind: list, items: value(t.Elem(), at+"[]", known)}
		if b, ok := bounds[at]; ok {
			s.shortest, s.longest = b[0], b[1]
		}
		if b, ok := listed[at]; ok {
			s.longest, s.items.shortest, s.items.longest = b[0], 1, b[1]
		}
		if at == "AppliesTo.kinds" {
			s.items.values = valuesOf(wire.SubjectKinds)
		}
		return s
	case reflect.Map:
		return &shape{kind: object, name: "facts"}
	case reflect.Bool:
		return &shape{kind: truth}
	case reflect.Int:
		return &shape{kind: whole}
	}
	s := &shape{kind: words, shortest: bounds[at][0], longest: bounds[at][1]}
	switch at {
	case "RuleInput.id":
		s.pattern, s.mismatch = `^$|`+uuidPattern, "must be a UUID; leave it out, and the server makes one"
	case "RuleInput.slug":
		s.pattern, s.without = slugPattern, uuidPattern
		s.mismatch = "must begin with a letter and hold letters and digits joined by single . _ or -, such as SEC-003"
	case "SourceRef.kind":
		s.values, s.folds = rule.SourceKinds, true
	}
	return s
}

// find returns a field of an object, or nil.
func (s *shape) find(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

func (s *shape) names() []string {
	out := make([]string, len(s.fields))
	for i, f := range s.fields {
		out[i] = f.name
	}
	return out
}

// noun names the kind of a value.
func (k kind) noun() string {
	return [...]string{"a mapping of fields", "a list", "text", "an integer", "true or false", "a time", "anything"}[k]
}

// literal is an example or default as JSON.
func (s *shape) literal(text string) json.RawMessage {
	switch s.kind { //nolint:exhaustive // others are text
	case list:
		return json.RawMessage("[" + string(s.items.literal(text)) + "]")
	case whole, truth:
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(text)
	return b
}
