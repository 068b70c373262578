package subject

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// InputOf returns a submitted subject as input of [Build]. The fields of the kind become facts under their own names, where
// checks see them. The error is invalid and names a contradiction: a field that facts have too, with another value, or a
// document with two texts or none.
func InputOf(s *wire.Submitted) (Input, error) {
	var p rule.Problems
	if s.Of == nil {
		p.Add("subject.kind", "is missing; use one of %s", rule.Names(wire.SubmittedKinds))
		return Input{}, p.Err("the subject is invalid")
	}
	in := inputOf(s.Of, &p)
	in.Kind = s.Kind
	return in, p.Err("the subject is invalid")
}

// inputOf returns a subject as input and notes contradictions.
func inputOf(of any, p *rule.Problems) Input {
	switch s := of.(type) {
	case *wire.CodeChangeSubject:
		return Input{Diff: s.Diff, Files: s.Files, Repository: s.Repository, Intent: s.Intent}
	case *wire.BusinessEventSubject:
		return eventInput(s, p)
	case *wire.DocumentSubject:
		if strings.TrimSpace(s.Content) == "" {
			p.Add("subject.content", "is missing; give the text, or the document_id of an uploaded document")
		}
		return textInput(s, p)
	case *loadedDocument:
		in := textInput(&s.DocumentSubject, p)
		in.Files[0].Incomplete = s.unread
		return in
	case *wire.TransactionSubject:
		return transactionInput(s, p)
	case *wire.CommunicationSubject:
		return communicationInput(s, p)
	case *wire.DecisionRequestSubject:
		return decisionInput(s, p)
	case *wire.ToolCallSubject:
		return toolCallInput(s, p)
	}
	panic(fmt.Sprintf("subject: %T is not a submitted subject", of))
}

// WithText sets the text of an uploaded document and what that leaves out, and its title unless it has one. A document that has a text already is
// invalid: nobody could say which of the two to judge.
func WithText(s *wire.Submitted, title, text, unread string) error {
	d, ok := s.Of.(*wire.DocumentSubject)
	if !ok || d.Content != "" {
		var p rule.Problems
		p.Add("subject.document_id", "and content are two texts; give one")
		return p.Err("the subject is invalid")
	}
	full := *d
	full.Content = text
	if strings.TrimSpace(full.Title) == "" {
		full.Title = title
	}
	s.Of = &loadedDocument{full, unread}
	return nil
}

func eventInput(s *wire.BusinessEventSubject, p *rule.Problems) Input {
	f := named{p, s.Facts}
	f.text("event_type", s.EventType)
	f.text("actor", s.Actor)
	if s.OccurredAt != nil {
		f.put("occurred_at", s.OccurredAt.UTC().Format(time.RFC3339Nano))
	}
	return Input{Facts: f.facts}
}

// loadedDocument is an uploaded document with its text.
type loadedDocument struct {
	wire.DocumentSubject

	unread string
}

// textInput makes the document's text a whole file, so that the judge can read it in parts and locations have lines.
func textInput(s *wire.DocumentSubject, p *rule.Problems) Input {
	f := named{p, nil}
	f.text("document_id", s.DocumentID)
	f.text("document_type", s.DocumentType)
	f.text("title", s.Title)
	path, err := diff.CleanPath(strings.TrimSpace(s.Title))
	if err != nil {
		path = "document"
	}
	return Input{Facts: f.facts, Files: []InputFile{{Path: path, Content: &s.Content}}}
}

func transactionInput(s *wire.TransactionSubject, p *rule.Problems) Input {
	f := named{p, s.Facts}
	f.text("transaction_type", s.TransactionType)
	if s.Amount != nil {
		f.put("amount", *s.Amount)
	}
	f.text("currency", s.Currency)
	return Input{Facts: f.facts}
}

func communicationInput(s *wire.CommunicationSubject, p *rule.Problems) Input {
	f := named{p, s.Facts}
	f.text("channel", s.Channel)
	f.text("content", s.Content)
	f.text("sender", s.Sender)
	if s.Recipients != nil {
		list := make([]any, len(s.Recipients))
		for i, r := range s.Recipients {
			list[i] = r
		}
		f.put("recipients", list)
	}
	return Input{Facts: f.facts}
}

func decisionInput(s *wire.DecisionRequestSubject, p *rule.Problems) Input {
	f := named{p, nil}
	f.text("decision_type", s.DecisionType)
	f.text("question", s.Question)
	if s.Context != nil {
		f.put("context", s.Context)
	}
	if s.Options != nil {
		f.put("options", slices.Clone(s.Options))
	}
	return Input{Facts: f.facts}
}

// named puts the named fields of a kind among the facts.
type named struct {
	problems *rule.Problems
	facts    map[string]any
}

func (f *named) text(name, value string) {
	if value != "" {
		f.put(name, value)
	}
}

// put adds a field to a copy of the facts. The same name in facts with another value is a contradiction: to guess which one
// counts could fail open.
func (f *named) put(name string, value any) {
	if given, ok := f.facts[name]; ok {
		if !reflect.DeepEqual(given, value) {
			f.problems.Add("subject.facts."+name, "says something else than subject.%s; give it once", name)
		}
		return
	}
	facts := make(map[string]any, len(f.facts)+8)
	maps.Copy(facts, f.facts)
	facts[name] = value
	f.facts = facts
}
