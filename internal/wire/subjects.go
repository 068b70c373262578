package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"tenet/internal/rule"
)

// SubjectKind says what a subject is about. A subject may have several: a code change may come with facts.
type SubjectKind string

// Kinds of subject.
const (
	CodeChange      SubjectKind = "code_change"
	Facts           SubjectKind = "facts"
	Action          SubjectKind = "action"
	BusinessEvent   SubjectKind = "business_event"
	DocumentKind    SubjectKind = "document"
	Transaction     SubjectKind = "transaction"
	Communication   SubjectKind = "communication"
	DecisionRequest SubjectKind = "decision_request"
	ToolCall        SubjectKind = "tool_call"
)

// SubjectKinds lists all values of [SubjectKind].
var SubjectKinds = []SubjectKind{CodeChange, Facts, Action, BusinessEvent, DocumentKind, Transaction, Communication, DecisionRequest, ToolCall}

// RecordedSubject is the raw material of a subject, as an evaluation request carries it. Zero fields are absent.
type RecordedSubject struct {
	// Kind is the leading kind of a submission, one of [SubmittedKinds]; empty lets the kinds follow from what is there.
	Kind       SubjectKind    `json:"kind,omitempty"`
	Diff       string         `json:"diff,omitempty"`
	Files      []InputFile    `json:"files,omitempty"`
	Facts      map[string]any `json:"facts,omitempty"`
	Action     string         `json:"action,omitempty"`
	Intent     string         `json:"intent,omitempty"`
	Repository string         `json:"repository,omitempty"`
	Scope      string         `json:"scope,omitempty"`
	// Redacted is true if placeholders have taken the place of secrets: contents then do not have the names of their blobs.
	Redacted bool `json:"redacted,omitempty"`
}

// Title is the subject in a few words, for lists: what is to be done, or the files of a change.
func (s *RecordedSubject) Title() string {
	switch {
	case s.Action != "":
		return s.Action
	case s.Diff != "" || len(s.Files) > 0:
		var names []string
		before := ""
		for line := range strings.SplitSeq(s.Diff, "\n") {
			name, _, _ := strings.Cut(line, "\t")
			if old, ok := strings.CutPrefix(name, "--- "); ok {
				before = "removal of " + strings.TrimPrefix(old, "a/")
			}
			if name, ok := strings.CutPrefix(name, "+++ "); ok {
				if name = strings.TrimPrefix(name, "b/"); name == "/dev/null" {
					name = before
				}
				names = append(names, name)
			}
		}
		for i := range s.Files {
			names = append(names, s.Files[i].Path)
		}
		return "Change " + strings.Join(names, ", ")
	case len(s.Facts) > 0:
		facts, err := json.Marshal(s.Facts)
		if err != nil {
			return string(s.Kind)
		}
		return strings.TrimSpace(string(s.Kind) + " " + string(facts))
	}
	return string(s.Kind)
}

// InputFile is a file to evaluate. Without Content and ContentBase64, only the path is known.
type InputFile struct {
	Path    string  `json:"path" doc:"Path from the root of the repository."`
	Content *string `json:"content,omitempty" nullable:"true" nul:"true" doc:"The whole content. If the diff has the path and does not show its whole content (a renamed, copied or binary file, or one without hunks), this is that content: it must be the one that the index line of the diff names, as git stores it, or, for a binary delta, the content before the change."`
	// ContentBase64 is the content of a file that is not UTF-8, which JSON cannot carry.
	ContentBase64 *string `json:"content_base64,omitempty" nullable:"true" doc:"The whole content in standard base64, for bytes that are not UTF-8. Text in any encoding is judged as text; media are recognised by their content; anything else is not examined. Not together with content."`
	// Incomplete is set where the content is a part of the file.
	Incomplete string `json:"incomplete,omitempty" maxLength:"1000" doc:"What of the file the content leaves out, in words, if it is a part of it: no rule about its content is then ALLOW."`
}

// SubmittedKinds are the kinds that a submission may have.
var SubmittedKinds = []SubjectKind{CodeChange, BusinessEvent, DocumentKind, Transaction, Communication, DecisionRequest, ToolCall}

// Submitted is the subject of a submission: one of the types below, by kind.
type Submitted struct {
	Kind SubjectKind
	// Of is the subject itself; a pointer to the type of the kind.
	Of any
}

// CodeChangeSubject is a change of code: a diff, whole files, or both.
type CodeChangeSubject struct {
	Kind       SubjectKind `json:"kind" enum:"code_change" doc:"code_change."`
	Diff       string      `json:"diff,omitempty" nullable:"true" nul:"true" doc:"Unified diff text."`
	Files      []InputFile `json:"files,omitempty" nullable:"true" doc:"Files to evaluate. At a path whose content the diff does not show as a whole, the content completes the diff; any other file is judged beside it. A file without content is known by its path only."`
	Repository string      `json:"repository,omitempty" nullable:"true" doc:"Repository identifier." example:"acme/payments"`
	Intent     string      `json:"intent,omitempty" nullable:"true" maxLength:"10000" doc:"What the author says about the change: a claim to be checked."`
}

// BusinessEventSubject is something that happened or is to happen in a business process.
type BusinessEventSubject struct {
	Kind       SubjectKind    `json:"kind" enum:"business_event" doc:"business_event."`
	EventType  string         `json:"event_type,omitempty" nullable:"true" doc:"Type of the event; checks read it as facts.event_type." example:"customer.data_exported"`
	Actor      string         `json:"actor,omitempty" nullable:"true" doc:"Who acts; facts.actor." example:"dana.ito"`
	Facts      map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context."`
	OccurredAt *time.Time     `json:"occurred_at,omitempty" nullable:"true" doc:"When it happened; facts.occurred_at."`
}

