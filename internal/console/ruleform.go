package console

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/rule"
)

// editForm holds the inputs of the form that changes a rule, by the names that the API gives the fields.
type editForm struct{ values url.Values }

func (f editForm) get(name string) string  { return f.values.Get(name) }
func (f editForm) set(name, value string)  { f.values.Set(name, value) }
func (f editForm) text(name string) string { return strings.ReplaceAll(f.get(name), "\r\n", "\n") }
func (f editForm) list(name string) []string {
	return strings.Split(strings.TrimRight(f.text(name), "\n"), "\n")
}

// Kinds of a check in the form.
const (
	noCheck      = "none"
	celCheck     = "cel"
	patternCheck = "pattern"
)

// editFormOf fills a form with a rule.
func editFormOf(r *rule.Rule) editForm {
	f := editForm{url.Values{}}
	lists := map[string][]string{"scope": r.Scope, "tags": r.Tags, "exceptions": r.Exceptions}
	texts := map[string]string{
		"slug": r.Slug, "statement": r.Statement, "modality": string(r.Modality), "severity": string(r.Severity), "owner": r.Owner,
		"rationale": r.Rationale, "enforcement": string(r.Enforcement), "effective_period.from": dayOf(r.EffectivePeriod.From),
		"effective_period.until": dayOf(r.EffectivePeriod.Until), "check": noCheck,
	}
	if r.MayBeWaived() {
		texts["waivable"] = "true"
	}
	if a := r.AppliesTo; a != nil {
		lists["applies_to.paths"], lists["applies_to.exclude_paths"], lists["applies_to.repositories"] = a.Paths, a.ExcludePaths, a.Repositories
		f.values["applies_to.kinds"], lists["applies_to.tools"] = a.Kinds, a.Tools
	}
	if c := r.Check; c != nil {
		texts["check"], texts["check.cel"], texts["check.when"] = celCheck, c.CEL, c.When
		texts["check.decides"], texts["check.message"], texts["check.fix"] = string(c.Decides), c.Message, c.Fix
		if pattern := c.Pattern; pattern != nil {
			texts["check"], texts["check.pattern.regex"], texts["check.pattern.unless"] = patternCheck, pattern.Regex, pattern.Unless
			texts["check.pattern.lines"] = string(pattern.Lines)
			lists["check.pattern.paths"], lists["check.pattern.exclude_paths"] = pattern.Paths, pattern.ExcludePaths
			if pattern.Multiline {
				texts["check.pattern.multiline"] = "true"
			}
		}
	}
	for name, text := range texts {
		f.set(name, text)
	}
	for name, list := range lists {
		f.set(name, strings.Join(list, "\n"))
	}
	return f
}

// rule returns a rule with the fields of the form in place of its own, in normal form, and what is wrong with inputs that are no value at
// all.
func (f editForm) rule(from *rule.Rule) (rule.Rule, []editProblem) {
	next := from.Clone()
	next.Slug, next.Statement, next.Owner, next.Rationale = f.text("slug"), f.text("statement"), f.text("owner"), f.text("rationale")
	next.Modality, next.Severity, next.Enforcement = rule.Modality(f.get("modality")), rule.Severity(f.get("severity")), rule.Enforcement(f.get("enforcement"))
	next.Scope, next.Tags, next.Exceptions = f.entries("scope"), f.entries("tags"), f.entries("exceptions")
	next.Waivable = nil
	if f.get("waivable") == "" {
		next.Waivable = new(bool)
	}
	next.AppliesTo = &rule.AppliesTo{
		Paths: f.entries("applies_to.paths"), ExcludePaths: f.entries("applies_to.exclude_paths"), Repositories: f.entries("applies_to.repositories"),
		Kinds: f.values["applies_to.kinds"], Tools: f.entries("applies_to.tools"),
	}
	next.Check = f.check(from.Check)
	var problems []editProblem
	for name, into := range map[string]**time.Time{"effective_period.from": &next.EffectivePeriod.From, "effective_period.until": &next.EffectivePeriod.Until} {
		t, ok := parseDay(f.get(name))
		if *into = t; !ok {
			problems = append(problems, editProblem{field: name, message: "is no day and no time; write 2027-01-31 or 2027-01-31T12:00:00Z"})
		}
	}
	next.Normalize()
	return next, problems
}

// check returns the check of the form; nil for none. Text that differs from the check it is based on by spaces round it stays as that has it.
func (f editForm) check(based *rule.Check) *rule.Check {
	old, oldPattern := rule.Check{}, rule.Pattern{}
	if based != nil {
		old = *based
	}
	if old.Pattern != nil {
		oldPattern = *old.Pattern
	}
	keep := func(name, old string) string {
		typed := strings.TrimRight(f.text(name), "\n")
		if strings.TrimSpace(typed) == strings.TrimSpace(old) {
			return old
		}
		return typed
	}
	c := &rule.Check{
		When: keep("check.when", old.When), Decides: rule.Decides(f.get("check.decides")),
		Message: keep("check.message", old.Message), Fix: keep("check.fix", old.Fix),
	}
	switch f.get("check") {
	case celCheck:
		c.CEL = keep("check.cel", old.CEL)
	case patternCheck:
		c.Pattern = &rule.Pattern{
			Regex: keep("check.pattern.regex", oldPattern.Regex), Unless: keep("check.pattern.unless", oldPattern.Unless),
			Paths: f.entries("check.pattern.paths"), ExcludePaths: f.entries("check.pattern.exclude_paths"),
			Lines: rule.Lines(f.get("check.pattern.lines")), Multiline: f.get("check.pattern.multiline") != "",
		}
	default:
		return nil
	}
	return c
}

