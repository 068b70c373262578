package record_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tenet/internal/evaluate/record"
	"tenet/internal/rule"
)

func TestSecretsAreReplacedInAllTextsAndNotInPlace(t *testing.T) {
	const secret = "hunter2hunter2"
	e := rule.Evaluation{FixSummary: "remove " + secret, RuleVerdicts: []rule.RuleVerdict{{
		Reasoning: "it says " + secret, IssueDescription: secret + " is there", FixSuggestion: "rotate " + secret,
		Locations: []rule.Location{{FilePath: secret + ".go", FunctionName: "f" + secret, Snippet: "key = " + secret}},
		Evidence:  []rule.Evidence{{FilePath: secret + ".go", Quote: secret, Value: secret}},
	}}}
	clean := e
	record.ReplaceSecrets(&clean, strings.NewReplacer(secret, "[redacted:password]").Replace)
	before, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(clean)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(after), secret) || strings.Count(string(after), "[redacted:password]") != 10 {
		t.Errorf("the texts became %s", after)
	}
	if strings.Count(string(before), secret) != 10 {
		t.Errorf("the evaluation itself was changed: %s", before)
	}
	same := e
	if record.ReplaceSecrets(&same, nil); same.FixSummary != e.FixSummary {
		t.Error("without secrets a text changed")
	}
}
