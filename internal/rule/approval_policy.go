package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxApprovalQuorum bounds the people that a policy can ask for.
const MaxApprovalQuorum = 10

// Roles that can decide on approvals, the weaker first. Package auth has all roles.
var approverRoles = []string{"reviewer", "admin"}

// ApprovalRoute has the demands of a project's policy on the approvals of some subjects. All routes that match an evaluation hold together:
// the highest quorum and role, the shortest time, and only approvers whom each route names.
type ApprovalRoute struct {
	Kinds       []string `json:"kinds,omitempty" nullable:"false" doc:"Leading kinds of the subjects; absent means all."`
	Scopes      []string `json:"scopes,omitempty" nullable:"false" doc:"Scopes of the subjects; absent means all. A subject without scope is in every scope."`
	SeverityMin Severity `json:"severity_min,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Least severity of the gravest rule to be confirmed; absent means any, and also where no rule covers the subject."`

	Ask           bool     `json:"ask,omitempty" doc:"Ask for an approval with each evaluation that needs confirmation, also if the caller does not."`
	Role          string   `json:"role,omitempty" enum:"reviewer,admin" doc:"Role that a person needs to decide; reviewer if absent."`
	Approvers     []string `json:"approvers,omitempty" nullable:"false" doc:"Actors who may decide, key:NAME for a key; absent means all who have the role."`
	Quorum        int      `json:"quorum,omitempty" minimum:"1" maximum:"10" doc:"People who must approve; 1 if absent. CRITICAL rules take two in any case."`
	ExpiresIn     string   `json:"expires_in,omitempty" doc:"Time for a decision, such as 30m or 4h; an hour if absent." example:"30m"`
	EscalateAfter string   `json:"escalate_after,omitempty" doc:"Time after which the substitutes may decide too." example:"10m"`
	Substitutes   []string `json:"substitutes,omitempty" nullable:"false" doc:"Actors who may decide as well after escalate_after."`
}

// ApprovalDemand joins the demands of all routes of a policy that match an evaluation.
type ApprovalDemand struct {
	Ask           bool
	Role          string
	Quorum        int
	Groups        []ApprovalGroup
	ExpiresIn     time.Duration // 0 if no route says
	EscalateAfter time.Duration // 0 for never
}

// ApprovalDemand returns the demands of the policy on the approval of a subject of a leading kind, in a scope, with rules to be confirmed of
// which the gravest has a severity; empty for none. A policy that cannot be read demands two administrators.
func (p *ProjectPolicy) ApprovalDemand(kind, scope string, gravest Severity) ApprovalDemand {
	d := ApprovalDemand{Role: approverRoles[0], Quorum: 1}
	if p.Unreadable {
		d.Role, d.Quorum = approverRoles[1], 2
	}
	for i := range p.Approvals {
		r := &p.Approvals[i]
		if !r.matches(kind, scope, gravest) {
			continue
		}
		d.Ask = d.Ask || r.Ask
		d.Quorum = max(d.Quorum, r.Quorum)
		if slices.Index(approverRoles, r.Role) > slices.Index(approverRoles, d.Role) {
			d.Role = r.Role
		}
		if len(r.Approvers) > 0 {
			d.Groups = append(d.Groups, ApprovalGroup{Approvers: r.Approvers, Substitutes: r.Substitutes})
		}
		d.ExpiresIn = shorter(d.ExpiresIn, r.ExpiresIn)
		d.EscalateAfter = shorter(d.EscalateAfter, r.EscalateAfter)
	}
	if gravest == Critical {
		d.Quorum = max(d.Quorum, 2)
	}
	return d
}

// shorter returns the shorter of a time and one in words; a missing one does not count.
func shorter(a time.Duration, words string) time.Duration {
	b, err := time.ParseDuration(words)
	if err != nil || b <= 0 {
		return a
	}
	if a == 0 {
		return b
	}
	return min(a, b)
}

func (r *ApprovalRoute) matches(kind, scope string, gravest Severity) bool {
	return (len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)) && ScopeApplies(r.Scopes, scope) &&
		(r.SeverityMin == "" || gravest.Rank() >= r.SeverityMin.Rank())
}

// normalize brings a route to its canonical form.
func (r *ApprovalRoute) normalize() {
	r.Kinds = NilIfEmpty(normalList(r.Kinds, func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }))
	r.Scopes = NilIfEmpty(normalList(r.Scopes, CleanScope))
	r.SeverityMin = normalEnum(r.SeverityMin, Severities, "")
	r.Role = strings.ToLower(strings.TrimSpace(r.Role))
	r.Approvers = NilIfEmpty(normalList(r.Approvers, strings.TrimSpace))
	r.Substitutes = NilIfEmpty(normalList(r.Substitutes, strings.TrimSpace))
	r.ExpiresIn, r.EscalateAfter = strings.TrimSpace(r.ExpiresIn), strings.TrimSpace(r.EscalateAfter)
}

