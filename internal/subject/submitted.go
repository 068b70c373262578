package subject

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"tenet/internal/rule"
)

// SubmittedKinds are the kinds that a submission may have.
var SubmittedKinds = []Kind{CodeChange, BusinessEvent, Document, Transaction, Communication, DecisionRequest}

// Submitted is the subject of a submission: one of the types below, told apart by kind.
type Submitted struct {
	Kind Kind
	// Of is the subject itself; a pointer to the type of the kind.
	Of form
}

// form is what the six types have in common.
type form interface {
	// input gives the subject as raw material for [Build] and notes what contradicts itself.
	input(p *rule.Problems) Input
}

// CodeChangeSubject is a change of code: a diff, whole files, or both.
type CodeChangeSubject struct {
	Kind       Kind        `json:"kind" enum:"code_change" doc:"code_change."`
	Diff       string      `json:"diff,omitempty" nullable:"true" doc:"Unified diff text."`
	Files      []InputFile `json:"files,omitempty" nullable:"true" doc:"Files to evaluate. A file without content is known by its path only."`
	Repository string      `json:"repository,omitempty" nullable:"true" doc:"Repository identifier." example:"acme/payments"`
	Intent     string      `json:"intent,omitempty" nullable:"true" maxLength:"10000" doc:"What the author says about the change: a claim to be checked."`
}

// BusinessEventSubject is something that happened or is to happen in a business process.
type BusinessEventSubject struct {
	Kind       Kind           `json:"kind" enum:"business_event" doc:"business_event."`
	EventType  string         `json:"event_type,omitempty" nullable:"true" doc:"Type of the event; checks read it as facts.event_type." example:"customer.data_exported"`
	Actor      string         `json:"actor,omitempty" nullable:"true" doc:"Who acts; facts.actor." example:"dana.ito"`
	Facts      map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context."`
	OccurredAt *time.Time     `json:"occurred_at,omitempty" nullable:"true" doc:"When it happened; facts.occurred_at."`
}

// DocumentSubject is a text: one that the server holds, or one given here.
type DocumentSubject struct {
	Kind         Kind   `json:"kind" enum:"document" doc:"document."`
	DocumentID   string `json:"document_id,omitempty" nullable:"true" doc:"Id of an uploaded document; instead of content."`
	Content      string `json:"content,omitempty" nullable:"true" doc:"Text of the document; instead of document_id."`
	DocumentType string `json:"document_type,omitempty" nullable:"true" doc:"Type of the document; checks read it as facts.document_type." example:"contract"`
	Title        string `json:"title,omitempty" nullable:"true" doc:"Title; facts.title. Locations name the document by it. Absent: the title of the uploaded document, or document."`
}

// TransactionSubject is a transaction of money or goods.
type TransactionSubject struct {
	Kind            Kind           `json:"kind" enum:"transaction" doc:"transaction."`
	TransactionType string         `json:"transaction_type,omitempty" nullable:"true" doc:"Type of the transaction; checks read it as facts.transaction_type." example:"payment"`
	Amount          *float64       `json:"amount,omitempty" nullable:"true" doc:"Amount; facts.amount."`
	Currency        string         `json:"currency,omitempty" nullable:"true" doc:"Currency; facts.currency." example:"EUR"`
	Facts           map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context, such as requester and approver."`
}

// CommunicationSubject is a message to be sent or sent.
type CommunicationSubject struct {
	Kind       Kind           `json:"kind" enum:"communication" doc:"communication."`
	Channel    string         `json:"channel,omitempty" nullable:"true" doc:"Channel; checks read it as facts.channel." example:"email"`
	Content    string         `json:"content,omitempty" nullable:"true" doc:"Text of the message; facts.content."`
	Sender     string         `json:"sender,omitempty" nullable:"true" doc:"Who sends; facts.sender."`
	Recipients []string       `json:"recipients,omitempty" nullable:"true" doc:"Who receives; facts.recipients."`
	Facts      map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context, such as external or purpose."`
}

// DecisionRequestSubject is a decision that is to be taken.
type DecisionRequestSubject struct {
	Kind         Kind   `json:"kind" enum:"decision_request" doc:"decision_request."`
	DecisionType string `json:"decision_type,omitempty" nullable:"true" doc:"Type of the decision; checks read it as facts.decision_type." example:"vendor_selection"`
	Question     string `json:"question,omitempty" nullable:"true" doc:"What is to be decided; facts.question."`
	Context      any    `json:"context,omitempty" doc:"What is known: text, or an object; facts.context."`
	Options      []any  `json:"options,omitempty" nullable:"true" doc:"What may be chosen: texts or objects; facts.options."`
}

