package console

import (
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// cases are the examples of the form as test cases.
func (v *newRule) cases() []wire.CreateTestCase {
	var out []wire.CreateTestCase
	add := func(field, name string, want rule.Verdict) {
		if sample := strings.ReplaceAll(v.form.get(field), "\r\n", "\n"); strings.TrimSpace(sample) != "" {
			kind := "code"
			if v.form.get("sample_type") == "facts" {
				kind = "facts"
			}
			out = append(out, wire.CreateTestCase{Name: name, SampleInput: sample, InputType: kind, ExpectedVerdict: want})
		}
	}
	add("bad", "Bad example", rule.Deny)
	add("good", "Good example", rule.Allow)
	return out
}