// DocumentSubject is a text: one that the server holds, or one given here.
type DocumentSubject struct {
	Kind         SubjectKind `json:"kind" enum:"document" doc:"document."`
	DocumentID   string      `json:"document_id,omitempty" nullable:"true" doc:"Id of an uploaded document; instead of content."`
	Content      string      `json:"content,omitempty" nullable:"true" nul:"true" doc:"Text of the document; instead of document_id."`
	DocumentType string      `json:"document_type,omitempty" nullable:"true" doc:"Type of the document; checks read it as facts.document_type." example:"contract"`
	Title        string      `json:"title,omitempty" nullable:"true" doc:"Title; facts.title. Locations name the document by it. Absent: the title of the uploaded document, or document."`
}

// TransactionSubject is a transaction of money or goods.
type TransactionSubject struct {
	Kind            SubjectKind    `json:"kind" enum:"transaction" doc:"transaction."`
	TransactionType string         `json:"transaction_type,omitempty" nullable:"true" doc:"Type of the transaction; checks read it as facts.transaction_type." example:"payment"`
	Amount          *float64       `json:"amount,omitempty" nullable:"true" doc:"Amount; facts.amount."`
	Currency        string         `json:"currency,omitempty" nullable:"true" doc:"Currency; facts.currency." example:"EUR"`
	Facts           map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context, such as requester and approver."`
}

// CommunicationSubject is a message to be sent or sent.
type CommunicationSubject struct {
	Kind       SubjectKind    `json:"kind" enum:"communication" doc:"communication."`
	Channel    string         `json:"channel,omitempty" nullable:"true" doc:"Channel; checks read it as facts.channel." example:"email"`
	Content    string         `json:"content,omitempty" nullable:"true" nul:"true" doc:"Text of the message; facts.content."`
	Sender     string         `json:"sender,omitempty" nullable:"true" doc:"Who sends; facts.sender."`
	Recipients []string       `json:"recipients,omitempty" nullable:"true" doc:"Who receives; facts.recipients."`
	Facts      map[string]any `json:"facts,omitempty" nullable:"true" doc:"Free-form key-value context, such as external or purpose."`
}

// DecisionRequestSubject is a decision that is to be taken.
type DecisionRequestSubject struct {
	Kind         SubjectKind `json:"kind" enum:"decision_request" doc:"decision_request."`
	DecisionType string      `json:"decision_type,omitempty" nullable:"true" doc:"Type of the decision; checks read it as facts.decision_type." example:"vendor_selection"`
	Question     string      `json:"question,omitempty" nullable:"true" doc:"What is to be decided; facts.question."`
	Context      any         `json:"context,omitempty" doc:"What is known: text, or an object; facts.context."`
	Options      []any       `json:"options,omitempty" nullable:"true" doc:"What may be chosen: texts or objects; facts.options."`
}

// Methods of the Model Context Protocol whose requests are tool calls.
const (
	CallTool     = "tools/call"
	ReadResource = "resources/read"
	GetPrompt    = "prompts/get"
)

// ToolCallSubject is a call of a tool of an MCP server, or its result.
type ToolCallSubject struct {
	Kind      SubjectKind    `json:"kind" enum:"tool_call" doc:"tool_call."`
	Server    string         `json:"server,omitempty" nullable:"true" maxLength:"200" doc:"Name of the server, as the gateway in front of it has it; checks read it as facts.server." example:"filesystem"`
	Tool      string         `json:"tool,omitempty" nullable:"true" maxLength:"200" doc:"Name of the tool; facts.tool. Absent for a method other than tools/call: the method." example:"write_file"`
	Method    string         `json:"method,omitempty" nullable:"true" enum:"tools/call,resources/read,prompts/get" default:"tools/call" doc:"Method of the request; facts.method."`
	Arguments map[string]any `json:"arguments,omitempty" nullable:"true" nul:"true" doc:"Arguments of the call; facts.arguments. For resources/read it holds the uri, for prompts/get the name and the arguments of the prompt. A command line among them is an action too."`
	Result    any            `json:"result,omitempty" nul:"true" doc:"Result of a call that was carried out; facts.result. Absent before the call."`
}

// forms makes an empty subject of each kind.
var forms = map[SubjectKind]func() any{
	CodeChange:      func() any { return &CodeChangeSubject{} },
	BusinessEvent:   func() any { return &BusinessEventSubject{} },
	DocumentKind:    func() any { return &DocumentSubject{} },
	Transaction:     func() any { return &TransactionSubject{} },
	Communication:   func() any { return &CommunicationSubject{} },
	DecisionRequest: func() any { return &DecisionRequestSubject{} },
	ToolCall:        func() any { return &ToolCallSubject{} },
}

// FormOf is the type that describes subjects of one of [SubmittedKinds].
func FormOf(k SubjectKind) reflect.Type { return reflect.TypeOf(forms[k]()).Elem() }

// UnmarshalJSON reads the subject of the kind that the JSON names, in any letter case. An unknown kind is an invalid error
// that names the known ones.
func (s *Submitted) UnmarshalJSON(b []byte) error {
	var head struct {
		Kind SubjectKind `json:"kind"`
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

// DocumentID is the id of the uploaded document that is to be judged, or empty.
func (s *Submitted) DocumentID() string {
	if d, ok := s.Of.(*DocumentSubject); ok {
		return strings.TrimSpace(d.DocumentID)
	}
	return ""
}
