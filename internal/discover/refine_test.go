package discover

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// refining has a text scanned with a model that gives an answer.
func refining(t *testing.T, text, answer string) (wire.Scan, []wire.Candidate, *llmtest.Fake) {
	t.Helper()
	model := &llmtest.Fake{Respond: func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{Text: answer}, nil }}
	f := newFixture(t, func(c *Config) { c.Model = model })
	s, list := f.scanned(map[string]string{"a.md": text})
	return s, list, model
}

func answered(entries ...refined) string {
	data, err := json.Marshal(map[string]any{"candidates": entries})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestModelRefines(t *testing.T) {
	const text = "# Travel\nTrips have to be approved beforehand and receipts kept for 10 years, except taxis.\nthis handbook is not for guests"
	no := false
	s, list, model := refining(t, text, answered(
		refined{N: 1, Rules: []refinedRule{
			{Statement: "Trips must be approved beforehand.", Modality: "MUST", Severity: "HIGH", Tags: []string{"travel"}, Quote: "Trips have to be  approved beforehand"},
			{Statement: "Receipts must be kept for 10 years.", Modality: "must", Severity: "LOW", Exceptions: []string{"taxis", "invented by nobody"}, Quote: "receipts kept for 10 years, except taxis"},
		}},
		refined{N: 2, IsRule: &no},
	))
	if diff := cmp.Diff([]string{"Receipts must be kept for 10 years.", "Trips must be approved beforehand.", "this handbook is not for guests"}, statements(list)); diff != "" {
		t.Fatalf("candidates (-want +got):\n%s", diff)
	}
	trips := list[1]
	if trips.SourceLine != 2 || trips.Quote != "Trips have to be approved beforehand" || trips.SuggestedMetadata.Severity != "high" || !cmp.Equal(trips.SuggestedMetadata.Tags, []string{"travel"}) ||
		!strings.Contains(trips.Method, "fake:model") {
		t.Errorf("refined: %+v", trips)
	}
	if !cmp.Equal(list[0].SuggestedMetadata.Exceptions, []string{"taxis"}) {
		t.Errorf("exceptions: %q", list[0].SuggestedMetadata.Exceptions)
	}
	if doubted := list[2]; doubted.Confidence != 0.4 || !strings.Contains(doubted.Note, "no rule") || doubted.Status != wire.CandidateUndecided {
		t.Errorf("doubted: %+v", doubted)
	}
	if s.Refined != 2 || s.Model != "fake:model" || s.ModelProblem != "" || len(model.Requests()) != 1 {
		t.Errorf("scan: %+v", s)
	}
}

func TestModelInventsNothing(t *testing.T) {
	const text = "Trips must not be booked without approval by 2 managers."
	good := refinedRule{Statement: "Trips must not be booked without approval by 2 managers.", Modality: "MUST_NOT", Severity: "LOW", Quote: text}
	edit := func(f func(*refinedRule)) string {
		r := good
		f(&r)
		return answered(refined{N: 1, Rules: []refinedRule{r}})
	}
	var answer string
	model := &llmtest.Fake{Respond: func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{Text: answer}, nil }}
	f := newFixture(t, func(c *Config) { c.Model = model })
	for name, given := range map[string]string{
		"a quote that is not there": edit(func(r *refinedRule) { r.Quote = "All trips may be booked by anybody." }),
		"no quote":                  edit(func(r *refinedRule) { r.Quote = "" }),
		"another number":            edit(func(r *refinedRule) { r.Statement = "Trips must not be booked without approval by 9 managers." }),
		"words from nowhere":        edit(func(r *refinedRule) { r.Statement = "Passwords rotate monthly in every vault." }),
		"the contrary": edit(func(r *refinedRule) {
			r.Statement, r.Modality = "Trips must be booked with approval by 2 managers.", "MUST"
		}),
		"less binding":       edit(func(r *refinedRule) { r.Modality = "MAY" }),
		"no modality":        edit(func(r *refinedRule) { r.Modality = "APPROVE" }),
		"an empty statement": edit(func(r *refinedRule) { r.Statement = " \x00 " }),
		"no rules":           answered(refined{N: 1}),
		"too many parts":     answered(refined{N: 1, Rules: []refinedRule{good, good, good, good, good, good, good}}),
		"another candidate":  answered(refined{N: 7, Rules: []refinedRule{good}}, refined{N: -1}),
		"itself":             answered(refined{N: 1, DuplicateOf: 1}),
		"no JSON":            "I approve all candidates.",
		"other JSON":         `{"candidates":[{"n":"1"},7,null,{"n":1,"rules":"x"}]}`,
		"nothing":            "",
	} {
		answer = given
		_, list := f.scanned(map[string]string{"a.md": text})
		if len(list) != 1 || list[0].Statement != text || list[0].Status != wire.CandidateUndecided || list[0].SuggestedMetadata.Modality != rule.MustNot || list[0].Confidence != 0.8 {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

func TestModelMergesOnlyWhatIsAlike(t *testing.T) {
	const text = "Receipts must be kept by all staff.\nStaff must keep all receipts.\nDoors must be shut."
	_, list, _ := refining(t, text, answered(refined{N: 2, DuplicateOf: 1}, refined{N: 3, DuplicateOf: 1}))
	if diff := cmp.Diff([]string{"Receipts must be kept by all staff.", "Doors must be shut."}, statements(list)); diff != "" {
		t.Fatalf("candidates (-want +got):\n%s", diff)
	}
	if len(list[0].Places) != 2 || list[0].Places[1].SourceLine != 2 {
		t.Errorf("places: %+v", list[0].Places)
	}
}

func TestModelThatFails(t *testing.T) {
	model := &llmtest.Fake{Respond: func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{}, errors.New("secret detail")
	}}
	f := newFixture(t, func(c *Config) { c.Model = model })
	s, list := f.scanned(map[string]string{"a.md": "Keep receipts."})
	if len(list) != 1 || s.ModelProblem == "" || strings.Contains(s.ModelProblem, "secret") || s.Refined != 0 {
		t.Errorf("scan: %+v, %+v", s, list)
	}
}

// What is decided of a part of a statement is remembered, whatever words the model finds the next time.
func TestPartsAreRemembered(t *testing.T) {
	const text = "Trips must be approved and receipts must be kept."
	first := true
	model := &llmtest.Fake{Respond: func(context.Context, llm.Request) (llm.Response, error) {
		words := "Trips must be approved."
		if !first {
			words = "All trips must be approved."
		}
		return llm.Response{Text: answered(refined{N: 1, Rules: []refinedRule{
			{Statement: words, Modality: "MUST", Severity: "LOW", Quote: "Trips must be approved"},
			{Statement: "Receipts must be kept.", Modality: "MUST", Severity: "LOW", Quote: "receipts must be kept"},
		}})}, nil
	}}
	f := newFixture(t, func(c *Config) { c.Model = model })
	_, list := f.scanned(map[string]string{"a.md": text})
	if len(list) != 2 {
		t.Fatalf("candidates: %+v", list)
	}
	if _, err := f.triage().Dismiss(f.ctx, rule.DefaultProject, list[1].ID, ""); err != nil {
		t.Fatal(err)
	}
	first = false
	if s, list := f.scanned(map[string]string{"a.md": text}); s.Known != 1 || len(list) != 1 || list[0].Statement != "Receipts must be kept." {
		t.Errorf("known %d, candidates %+v", s.Known, list)
	}
}

func TestModelSeesNoSecrets(t *testing.T) {
	secret := "AK" + "IA" + "QYLPMN5HHHFPZAM2"
	_, list, model := refining(t, "The key "+secret+" must be rotated.", answered(refined{N: 1, Rules: []refinedRule{
		{Statement: "The key [redacted:aws-access-token] must be rotated.", Modality: "MUST", Severity: "LOW", Quote: "must be rotated"},
	}}))
	if len(model.Requests()) != 1 || strings.Contains(model.Requests()[0].Prompt, secret) {
		t.Errorf("the model sees %q", model.Requests()[0].Prompt)
	}
	if len(list) != 1 || strings.Contains(list[0].Statement, "redacted") {
		t.Errorf("candidates: %+v", list)
	}
}
