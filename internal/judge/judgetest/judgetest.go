// Package judgetest scripts models for the judge: it reads the judge's prompts and writes the answers that it asks for, so
// that a test says per rule what the model thinks.
package judgetest

import (
	"context"
	"encoding/json"
	"strings"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// Rule is a rule as the judge shows it to a model.
type Rule struct {
	Ref       string `json:"rule_ref"`
	Modality  string `json:"modality"`
	Statement string `json:"statement"`
	Rationale string `json:"rationale"`
}

// Quote is text that a model claims to have seen in a file.
type Quote struct {
	Quote string `json:"quote"`
	File  string `json:"file"`
}

// Entry is a model's answer for one rule.
type Entry struct {
	Ref       string       `json:"rule_ref"`
	Evidence  []Quote      `json:"evidence"`
	Absence   string       `json:"absence"`
	Reasoning string       `json:"reasoning"`
	Issue     string       `json:"issue"`
	Fix       string       `json:"fix"`
	Verdict   rule.Verdict `json:"verdict"`
}

// Allow is an entry that allows.
func Allow() Entry { return Entry{Verdict: rule.Allow, Reasoning: "Nothing breaks the rule."} }

// Deny is an entry that denies because of a quote.
func Deny(quote string) Entry {
	return Entry{
		Verdict: rule.Deny, Evidence: []Quote{{Quote: quote}}, Reasoning: "The quoted text breaks the rule.",
		Issue: "It breaks the rule.", Fix: "Remove it.",
	}
}

// Missing is an entry that denies because of something that is not there.
func Missing(text string) Entry {
	return Entry{
		Verdict: rule.Deny, Absence: text, Reasoning: "The required text is missing.", Issue: "It is missing.", Fix: "Add it.",
	}
}

// Unsure is an entry that leaves the decision to a person.
func Unsure() Entry {
	return Entry{Verdict: rule.NeedsConfirmation, Reasoning: "It depends on something that is not shown."}
}

// Model makes a model that answers every prompt of the judge by asking decide about each rule. An entry without a
// reference gets that of its rule.
func Model(decide func(r Rule, subject string) Entry) *llm.Fake {
	return &llm.Fake{Respond: func(_ context.Context, req llm.Request) (llm.Response, error) {
		subject := Subject(req.Prompt)
		var entries []Entry
		for _, r := range Rules(req.Prompt) {
			e := decide(r, subject)
			if e.Ref == "" {
				e.Ref = r.Ref
			}
			entries = append(entries, e)
		}
		text := Text(entries...)
		return llm.Response{Text: text, InputTokens: (len(req.System) + len(req.Prompt)) / 4, OutputTokens: len(text) / 4}, nil
	}}
}

// Text writes an answer as the judge wants it.
func Text(entries ...Entry) string {
	for i := range entries {
		if entries[i].Evidence == nil {
			entries[i].Evidence = []Quote{}
		}
	}
	b, err := json.Marshal(map[string]any{"verdicts": entries})
	if err != nil {
		panic("judgetest: " + err.Error())
	}
	return string(b)
}

// Rules reads the rules that a prompt asks about, in the order of their references.
func Rules(prompt string) []Rule {
	var out []Rule
	_, after, _ := strings.Cut(prompt, "RULES\n")
	for line := range strings.Lines(after) {
		var r Rule
		if json.Unmarshal([]byte(line), &r) != nil || r.Ref == "" {
			break
		}
		out = append(out, r)
	}
	return out
}

// Subject returns what a prompt shows of the subject: the text between the fences.
func Subject(prompt string) string {
	fence := Fence(prompt)
	_, after, _ := strings.Cut(prompt, "\nBEGIN "+fence+"\n")
	text, _, _ := strings.Cut(after, "END "+fence+"\n")
	return text
}

// Fence returns the marker that encloses the subject.
func Fence(prompt string) string {
	_, after, _ := strings.Cut(prompt, "Everything between the two lines that hold ")
	fence, _, _ := strings.Cut(after, " ")
	return fence
}
