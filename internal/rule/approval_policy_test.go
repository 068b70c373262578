package rule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

func TestApprovalDemandsOfAllRoutesHoldTogether(t *testing.T) {
	p := rule.ProjectPolicy{Approvals: []rule.ApprovalRoute{
		{Kinds: []string{"transaction"}, Ask: true, Quorum: 2, ExpiresIn: "4h", Approvers: []string{"ann", "bo", "cy"}},
		{Scopes: []string{"finance"}, Role: "admin", ExpiresIn: "30m", Approvers: []string{"bo"}, Substitutes: []string{"di"}, EscalateAfter: "10m"},
		{SeverityMin: rule.High, Quorum: 3},
	}}
	for name, tt := range map[string]struct {
		kind, scope string
		gravest     rule.Severity
		want        rule.ApprovalDemand
	}{
		"none":     {"action", "legal", "", rule.ApprovalDemand{Role: "reviewer", Quorum: 1}},
		"critical": {"action", "legal", rule.Critical, rule.ApprovalDemand{Role: "reviewer", Quorum: 3}},
		"all": {"transaction", "finance/payments", rule.High, rule.ApprovalDemand{
			Ask: true, Role: "admin", Quorum: 3, ExpiresIn: 30 * time.Minute, EscalateAfter: 10 * time.Minute,
			Groups: []rule.ApprovalGroup{{Approvers: []string{"ann", "bo", "cy"}}, {Approvers: []string{"bo"}, Substitutes: []string{"di"}}},
		}},
	} {
		if diff := cmp.Diff(tt.want, p.ApprovalDemand(tt.kind, tt.scope, tt.gravest)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	empty := rule.ProjectPolicy{}
	if d := empty.ApprovalDemand("action", "", rule.Critical); d.Quorum != 2 {
		t.Errorf("a CRITICAL rule takes %d people", d.Quorum)
	}
	broken := rule.ProjectPolicy{Unreadable: true}
	if d := broken.ApprovalDemand("action", "", rule.Low); d.Quorum != 2 || d.Role != "admin" {
		t.Errorf("a policy that cannot be read demands %+v", d)
	}
}

func TestApprovalRoutesAreChecked(t *testing.T) {
	for want, r := range map[string]rule.ApprovalRoute{
		"approvals[0].role":           {Role: "viewer"},
		"approvals[0].quorum":         {Quorum: 11},
		"but only 1 people":           {Quorum: 2, Approvers: []string{"ann"}},
		"approvals[0].expires_in":     {ExpiresIn: "8 days"},
		"without approvers":           {Substitutes: []string{"bo"}, EscalateAfter: "5m"},
		"when the substitutes":        {Approvers: []string{"ann"}, Substitutes: []string{"bo"}},
		"are missing":                 {EscalateAfter: "5m"},
		"is not before expires_in":    {Approvers: []string{"ann"}, Substitutes: []string{"bo"}, EscalateAfter: "5m", ExpiresIn: "5m"},
		"approvals[0].severity_min":   {SeverityMin: "grave"},
		"approvals[0].escalate_after": {Approvers: []string{"ann"}, Substitutes: []string{"bo"}, EscalateAfter: "1s"},
	} {
		p := rule.ProjectPolicy{Approvals: []rule.ApprovalRoute{r}}
		p.Normalize()
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

func TestApprovalRoutesThatLoosen(t *testing.T) {
	base := rule.ApprovalRoute{
		Kinds: []string{"transaction"}, SeverityMin: rule.High, Ask: true, Role: "admin", Approvers: []string{"ann", "bo"}, Quorum: 2, ExpiresIn: "1h",
	}
	for name, tt := range map[string]struct {
		change  func(*rule.ApprovalRoute)
		loosens bool
	}{
		"nothing":         {func(*rule.ApprovalRoute) {}, false},
		"all kinds":       {func(r *rule.ApprovalRoute) { r.Kinds = nil }, false},
		"more severities": {func(r *rule.ApprovalRoute) { r.SeverityMin = rule.Low }, false},
		"fewer approvers": {func(r *rule.ApprovalRoute) { r.Approvers = []string{"ann"}; r.Quorum = 2 }, false},
		"shorter":         {func(r *rule.ApprovalRoute) { r.ExpiresIn = "10m" }, false},
		"another kind":    {func(r *rule.ApprovalRoute) { r.Kinds = []string{"document"} }, true},
		"one scope only":  {func(r *rule.ApprovalRoute) { r.Scopes = []string{"finance"} }, true},
		"only critical":   {func(r *rule.ApprovalRoute) { r.SeverityMin = rule.Critical }, true},
		"not asked":       {func(r *rule.ApprovalRoute) { r.Ask = false }, true},
		"a lower role":    {func(r *rule.ApprovalRoute) { r.Role = "" }, true},
		"fewer people":    {func(r *rule.ApprovalRoute) { r.Quorum = 1 }, true},
		"more approvers":  {func(r *rule.ApprovalRoute) { r.Approvers = []string{"ann", "bo", "cy"} }, true},
		"anybody":         {func(r *rule.ApprovalRoute) { r.Approvers = nil }, true},
		"a substitute":    {func(r *rule.ApprovalRoute) { r.Substitutes, r.EscalateAfter = []string{"di"}, "5m" }, true},
		"longer":          {func(r *rule.ApprovalRoute) { r.ExpiresIn = "" }, true},
	} {
		next := base
		tt.change(&next)
		p, was := rule.ProjectPolicy{Approvals: []rule.ApprovalRoute{next}}, rule.ProjectPolicy{Approvals: []rule.ApprovalRoute{base}}
		if ways := p.Loosens(&was); (len(ways) > 0) != tt.loosens {
			t.Errorf("%s: %v", name, ways)
		}
	}
}
