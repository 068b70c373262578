package cli

import (
	"strings"
	"testing"
)

// A throw-away database leaves the test cases of the starter packs out for those who only evaluate.
func TestCasesOfTheStarterPacksAreThereWithoutADatabase(t *testing.T) {
	code, out, told := run(t, "", "cases", "list", "SEC-001")
	if code != 0 || strings.Count(out, "\n") < 3 {
		t.Errorf("%d\n%s%s", code, out, told)
	}
}
