package cli

import (
	"strings"
	"testing"
)

func TestPolicyCommands(t *testing.T) {
	data := t.TempDir()
	step := func(code int, says string, args ...string) {
		t.Helper()
		got, out, errs := run(t, "", append([]string{"policy"}, append(args, "--data", data)...)...)
		if got != code || !strings.Contains(strings.Join(strings.Fields(out+errs), " "), says) {
			t.Errorf("%v: exit %d, want %d with %q:\n%s%s", args, got, code, says, out, errs)
		}
	}
	step(0, "uncovered action confirm (default)", "set", "--severity-min", "medium")
	step(0, "floor severity_min MEDIUM", "show")
	step(0, "floor node_id the node of the repository", "set", "--bound-node", "yes", "--scope", "acme/*=finance", "--uncovered", "action=deny")
	step(0, "floor scope finance for acme/*", "show")
	step(0, "floor severity_min MEDIUM", "show")
	step(0, "uncovered action deny", "show")
	step(0, `"bound_node": true`, "show", "--format", "json")
	step(2, "loosens the policy: floor.severity_min none instead of MEDIUM", "set", "--severity-min", "none")
	step(0, "floor severity_min none", "set", "--severity-min", "none", "--reason", "agreed")
	step(2, "no floor.scopes entry", "set", "--no-scopes")
	step(2, "policy.uncovered.deed", "set", "--uncovered", "deed=deny")
	step(2, "nothing to change", "set")
	step(0, "approval severity_min=HIGH, approvers=ann key:lead, quorum=2", "set", "--approval", "kinds=tool_call action, ask=yes, role=admin", "--approval", "severity_min=HIGH, approvers=ann key:lead, quorum=2")
	step(0, "approval kinds=tool_call action, ask=yes, role=admin", "show")
	step(2, "quorum", "set", "--approval", "quorum=none")
	step(2, `"people" is no field of a demand; use kinds`, "set", "--approval", "people=2")
	step(2, "quorum is given twice", "set", "--approval", "quorum=2, quorum=1")
	step(2, "loosens the policy", "set", "--no-approvals")
	step(2, "not both", "set", "--no-approvals", "--approval", "quorum=2")
	step(0, "fail_mode CRITICAL closed fail_mode HIGH ask fail_mode MEDIUM left to the hook", "set", "--fail-modes", "critical=closed,HIGH=ask")
	step(0, "fail_mode HIGH ask", "show")
	step(2, "--fail-modes", "set", "--fail-modes", "HIGH=ajar")
	step(2, "fail_modes.CRITICAL left to the hook instead of closed", "set", "--fail-modes", "HIGH=ask")
	step(0, "fail_mode CRITICAL left to the hook", "set", "--fail-modes", "none", "--reason", "agreed")
	step(0, "uncovered", "set", "--no-approvals", "--reason", "agreed")
	step(2, "not both", "set", "--no-scopes", "--scope", "a=b")
	step(2, "policy.floor.environment", "set", "--environment", "moon")
}
