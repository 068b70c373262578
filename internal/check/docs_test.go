package check

import (
	"os"
	"regexp"
	"testing"

	"github.com/goccy/go-yaml"

	"tenet/internal/rule"
)

// TestExamplesOfTheGuideCompile compiles every check that docs/checks.md shows.
func TestExamplesOfTheGuideCompile(t *testing.T) {
	guide, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(guide, -1)
	if len(blocks) < 10 {
		t.Fatalf("the guide has %d examples", len(blocks))
	}
	for _, block := range blocks {
		var example struct {
			Check *rule.Check `yaml:"check"`
		}
		if err := yaml.UnmarshalWithOptions(block[1], &example, yaml.Strict()); err != nil {
			t.Errorf("%s\n%v", block[1], err)
			continue
		}
		if _, err := Compile(example.Check); err != nil {
			t.Errorf("%s\n%v", block[1], err)
		}
	}
}
