package rule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Uncovered is the overall verdict that a policy gives a subject that no rule covers.
type Uncovered string

// Words of [Uncovered].
const (
	UncoveredAllow   Uncovered = "allow"
	UncoveredConfirm Uncovered = "confirm"
	UncoveredDeny    Uncovered = "deny"
)

// UncoveredWords lists all values of [Uncovered] from the loosest to the strictest.
var UncoveredWords = []Uncovered{UncoveredAllow, UncoveredConfirm, UncoveredDeny}

// openKinds are the kinds of subjects that are ALLOW by default where no rule covers them: rules about code and documents are
// exceptions to what is usual, while an action or a payment that no rule covers was foreseen by nobody.
var openKinds = []string{"code_change", "document"}

// ProjectPolicy holds the demands of a project on every evaluation, which callers cannot change. The zero value has no floor and the defaults of
// [ProjectPolicy.UncoveredFor].
type ProjectPolicy struct {
	Floor     Floor                `json:"floor,omitzero" doc:"What callers cannot narrow: an evaluation below the floor is never ALLOW."`
	Uncovered map[string]Uncovered `json:"uncovered,omitempty" doc:"The overall verdict where no rule covers the subject, by the leading kind of the subject: allow, confirm or deny. Absent kinds take the default: allow for code_change and document, confirm for all others."`
	Approvals []ApprovalRoute      `json:"approvals,omitempty" nullable:"false" doc:"Demands on approvals: when one is asked for automatically, who may decide, how many people, and until when. All entries that match hold together."`
	Personal  Personal             `json:"personal,omitzero" doc:"Personal data in subjects, which records hold encrypted under a key of the person."`
	// FailModes bind those who ask: they cannot be looser, and stricter ones of their own stay.
	FailModes FailModes `json:"fail_modes,omitempty" doc:"What hooks answer at least about a rule that nothing could judge, by its severity: open, ask or closed. Their own settings may be stricter; severities that are absent are left to them. tenet check fails on rules of severities with ask or closed."`
	// CacheBy is in the order of [CacheFacts].
	CacheBy []CacheFact `json:"cache_by,omitempty" nullable:"false" enum:"actor,person,agent,session" doc:"The facts of who asks that stored verdicts of a model depend on: actor (key or person that asks), person and agent (for whom and by which), session. Absent means that everybody in the project shares them."`
	// Unreadable is true if the stored policy cannot be read. It then demands the most: see [ReadPolicy].
	Unreadable bool `json:"unreadable,omitempty" doc:"True if the stored policy cannot be read. Until it is set again, nothing uncovered and nothing that a caller has narrowed is ALLOW."`
}

// Floor bounds how far callers can narrow an evaluation. A zero field bounds nothing.
type Floor struct {
	SeverityMin Severity     `json:"severity_min,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"The highest severity_min that a caller may ask for; if LOW, also the default of evaluations."`
	Environment string       `json:"environment,omitempty" enum:"production,staging,development" doc:"The environment whose snapshot judges; also the default of evaluations."`
	BoundNode   bool         `json:"bound_node,omitempty" doc:"A caller's node_id must be the node that the repository is bound to, or one below it."`
	Scopes      []ScopeFloor `json:"scopes,omitempty" nullable:"false" doc:"Scopes that subjects of some repositories are in."`
}

// ScopeFloor is the scope of the subjects of some repositories.
type ScopeFloor struct {
	Repositories []string `json:"repositories" nullable:"false" doc:"Globs of repositories. A subject that names no repository may be of any of them."`
	Scope        string   `json:"scope" doc:"A caller's scope must be this one or one below it." example:"finance/payments"`
}

// IsZero reports whether the floor bounds nothing.
func (f Floor) IsZero() bool {
	return f.SeverityMin == "" && f.Environment == "" && !f.BoundNode && len(f.Scopes) == 0
}