// forms makes an empty subject of each kind.
var forms = map[Kind]func() form{
	CodeChange:      func() form { return &CodeChangeSubject{} },
	BusinessEvent:   func() form { return &BusinessEventSubject{} },
	Document:        func() form { return &DocumentSubject{} },
	Transaction:     func() form { return &TransactionSubject{} },
	Communication:   func() form { return &CommunicationSubject{} },
	DecisionRequest: func() form { return &DecisionRequestSubject{} },
}

// FormOf is the type that describes subjects of one of [SubmittedKinds].
func FormOf(k Kind) reflect.Type { return reflect.TypeOf(forms[k]()).Elem() }

// UnmarshalJSON reads the subject of the kind that the JSON names, in any letter case. An unknown kind is an invalid error
// that names the six.
func (s *Submitted) UnmarshalJSON(b []byte) error {
	var head struct {
		Kind Kind `json:"kind"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	kind, ok := rule.Parse(string(head.Kind), SubmittedKinds)
	if !ok {
		return rule.Errorf(rule.CodeInvalid, "the kind is %q; use one of %s", string(head.Kind), rule.Names(SubmittedKinds))
	}
	of := forms[kind]()
	if err := json.Unmarshal(b, of); err != nil {
		return err
	}
	*s = Submitted{Kind: kind, Of: of}
	return nil
}

// MarshalJSON writes the subject itself.
func (s Submitted) MarshalJSON() ([]byte, error) { return json.Marshal(s.Of) }

// Input gives the subject as raw material for [Build]. Fields that the kind has beside facts stand in facts under their own
// names, where checks see them. The error is invalid and names what contradicts itself: a field that facts hold too, with
// another value, or a document with two texts or none.
func (s *Submitted) Input() (Input, error) {
	var p rule.Problems
	if s.Of == nil {
		p.Add("subject.kind", "is missing; use one of %s", rule.Names(SubmittedKinds))
		return Input{}, p.Err("the subject is invalid")
	}
	in := s.Of.input(&p)
	in.Kind = s.Kind
	return in, p.Err("the subject is invalid")
}

// DocumentID is the id of the uploaded document that is to be judged, or empty.
func (s *Submitted) DocumentID() string {
	if d, ok := s.Of.(*DocumentSubject); ok {
		return strings.TrimSpace(d.DocumentID)
	}
	return ""
}

// WithText gives the subject of an uploaded document its title, unless it has one, and its text. One that has a text
// already is invalid: two texts cannot both be judged.
func (s *Submitted) WithText(title, text string) error {
	d, ok := s.Of.(*DocumentSubject)
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
	s.Of = &loadedDocument{full}
	return nil
}

func (s *CodeChangeSubject) input(*rule.Problems) Input {
	return Input{Diff: s.Diff, Files: s.Files, Repository: s.Repository, Intent: s.Intent}
}

func (s *BusinessEventSubject) input(p *rule.Problems) Input {
	f := named{p, s.Facts}
	f.text("event_type", s.EventType)
	f.text("actor", s.Actor)
	if s.OccurredAt != nil {
		f.put("occurred_at", s.OccurredAt.UTC().Format(time.RFC3339Nano))
	}
	return Input{Facts: f.facts}
}

func (s *DocumentSubject) input(p *rule.Problems) Input {
	if s.Content == "" {
		p.Add("subject.content", "is missing; give the text, or the document_id of an uploaded document")
	}
	return s.text(p)
}

// loadedDocument is an uploaded document with its text.
type loadedDocument struct{ DocumentSubject }

func (s *loadedDocument) input(p *rule.Problems) Input { return s.text(p) }

// text makes the document's text a whole file, so that it is judged in parts if it is long, and found by line.
func (s *DocumentSubject) text(p *rule.Problems) Input {
	f := named{p, nil}
	f.text("document_id", s.DocumentID)
	f.text("document_type", s.DocumentType)
	f.text("title", s.Title)
	path, err := cleanPath(strings.TrimSpace(s.Title))
	if err != nil {
		path = "document"
	}
	return Input{Facts: f.facts, Files: []InputFile{{Path: path, Content: &s.Content}}}
}

func (s *TransactionSubject) input(p *rule.Problems) Input {
	f := named{p, s.Facts}
	f.text("transaction_type", s.TransactionType)
	if s.Amount != nil {
		f.put("amount", *s.Amount)
	}
	f.text("currency", s.Currency)
	return Input{Facts: f.facts}
}

func (s *CommunicationSubject) input(p *rule.Problems) Input {
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

func (s *DecisionRequestSubject) input(p *rule.Problems) Input {
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

// put adds a field to a copy of the facts. The same name in facts with another value is a contradiction, and guessing which
// one counts could fail open.
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