// validate notes every wrong field of a normalized route. It does not know the kinds of subjects; package catalog checks them.
func (r *ApprovalRoute) validate(p *Problems, field string) {
	if r.SeverityMin != "" {
		enum(p, field+".severity_min", r.SeverityMin, Severities)
	}
	if r.Role != "" {
		enum(p, field+".role", r.Role, approverRoles)
	}
	labels(p, field+".kinds", r.Kinds)
	labels(p, field+".scopes", r.Scopes)
	labels(p, field+".approvers", r.Approvers)
	labels(p, field+".substitutes", r.Substitutes)
	if r.Quorum < 0 || r.Quorum > MaxApprovalQuorum {
		p.Add(field+".quorum", "is %d; use 1 to %d", r.Quorum, MaxApprovalQuorum)
	}
	if n := len(r.Approvers); n > 0 && r.Quorum > n+len(r.Substitutes) {
		p.Add(field+".quorum", "is %d, but only %d people may decide", r.Quorum, n+len(r.Substitutes))
	}
	expires := approvalSpan(p, field+".expires_in", r.ExpiresIn)
	escalates := approvalSpan(p, field+".escalate_after", r.EscalateAfter)
	if expires == 0 {
		expires = DefaultApprovalWait
	}
	switch {
	case len(r.Substitutes) > 0 && len(r.Approvers) == 0:
		p.Add(field+".substitutes", "are given without approvers; without approvers all who have the role may decide")
	case len(r.Substitutes) > 0 && r.EscalateAfter == "":
		p.Add(field+".escalate_after", "is missing; it says when the substitutes may decide")
	case r.EscalateAfter != "" && len(r.Substitutes) == 0:
		p.Add(field+".substitutes", "are missing; they may decide after escalate_after")
	case escalates >= expires:
		p.Add(field+".escalate_after", "is not before expires_in, which ends the time for a decision")
	}
}

func approvalSpan(p *Problems, field, words string) time.Duration {
	if words == "" {
		return 0
	}
	d, err := time.ParseDuration(words)
	if err != nil || d < time.Minute || d > MaxApprovalWait {
		p.Add(field, "is %q; give a time of 1m to %dh, such as 30m or 4h", words, int(MaxApprovalWait.Hours()))
		return 0
	}
	return d
}

// loosenedRoutes lists, in words, the demands of base that no route of next keeps.
func loosenedRoutes(next, base []ApprovalRoute) (ways []string) {
	for i := range base {
		was := &base[i]
		if !slices.ContainsFunc(next, func(r ApprovalRoute) bool { return r.keeps(was) }) {
			ways = append(ways, fmt.Sprintf("no approvals entry that keeps the one for %s", was.label()))
		}
	}
	return ways
}

func (r *ApprovalRoute) label() string {
	parts := []string{cmp.Or(strings.Join(r.Kinds, ", "), "all kinds")}
	if len(r.Scopes) > 0 {
		parts = append(parts, "in "+strings.Join(r.Scopes, ", "))
	}
	if r.SeverityMin != "" {
		parts = append(parts, "from "+string(r.SeverityMin)+" on")
	}
	return strings.Join(parts, " ")
}

// keeps reports whether a route holds wherever another does, and demands at least as much.
func (r *ApprovalRoute) keeps(was *ApprovalRoute) bool {
	wider := func(now, before []string) bool { return len(now) == 0 || (len(before) > 0 && contains(now, before)) }
	role := func(s string) int { return slices.Index(approverRoles, cmp.Or(s, approverRoles[0])) }
	span := func(s string) time.Duration { return cmp.Or(shorter(0, s), MaxApprovalWait+1) }
	return wider(r.Kinds, was.Kinds) && wider(r.Scopes, was.Scopes) && (r.SeverityMin == "" || r.SeverityMin.Rank() <= was.SeverityMin.Rank()) &&
		(r.Ask || !was.Ask) && role(r.Role) >= role(was.Role) && max(r.Quorum, 1) >= max(was.Quorum, 1) &&
		(len(was.Approvers) == 0 || (len(r.Approvers) > 0 && contains(was.Approvers, r.Approvers))) &&
		(len(was.Approvers) == 0 || contains(slices.Concat(was.Approvers, was.Substitutes), r.Substitutes)) &&
		span(r.ExpiresIn) <= span(was.ExpiresIn)
}
