package rule_test

import (
	"strings"
	"testing"

	"tenet/internal/rule"
)

func TestFailModesOfPolicies(t *testing.T) {
	t.Parallel()
	p := rule.ProjectPolicy{FailModes: rule.FailModes{"critical": "Closed", rule.High: "ask", rule.Low: "open"}}
	p.Normalize()
	if err := p.Validate(); err != nil || p.FailModes.String() != "CRITICAL=closed,HIGH=ask,LOW=open" || p.IsZero() {
		t.Fatalf("%s, %v", p.FailModes, err)
	}
	stored, err := p.Stored()
	if err != nil {
		t.Fatal(err)
	}
	if got := rule.ReadPolicy([]byte(stored)); got.FailModes.String() != p.FailModes.String() || got.Unreadable {
		t.Errorf("stored and read: %+v", got)
	}
	for _, bad := range []rule.FailModes{{"HUGE": rule.FailAsk}, {rule.High: "ajar"}} {
		wrong := rule.ProjectPolicy{FailModes: bad}
		if err := wrong.Validate(); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
	next := rule.ProjectPolicy{FailModes: rule.FailModes{rule.Critical: rule.FailAsk, rule.High: rule.FailClosed, rule.Medium: rule.FailOpen}}
	if got, want := strings.Join(next.Loosens(&p), "; "), "fail_modes.CRITICAL ask instead of closed; fail_modes.LOW left to the hook instead of open"; got != want {
		t.Errorf("loosens %q, want %q", got, want)
	}
	if got := (&rule.ProjectPolicy{Unreadable: true}).Fails().String(); got != "CRITICAL=closed,HIGH=closed,MEDIUM=closed,LOW=closed" {
		t.Errorf("a policy that cannot be read demands %s", got)
	}

	own, err := rule.ParseFailModes("HIGH=ask,MEDIUM=closed,LOW=open")
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Demanding(rule.FailModes{rule.High: rule.FailClosed, rule.Medium: rule.FailOpen}).String(); got != "CRITICAL=closed,HIGH=closed,MEDIUM=closed,LOW=open" {
		t.Errorf("with demands: %s", got)
	}
	if got := own.Demanding(nil).String(); got != own.String() {
		t.Errorf("without demands: %s", got)
	}
	if got := (rule.FailModes{rule.High: rule.FailAsk, rule.Low: rule.FailOpen}).And(rule.FailModes{rule.High: rule.FailOpen, rule.Medium: rule.FailClosed}).String(); got != "HIGH=ask,MEDIUM=closed,LOW=open" {
		t.Errorf("both demands: %s", got)
	}
	if rule.FailModes(nil).And(nil) != nil || rule.FailModes(nil).Shut() || (rule.FailModes{rule.Low: rule.FailOpen}).Shut() || !(rule.FailModes{rule.Low: rule.FailAsk}).Shut() {
		t.Error("no demands are some")
	}
	for f, want := range map[rule.FailMode]rule.StaleWord{rule.FailOpen: rule.StaleConfirm, rule.FailAsk: rule.StaleConfirm, rule.FailClosed: rule.StaleClosed} {
		if got := rule.StaleConfirm.Demanding(f); got != want {
			t.Errorf("a stale edge that confirms, with %s: %s", f, got)
		}
	}
}
