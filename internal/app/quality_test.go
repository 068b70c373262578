package app_test

import (
	"net/http"
	"testing"

	"tenet/internal/wire"
)

// TestTheQualityOfARuleCountsItsTestCases runs cases that come out right and wrong, and revises the rule.
func TestTheQualityOfARuleCountsItsTestCases(t *testing.T) {
	t.Parallel()
	a := nodeWith(t, nil, nil)
	do := func(method, path, body string, want int, into any) {
		t.Helper()
		if code := ask(t, a, method, "/api/v1/rules/C-1"+path, body, into); code != want {
			t.Fatalf("%s %s: status %d, want %d", method, path, code, want)
		}
	}
	for _, c := range []string{
		`{"name":"a","sample_input":"eval(x)","expected_verdict":"DENY"}`,
		`{"name":"b","sample_input":"print(x)","expected_verdict":"ALLOW"}`,
		`{"name":"c","sample_input":"eval(1)","expected_verdict":"ALLOW"}`,
	} {
		do(http.MethodPost, "/test-cases", c, http.StatusCreated, nil)
	}
	var q wire.RuleQuality
	do(http.MethodGet, "/quality", "", http.StatusOK, &q)
	if q.TestCases.TruePositives+q.TestCases.Unsure != 0 {
		t.Errorf("before the first run: %+v", q.TestCases)
	}
	do(http.MethodPost, "/test-cases/run", "", http.StatusOK, nil)
	q = wire.RuleQuality{}
	do(http.MethodGet, "/quality", "", http.StatusOK, &q)
	if c := q.TestCases; c.TruePositives != 1 || c.TrueNegatives != 1 || c.FalsePositives != 1 || c.Precision == nil || c.Precision.Value != 0.5 {
		t.Errorf("after a run: %+v", c)
	}
	do(http.MethodPatch, "", `{"statement":"Never call eval."}`, http.StatusOK, nil)
	q = wire.RuleQuality{}
	do(http.MethodGet, "/quality", "", http.StatusOK, &q)
	if c := q.TestCases; c.TruePositives+c.TrueNegatives+c.FalsePositives != 0 {
		t.Errorf("results of what the rule said before count: %+v", c)
	}
}
