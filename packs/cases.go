package packs

import (
	"fmt"

	"github.com/goccy/go-yaml"

	"tenet/internal/rule"
)

// Case is a subject with the verdict that one rule must give on it. A case has either files, a diff, facts or an action.
type Case struct {
	// Rule is the slug of the rule.
	Rule string `yaml:"rule"`
	// Name says in a few words what the case shows.
	Name string `yaml:"name"`
	// Files, Diff, Facts and Action are the subject, as an evaluation request carries it. Numbers in facts are float64.
	Files  []CaseFile     `yaml:"files,omitempty"`
	Diff   string         `yaml:"diff,omitempty"`
	Facts  map[string]any `yaml:"facts,omitempty"`
	Action string         `yaml:"action,omitempty"`
	// Expect is the verdict that the rule must give without a model, after its modality: a broken SHOULD is
	// NEEDS_CONFIRMATION.
	Expect rule.Verdict `yaml:"expect"`
	// Lines are the lines at which the verdict's locations must begin, exactly these; empty means that none is told, as for
	// facts.
	Lines []int `yaml:"lines,omitempty"`
}

// CaseFile is a whole file of a case.
type CaseFile struct {
	Path    string `yaml:"path"`
	Content string `yaml:"content"`
}

// TestCases reads the pack's test cases. Unknown keys are an error that tells the line.
func (p Pack) TestCases() ([]Case, error) {
	cases, err := ParseCases(p.Cases)
	if err != nil {
		return nil, fmt.Errorf("packs: %s/cases.yaml: %w", p.Name, err)
	}
	return cases, nil
}

// ParseCases reads a file of test cases. Unknown keys are an error that tells the line.
func ParseCases(data []byte) ([]Case, error) {
	var file struct {
		Cases []Case `yaml:"cases"`
	}
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil {
		return nil, err
	}
	for i := range file.Cases {
		if facts, ok := jsonValue(file.Cases[i].Facts).(map[string]any); ok {
			file.Cases[i].Facts = facts
		}
	}
	return file.Cases, nil
}

// jsonValue turns the numbers that YAML decodes into those that JSON decodes, which is what facts hold.
func jsonValue(v any) any {
	switch v := v.(type) {
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	case map[string]any:
		for key, inner := range v {
			v[key] = jsonValue(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = jsonValue(inner)
		}
	}
	return v
}
