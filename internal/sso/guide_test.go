package sso_test

import (
	"os"
	"strings"
	"testing"

	"tenet/internal/sso"
)

// TestTheGuidesFileIsGood reads the example of the guide.
func TestTheGuidesFileIsGood(t *testing.T) {
	guide, err := os.ReadFile("../../docs/sso.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(guide), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the guide has no example")
	}
	list, err := sso.Parse([]byte(strings.ReplaceAll(example, "\n   ", "\n")[3:]))
	if err != nil || len(list) != 1 || len(list[0].Roles) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
}
