package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Permission is a caller's permission to weaken what the weakening guard protects.
type Permission struct {
	AllowWeakening bool
	Reason         string // needed with AllowWeakening
	// Approved is the approval of other people, where the project demands one; nil without one.
	Approved *AppliedApproval
}

// ErrWeakening marks the errors about changes that weaken something without permission. Its text ends their message.
var ErrWeakening = errors.New("if that is meant, say allow_weakening and give a reason")

// Approvers names who has approved the weakening, with commas between; empty for nobody.
func (w Permission) Approvers() string {
	if w.Approved == nil {
		return ""
	}
	return strings.Join(w.Approved.By, ", ")
}

// Check trims the reason and notes in p what is wrong with the permission. why says what the reason is to explain.
func (w *Permission) Check(p *Problems, why string) {
	w.Reason = strings.TrimSpace(w.Reason)
	if w.AllowWeakening && w.Reason == "" {
		p.Add("reason", "is missing; say why %s", why)
	}
	if len(w.Reason) > MaxRationale {
		p.Add("reason", "has %d bytes; at most %d are allowed", len(w.Reason), MaxRationale)
	}
}

// Refuse returns nil with the permission, and otherwise a conflict that says how the change would weaken something, and how to ask for it.
func (w Permission) Refuse(format string, args ...any) error {
	if w.AllowWeakening {
		return nil
	}
	return Errorf(CodeConflict, "%s; %w", fmt.Sprintf(format, args...), ErrWeakening)
}

// Loosens lists, in words, the ways in which r demands less than base, which it would replace; nil without any. It compares how
// much a violation matters, how binding the rule is, what a broken rule leads to, and where the rule holds. It does not compare
// statements, nor periods: a rule out of its period replaces nothing.
func (r *Rule) Loosens(base *Rule) []string {
	ways := r.Weakens(base)
	if !ScopeCovers(r.Scope, base.Scope) {
		ways = append(ways, "a narrower scope")
	}
	if !r.AppliesTo.covers(base.AppliesTo) {
		ways = append(ways, "a narrower applies_to")
	}
	return ways
}

// Weakens lists, in words, the ways in which r is less severe or less binding than base; nil without any. Unlike [Rule.Loosens] it does
// not compare where the two hold, for a rule that takes the place of another only on subjects that both concern.
func (r *Rule) Weakens(base *Rule) []string {
	var ways []string
	if r.Severity.Rank() < base.Severity.Rank() {
		ways = append(ways, fmt.Sprintf("severity %s instead of %s", r.Severity, base.Severity))
	}
	if r.Modality.strength() < base.Modality.strength() {
		ways = append(ways, fmt.Sprintf("modality %s instead of %s", r.Modality, base.Modality))
	}
	if slices.Index(Enforcements, r.Enforcement) > slices.Index(Enforcements, base.Enforcement) {
		ways = append(ways, fmt.Sprintf("enforcement %s instead of %s", r.Enforcement, base.Enforcement))
	}
	if !base.MayBeWaived() && r.MayBeWaived() {
		ways = append(ways, "waivable, unlike the other")
	}
	return ways
}

// Guarded reports whether the rule falls under the weakening guard: it is CRITICAL or HIGH, binding (MUST or MUST_NOT) and enforced. While
// no federation node has such a rule, it holds at all nodes.
func (r *Rule) Guarded() bool {
	return r.Severity.Rank() >= High.Rank() && (r.Modality == Must || r.Modality == MustNot) && r.Enforcement == Enforce
}

// strength orders modalities: what denies, what asks for confirmation, what is context.
func (m Modality) strength() int {
	switch m {
	case Must, MustNot:
		return 2
	case Should:
		return 1
	case May, Info:
		return 0
	}
	return 0
}

// ScopeCovers reports whether a rule with scope list a holds wherever one with scope list b does.
func ScopeCovers(a, b []string) bool {
	if len(a) == 0 || slices.Contains(a, "*") {
		return true
	}
	return len(b) > 0 && !slices.ContainsFunc(b, func(path string) bool {
		return path == "*" || !slices.ContainsFunc(a, func(prefix string) bool { return scopePrefix(prefix, path) })
	})
}

// covers reports whether a surely concerns every subject that b concerns. Globs are compared as text.
func (a *AppliesTo) covers(b *AppliesTo) bool {
	if a.Empty() {
		return true
	}
	if b == nil {
		b = &AppliesTo{}
	}
	wide := func(a, b []string) bool { return len(a) == 0 || (len(b) > 0 && contains(a, b)) }
	return wide(a.Paths, b.Paths) && wide(a.Repositories, b.Repositories) && wide(a.Kinds, b.Kinds) && wide(a.Tools, b.Tools) && contains(b.ExcludePaths, a.ExcludePaths)
}

// contains reports whether every string of part is among all.
func contains(all, part []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(all, s) })
}
