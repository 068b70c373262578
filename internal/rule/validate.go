package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	slugForm    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*([._-][A-Za-z0-9]+)*$`)
	projectForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	uuidForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// IsID reports whether ref has the form of a rule id (a UUID) and so is not a slug.
func IsID(ref string) bool { return uuidForm.MatchString(ref) }

// ValidProjectID reports whether id can name a project.
func ValidProjectID(id string) bool { return projectForm.MatchString(id) }

// Normalize brings a rule to its canonical form: a lower-case id, upper-case enumerations, trimmed text, clean scope paths, lists that
// are never nil, defaults for what is absent (MEDIUM, MUST, enforce, DRAFT).
func (r *Rule) Normalize() {
	r.ID = strings.ToLower(r.ID)
	r.Slug = strings.TrimSpace(r.Slug)
	r.Statement = strings.TrimSpace(r.Statement)
	r.Rationale = strings.TrimSpace(r.Rationale)
	r.Owner = strings.TrimSpace(r.Owner)
	r.Modality = normalEnum(r.Modality, Modalities, Must)
	r.Severity = normalEnum(r.Severity, Severities, Medium)
	r.Status = normalEnum(r.Status, Statuses, Draft)
	r.Enforcement = normalEnum(r.Enforcement, Enforcements, Enforce)
	if r.MayBeWaived() {
		r.Waivable = nil
	}
	r.Scope = normalList(r.Scope, CleanScope)
	r.Tags = normalList(r.Tags, strings.TrimSpace)
	r.Exceptions = NilIfEmpty(normalList(r.Exceptions, strings.TrimSpace))
	r.Examples = NilIfEmpty(slices.Clone(r.Examples))
	for i := range r.Examples {
		e := &r.Examples[i]
		e.Input, e.Note = strings.Trim(e.Input, "\n"), strings.TrimSpace(e.Note)
		e.Verdict = normalEnum(e.Verdict, exampleVerdicts, "")
	}
	for _, t := range []**time.Time{&r.EffectivePeriod.From, &r.EffectivePeriod.Until} {
		if *t != nil {
			stored := Instant(**t)
			*t = &stored
		}
	}
	if r.SourceRefs == nil {
		r.SourceRefs = []SourceRef{}
	}
	for i := range r.SourceRefs {
		r.SourceRefs[i].Kind = strings.ToLower(strings.TrimSpace(r.SourceRefs[i].Kind))
	}
	r.AppliesTo = r.AppliesTo.normal()
	if r.Check != nil {
		r.Check.Decides = normalEnum(r.Check.Decides, DecidesValues, Both)
		if p := r.Check.Pattern; p != nil {
			p.Lines = normalEnum(p.Lines, LinesValues, LinesAdded)
			p.Paths, p.ExcludePaths = cleanList(p.Paths, CleanGlob), cleanList(p.ExcludePaths, CleanGlob)
		}
	}
}

func normalEnum[T ~string](v T, all []T, def T) T {
	if v == "" {
		return def
	}
	if known, ok := Parse(strings.TrimSpace(string(v)), all); ok {
		return known
	}
	return v
}

// normal returns the block in its normal form; nil if it restricts nothing.
func (a *AppliesTo) normal() *AppliesTo {
	if a.Empty() {
		return nil
	}
	return &AppliesTo{
		Paths: cleanList(a.Paths, CleanGlob), ExcludePaths: cleanList(a.ExcludePaths, CleanGlob),
		Repositories: cleanList(a.Repositories, CleanRepositoryGlob), Kinds: a.Kinds, Tools: cleanList(a.Tools, CleanTool),
	}
}

// CleanKind returns the name of a subject kind in its normal form: Code-Change is code_change.
func CleanKind(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s)))
}

// cleanList is [normalList] of a list that may be nil.
func cleanList(list []string, clean func(string) string) []string {
	if len(list) == 0 {
		return list
	}
	return normalList(list, clean)
}

// normalList cleans every entry and drops repeated ones, keeping the order of first mention.
func normalList(list []string, clean func(string) string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = clean(s); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Validate returns an invalid error that names every wrong field of a normalized rule, or nil. It does not compile the
// check; package check does.
func (r *Rule) Validate() error {
	var p Problems
	text(&p, "statement", r.Statement, 1, MaxStatement)
	text(&p, "rationale", r.Rationale, 0, MaxRationale)
	text(&p, "owner", r.Owner, 0, MaxLabel)
	text(&p, "change_note", r.ChangeNote, 0, MaxRationale)
	text(&p, "slug", r.Slug, 0, MaxLabel)
	if r.Slug != "" && (!slugForm.MatchString(r.Slug) || IsID(r.Slug)) {
		p.Add("slug", "must begin with a letter and hold letters and digits joined by single . _ or -, such as SEC-003")
	}
	enum(&p, "modality", r.Modality, Modalities)
	enum(&p, "severity", r.Severity, Severities)
	enum(&p, "status", r.Status, Statuses)
	enum(&p, "enforcement", r.Enforcement, Enforcements)
	labels(&p, "scope", r.Scope)
	labels(&p, "tags", r.Tags)
	r.validatePoints(&p)
	r.validateSources(&p)
	year(&p, "effective_period.from", r.EffectivePeriod.From)
	year(&p, "effective_period.until", r.EffectivePeriod.Until)
	if e := r.EffectivePeriod; e.From != nil && e.Until != nil && !e.From.Before(*e.Until) {
		p.Add("effective_period.until", "must be after effective_period.from")
	}
	if a := r.AppliesTo; a != nil {
		labels(&p, "applies_to.paths", a.Paths)
		labels(&p, "applies_to.exclude_paths", a.ExcludePaths)
		labels(&p, "applies_to.repositories", a.Repositories)
		labels(&p, "applies_to.kinds", a.Kinds)
		labels(&p, "applies_to.tools", a.Tools)
	}
	if r.Check != nil {
		r.Check.validate(&p)
	}
	return p.Err("the rule is invalid")
}

// exampleVerdicts are the verdicts that an example may have: one that leaves open what is right teaches nothing.
var exampleVerdicts = []Verdict{Allow, Deny}

func (r *Rule) validatePoints(p *Problems) {
	if len(r.Exceptions) > MaxPoints {
		p.Add("exceptions", "has %d entries; at most %d are allowed", len(r.Exceptions), MaxPoints)
	}
	for i, s := range r.Exceptions {
		text(p, fmt.Sprintf("exceptions[%d]", i), s, 1, MaxException)
	}
	if len(r.Examples) > MaxPoints {
		p.Add("examples", "has %d entries; at most %d are allowed", len(r.Examples), MaxPoints)
	}
	for i, e := range r.Examples {
		at := fmt.Sprintf("examples[%d].", i)
		text(p, at+"input", e.Input, 1, MaxExample)
		text(p, at+"note", e.Note, 0, MaxException)
		enum(p, at+"verdict", e.Verdict, exampleVerdicts)
	}
}

func (r *Rule) validateSources(p *Problems) {
	if len(r.SourceRefs) > MaxListItems {
		p.Add("source_refs", "has %d entries; at most %d are allowed", len(r.SourceRefs), MaxListItems)
	}
	for i, s := range r.SourceRefs {
		at := fmt.Sprintf("source_refs[%d].", i)
		if !slices.Contains(SourceKinds, s.Kind) {
			p.Add(at+"kind", "is %q; use one of %s", s.Kind, strings.Join(SourceKinds, ", "))
		}
		text(p, at+"uri", s.URI, 0, MaxStatement)
		text(p, at+"document_id", s.DocumentID, 0, MaxLabel)
		text(p, at+"section", s.Section, 0, MaxStatement)
		text(p, at+"quote", s.Quote, 0, MaxRationale)
		if s.URI == "" && s.DocumentID == "" && s.Section == "" && s.Quote == "" {
			p.Add(at+"uri", "is empty; name the source by uri, document_id, section or quote")
		}
	}
}

func (c *Check) validate(p *Problems) {
	if (c.CEL == "") == (c.Pattern == nil) {
		p.Add("check", "needs exactly one of cel and pattern")
	}
	enum(p, "check.decides", c.Decides, DecidesValues)
	text(p, "check.cel", c.CEL, 0, MaxExpr)
	text(p, "check.when", c.When, 0, MaxExpr)
	text(p, "check.message", c.Message, 0, MaxRationale)
	text(p, "check.fix", c.Fix, 0, MaxRationale)
	if c.Pattern == nil {
		return
	}
	text(p, "check.pattern.regex", c.Pattern.Regex, 1, MaxExpr)
	text(p, "check.pattern.unless", c.Pattern.Unless, 0, MaxExpr)
	enum(p, "check.pattern.lines", c.Pattern.Lines, LinesValues)
	labels(p, "check.pattern.paths", c.Pattern.Paths)
	labels(p, "check.pattern.exclude_paths", c.Pattern.ExcludePaths)
}

// text notes a string that is not valid UTF-8, holds a NUL, or is shorter or longer than allowed (in characters).
func text(p *Problems, field, s string, shortest, longest int) {
	n := utf8.RuneCountInString(s)
	switch {
	case !utf8.ValidString(s):
		p.Add(field, "is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		p.Add(field, "holds a NUL character")
	case n < shortest:
		p.Add(field, "must not be empty")
	case n > longest:
		p.Add(field, "has %d characters; at most %d are allowed", n, longest)
	}
}

// year notes a time outside the years that RFC 3339 can write.
func year(p *Problems, field string, t *time.Time) {
	if t != nil && (t.Year() < 1 || t.Year() > 9999) {
		p.Add(field, "is in the year %d; use 1 to 9999", t.Year())
	}
}

func enum[T ~string](p *Problems, field string, v T, all []T) {
	if !slices.Contains(all, v) {
		p.Add(field, "is %q; use one of %s", string(v), Names(all))
	}
}

func labels(p *Problems, field string, list []string) {
	if len(list) > MaxListItems {
		p.Add(field, "has %d entries; at most %d are allowed", len(list), MaxListItems)
	}
	for i, s := range list {
		text(p, fmt.Sprintf("%s[%d]", field, i), s, 1, MaxLabel)
	}
}
