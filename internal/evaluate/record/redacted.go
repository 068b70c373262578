package record

import (
	"slices"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Redactor takes secrets out of texts; redact.Redactor is one.
type Redactor interface {
	// Input returns in without its secrets, where they were, and a function that takes them out of a text that quotes in; nil
	// if there are none.
	Input(in subject.Input) (clean subject.Input, found []wire.Redaction, replace func(text string) string)
}

// ReplaceSecrets replaces secrets in all texts of an evaluation that may quote the subject. It changes no list in place. With
// a nil function it does nothing.
func ReplaceSecrets(e *rule.Evaluation, replace func(text string) string) {
	if replace == nil {
		return
	}
	e.FixSummary = replace(e.FixSummary)
	e.Notices, e.Narrowed = slices.Clone(e.Notices), slices.Clone(e.Narrowed)
	for i := range e.Notices {
		e.Notices[i] = replace(e.Notices[i])
	}
	for i := range e.Narrowed {
		e.Narrowed[i].Asked = replace(e.Narrowed[i].Asked)
	}
	e.RuleVerdicts = slices.Clone(e.RuleVerdicts)
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		v.Locations, v.Evidence = slices.Clone(v.Locations), slices.Clone(v.Evidence)
		texts := []*string{&v.Reasoning, &v.IssueDescription, &v.FixSuggestion}
		for j := range v.Locations {
			l := &v.Locations[j]
			texts = append(texts, &l.FilePath, &l.FunctionName, &l.Snippet)
		}
		for j := range v.Evidence {
			x := &v.Evidence[j]
			texts = append(texts, &x.FilePath, &x.Quote, &x.Value)
		}
		for _, text := range texts {
			*text = replace(*text)
		}
	}
}