// entries are the lines of an input that have text.
func (f editForm) entries(name string) []string {
	var list []string
	for _, line := range f.list(name) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// dayOf writes a time for an input: a day alone where it begins at midnight of UTC.
func dayOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	if u := t.UTC(); u.Equal(u.Truncate(24 * time.Hour)) {
		return u.Format(time.DateOnly)
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// parseDay reads what [dayOf] writes; nil for nothing.
func parseDay(s string) (*time.Time, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, true
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return &t, true
		}
	}
	return nil, false
}

// editProblem is an error of a field, with its place in what was typed where the API gives one.
type editProblem struct {
	field, message string
	line, column   int // from 1, in characters; 0 without a place
	// before, at and after are the text round the place.
	before, at, after string
}

var (
	indexes  = regexp.MustCompile(`\[\d+\]`)
	placed   = regexp.MustCompile(`(?s)^(\d{1,6}):(\d{1,6}): (.*)$`)
	offender = regexp.MustCompile("(?s): `(.+)`")
)

// input is the name of the input that the field belongs to.
func (e *editProblem) input() string {
	name := indexes.ReplaceAllString(e.field, "")
	if slices.Contains(editInputs, name) {
		return name
	}
	first, _, _ := strings.Cut(name, ".")
	return first
}

// editInputs are the inputs that errors are shown at.
var editInputs = []string{
	"slug", "statement", "modality", "severity", "enforcement", "owner", "rationale", "scope", "tags", "exceptions", "change_note", "waivable",
	"effective_period.from", "effective_period.until", "applies_to.paths", "applies_to.exclude_paths", "applies_to.repositories", "applies_to.kinds", "applies_to.tools",
	"check", "check.cel", "check.when", "check.decides", "check.message", "check.fix", "check.pattern.regex", "check.pattern.unless", "check.pattern.paths",
	"check.pattern.exclude_paths", "check.pattern.lines", "sample_code", "sample_path", "sample_facts",
}

// roundError is how much of a line is shown on each side of an error, in characters.
const roundError = 60

// problem is an error of the API with its place: CEL errors begin with line and column, those of RE2 quote the part that is wrong.
func (f editForm) problem(e rule.FieldError) editProblem {
	out := editProblem{field: strings.TrimPrefix(strings.TrimPrefix(e.Field, "change."), "revision."), message: e.Message}
	source := f.text(out.field)
	if strings.HasPrefix(out.field, "check.pattern.") {
		if m := offender.FindStringSubmatch(e.Message); m != nil {
			if i := strings.Index(source, m[1]); i >= 0 {
				start := strings.LastIndexByte(source[:i], '\n') + 1
				out.mark(source, strings.Count(source[:i], "\n")+1, utf8.RuneCountInString(source[start:i])+1, utf8.RuneCountInString(m[1]))
			}
		}
		return out
	}
	if m := placed.FindStringSubmatch(e.Message); m != nil && source != "" {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		out.message = m[3]
		out.mark(source, line, column, 1)
	}
	return out
}

// mark notes a place and the text round it.
func (e *editProblem) mark(source string, line, column, length int) {
	e.line, e.column = line, column
	rows := strings.Split(source, "\n")
	if line < 1 || line > len(rows) || column < 1 {
		return
	}
	row := []rune(rows[line-1])
	from := min(column-1, len(row))
	to := min(from+max(length, 1), len(row))
	e.before, e.at, e.after = string(row[max(0, from-roundError):from]), string(row[from:to]), string(row[to:min(len(row), to+roundError)])
	if e.at == "" {
		e.at = " " // the end of the line
	}
}

// concealed reports whether a character of an input shows nothing, or changes how the others are shown.
func concealed(r rune) bool { return r != '\r' && hidden(r) }

// readSampleFacts reads facts typed as a JSON object, or as name=value lines, where a dot in a name leads into an object. problem says what is
// wrong, and what to write.
func readSampleFacts(text string) (facts map[string]any, problem string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, ""
	}
	if strings.HasPrefix(text, "{") {
		whole, err := parseJSON(text)
		if err != nil {
			return nil, err.Error()
		}
		facts, _ = whole.(map[string]any) // what begins with a brace is an object
		return facts, ""
	}
	rows := strings.Split(text, "\n")
	if len(rows) > maxOthers {
		return nil, "have too many lines; at most " + strconv.Itoa(maxOthers) + " are read"
	}
	facts = map[string]any{}
	for i, row := range rows {
		name, value, ok := strings.Cut(row, "=")
		path := strings.Split(strings.TrimSpace(name), ".")
		switch {
		case strings.TrimSpace(row) == "":
			continue
		case !ok || slices.Contains(path, "") || len(path) > maxFactDepth || strings.TrimSpace(value) == "":
			return nil, "have no name and value in line " + strconv.Itoa(i+1) + "; write amount=250 or supplier.country=FR"
		}
		typed, err := parseFact(value, "")
		if err == nil {
			err = putFact(facts, path, typed)
		}
		if err != nil {
			return nil, "are wrong in line " + strconv.Itoa(i+1) + ": " + err.Error()
		}
	}
	return facts, ""
}