// UncoveredFor returns the word of the policy for subjects of a leading kind; an empty kind is that of a subject without
// content.
func (p *ProjectPolicy) UncoveredFor(kind string) Uncovered {
	if p.Unreadable {
		return UncoveredConfirm
	}
	if word, ok := p.Uncovered[kind]; ok {
		return word
	}
	if slices.Contains(openKinds, kind) {
		return UncoveredAllow
	}
	return UncoveredConfirm
}

// Fails returns the demands of the policy on what hooks answer about rules that nothing could judge. One that cannot be read demands the most.
func (p *ProjectPolicy) Fails() FailModes {
	if !p.Unreadable {
		return p.FailModes
	}
	closed := FailModes{}
	for _, severity := range Severities {
		closed[severity] = FailClosed
	}
	return closed
}

// ReadPolicy reads a policy as [ProjectPolicy.Stored] writes it. A text that cannot be read, or that has words unknown here, gives a
// policy that is Unreadable instead of an error: it asks for confirmation where it would otherwise have to guess.
func ReadPolicy(stored []byte) ProjectPolicy {
	var p ProjectPolicy
	if len(stored) == 0 {
		return p
	}
	d := json.NewDecoder(strings.NewReader(string(stored)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil || p.Unreadable || p.Validate() != nil {
		return ProjectPolicy{Unreadable: true}
	}
	return p
}

// IsZero reports whether the policy says nothing.
func (p *ProjectPolicy) IsZero() bool {
	return p.Floor.IsZero() && len(p.Uncovered) == 0 && len(p.Approvals) == 0 && len(p.FailModes) == 0 && len(p.CacheBy) == 0 && p.Personal.IsZero() && !p.Unreadable
}

// Stored returns the text that [ReadPolicy] reads; empty for the zero policy.
func (p *ProjectPolicy) Stored() (string, error) {
	if p.IsZero() {
		return "", nil
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// Normalize brings a policy to its canonical form: enumerations in their letter case, clean scopes and trimmed globs, nil for
// what is empty.
func (p *ProjectPolicy) Normalize() {
	f := &p.Floor
	f.SeverityMin = normalEnum(f.SeverityMin, Severities, "")
	f.Environment = strings.ToLower(strings.TrimSpace(f.Environment))
	f.Scopes = NilIfEmpty(slices.Clone(f.Scopes))
	for i := range f.Scopes {
		s := &f.Scopes[i]
		s.Repositories, s.Scope = normalList(s.Repositories, strings.TrimSpace), CleanScope(s.Scope)
	}
	words := make(map[string]Uncovered, len(p.Uncovered))
	for kind, word := range p.Uncovered {
		words[strings.ToLower(strings.TrimSpace(kind))] = normalEnum(word, UncoveredWords, "")
	}
	if p.Uncovered = words; len(words) == 0 {
		p.Uncovered = nil
	}
	modes := make(FailModes, len(p.FailModes))
	for severity, mode := range p.FailModes {
		modes[normalEnum(severity, Severities, "")] = normalEnum(mode, FailModeWords, "")
	}
	if p.FailModes = modes; len(modes) == 0 {
		p.FailModes = nil
	}
	p.Personal.normalize()
	p.CacheBy = normalCacheFacts(p.CacheBy)
	p.Approvals = NilIfEmpty(slices.Clone(p.Approvals))
	for i := range p.Approvals {
		p.Approvals[i].normalize()
	}
}

// Validate returns an invalid error that names every wrong field of a normalized policy, or nil. It does not know the
// environments, the kinds of subjects, nor globs; package catalog checks them.
func (p *ProjectPolicy) Validate() error {
	var problems Problems
	f := &p.Floor
	if f.SeverityMin != "" {
		enum(&problems, "floor.severity_min", f.SeverityMin, Severities)
	}
	if len(f.Scopes) > MaxListItems {
		problems.Add("floor.scopes", "has %d entries; at most %d are allowed", len(f.Scopes), MaxListItems)
	}
	for i := range f.Scopes {
		s, field := &f.Scopes[i], fmt.Sprintf("floor.scopes[%d]", i)
		if len(s.Repositories) == 0 {
			problems.Add(field+".repositories", "must not be empty; ** is every repository")
		}
		labels(&problems, field+".repositories", s.Repositories)
		text(&problems, field+".scope", s.Scope, 1, MaxLabel)
		if s.Scope != "" && slices.ContainsFunc(strings.Split(s.Scope, "/"), func(part string) bool { return part == "" || part == "*" }) {
			problems.Add(field+".scope", "is %q; write a path without empty or * segments, such as finance/payments", s.Scope)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(p.Uncovered)) {
		enum(&problems, "uncovered."+kind, p.Uncovered[kind], UncoveredWords)
	}
	for _, severity := range slices.Sorted(maps.Keys(p.FailModes)) {
		if field := "fail_modes." + string(severity); slices.Contains(Severities, severity) {
			enum(&problems, field, p.FailModes[severity], FailModeWords)
		} else {
			problems.Add(field, "is no severity; use one of %s", Names(Severities))
		}
	}
	p.Personal.validate(&problems)
	for i, fact := range p.CacheBy {
		enum(&problems, fmt.Sprintf("cache_by[%d]", i), fact, CacheFacts)
	}
	if len(p.Approvals) > MaxListItems {
		problems.Add("approvals", "has %d entries; at most %d are allowed", len(p.Approvals), MaxListItems)
	}
	for i := range p.Approvals {
		p.Approvals[i].validate(&problems, fmt.Sprintf("approvals[%d]", i))
	}
	return problems.Err("the policy is invalid")
}

// Loosens lists, in words, the ways in which p demands less than base, which it would replace; nil without any.
func (p *ProjectPolicy) Loosens(base *ProjectPolicy) []string {
	if base.Unreadable {
		return []string{"the policy before cannot be read"}
	}
	var ways []string
	way := func(format string, args ...any) { ways = append(ways, fmt.Sprintf(format, args...)) }
	f, was := &p.Floor, &base.Floor
	if was.SeverityMin != "" && (f.SeverityMin == "" || f.SeverityMin.Rank() > was.SeverityMin.Rank()) {
		way("floor.severity_min %s instead of %s", cmp.Or(string(f.SeverityMin), "none"), was.SeverityMin)
	}
	if was.Environment != "" && f.Environment != was.Environment {
		way("floor.environment %s instead of %s", cmp.Or(f.Environment, "none"), was.Environment)
	}
	if was.BoundNode && !f.BoundNode {
		way("no floor.bound_node")
	}
	for _, s := range was.Scopes {
		if !slices.ContainsFunc(f.Scopes, func(next ScopeFloor) bool {
			return next.Scope == s.Scope && contains(next.Repositories, s.Repositories)
		}) {
			way("no floor.scopes entry for %s in %s", strings.Join(s.Repositories, ", "), s.Scope)
		}
	}
	kinds := slices.Concat(openKinds, slices.Collect(maps.Keys(p.Uncovered)), slices.Collect(maps.Keys(base.Uncovered)))
	slices.Sort(kinds)
	for _, kind := range slices.Compact(kinds) {
		next, before := p.UncoveredFor(kind), base.UncoveredFor(kind)
		if slices.Index(UncoveredWords, next) < slices.Index(UncoveredWords, before) {
			way("uncovered.%s %s instead of %s", kind, next, before)
		}
	}
	for _, severity := range slices.Backward(Severities) {
		if next, before := p.FailModes[severity], base.FailModes[severity]; next.LooserThan(before) {
			way("fail_modes.%s %s instead of %s", severity, cmp.Or(string(next), "left to the hook"), before)
		}
	}
	p.Personal.loosens(&base.Personal, way)
	for _, fact := range base.CacheBy {
		if !slices.Contains(p.CacheBy, fact) {
			way("cache_by without %s", fact)
		}
	}
	return append(ways, loosenedRoutes(p.Approvals, base.Approvals)...)
}
