package decide_test

import (
	"testing"

	"tenet/internal/gateway/decide"
	"tenet/internal/rule"
)

func TestReasonNamesASuspension(t *testing.T) {
	s := rule.Suspension{Agent: "bot", Reason: "It deleted a table."}
	for want, err := range map[string]error{
		"the agent bot is suspended: It deleted a table": s.Refusal(),
		"the gateway's key may not ask for evaluations":  rule.Errorf(rule.CodeForbidden, "the key is for another project"),
	} {
		if got := decide.Reason(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}
