package wire

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/rule"
)

// SealedData is the part of a record that is encrypted under the keys of the people whom it is about.
type SealedData struct {
	State  SealedState `json:"state,omitempty" enum:"open,sealed,forgotten,unreadable" doc:"open: shown as recorded; sealed: encrypted, for this reader or for all; forgotten: a key was deleted, so they are gone; unreadable: the key or what it encrypts is damaged. Absent in the log itself."`
	Fields []string    `json:"fields" nullable:"false" doc:"The fields that are encrypted. With them are all texts of verdicts and models that may quote them, and the hashes of the subject."`
	Keys   []string    `json:"keys" nullable:"false" doc:"Ids of the keys, one for each person. All of them are needed."`
	Box    string      `json:"box,omitempty" doc:"The whole record, encrypted, in base64. Absent where it is open."`
}

// SealedState is the state of sealed data for a reader.
type SealedState string

// States of sealed data.
const (
	SealedOpen       SealedState = "open"
	SealedClosed     SealedState = "sealed"
	SealedForgotten  SealedState = "forgotten"
	SealedUnreadable SealedState = "unreadable"
)

// SealedText takes the place of a text that is sealed.
const SealedText = "[personal]"

// Whole reports whether the record holds what was judged: nothing is sealed for its reader.
func (rec *EvaluationRecord) Whole() bool {
	return rec.Personal == nil || rec.Personal.State == SealedOpen
}

// PersonalData returns the fields of a policy that a subject and an identity have, and the people whom the subject is about; each once.
func PersonalData(p *rule.Personal, s *RecordedSubject, i *rule.Identity) (people, fields []string) {
	for _, f := range p.All() {
		if has(f, s, i) {
			fields = append(fields, f)
		}
	}
	add := func(name string) {
		if name = rule.FoldName(name); name != "" && !slices.Contains(people, name) {
			people = append(people, name)
		}
	}
	for _, f := range p.People {
		if path, ok := strings.CutPrefix(f, rule.PersonalFacts); ok {
			for _, v := range factsAt(s.Facts, strings.Split(path, ".")) {
				eachName(v, add)
			}
		} else if i != nil {
			add(i.Person)
		}
	}
	slices.Sort(people)
	return people, fields
}

func has(field string, s *RecordedSubject, i *rule.Identity) bool {
	switch field {
	case rule.PersonalPerson:
		return i != nil && i.Person != ""
	case rule.PersonalSession:
		return i != nil && i.Session != ""
	case rule.PersonalAction:
		return s.Action != ""
	case rule.PersonalIntent:
		return s.Intent != ""
	case rule.PersonalContent:
		return s.Diff != "" || len(s.Files) > 0
	}
	return len(factsAt(s.Facts, strings.Split(strings.TrimPrefix(field, rule.PersonalFacts), "."))) > 0
}

// factsAt returns the values at a path; elements go by the name of their list.
func factsAt(v any, path []string) []any {
	switch v := v.(type) {
	case []any:
		var all []any
		for _, element := range v {
			all = append(all, factsAt(element, path)...)
		}
		return all
	case map[string]any:
		if len(path) == 0 {
			return []any{v}
		}
		var all []any
		for n := len(path); n > 0; n-- { // a name may have dots
			if inner, ok := v[strings.Join(path[:n], ".")]; ok {
				all = append(all, factsAt(inner, path[n:])...)
			}
		}
		return all
	}
	if len(path) > 0 {
		return nil
	}
	return []any{v}
}

// eachName calls fn with the names in a value.
func eachName(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case float64:
		fn(strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		for _, element := range v {
			eachName(element, fn)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachName(v[key], fn)
		}
	case nil:
	default:
		fn(fmt.Sprint(v))
	}
}

// withoutFact returns facts whose values at a path are [SealedText]. It changes nothing in place.
func withoutFact(v any, path []string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutFact(v[i], path)
		}
		return out
	case map[string]any:
		if len(path) == 0 {
			return SealedText
		}
		out := maps.Clone(v)
		for n := len(path); n > 0; n-- {
			if inner, ok := v[strings.Join(path[:n], ".")]; ok {
				out[strings.Join(path[:n], ".")] = withoutFact(inner, path[n:])
			}
		}
		return out
	}
	if len(path) > 0 {
		return v
	}
	return SealedText
}

// Strip returns a record without its values of personal fields, and without what may quote them: the texts of verdicts, the questions to models
// and their answers, and hashes of the subject, by which short values could be guessed. It changes nothing in place.
func (rec *EvaluationRecord) Strip(fields []string) *EvaluationRecord {
	out := *rec
	out.SubjectHash, out.Reused, out.Stored = "", nil, nil
	s := &out.Subject
	for _, f := range fields {
		switch f {
		case rule.PersonalPerson:
			out.Identity = withoutName(out.Identity, func(i *rule.Identity) { i.Person = "" })
		case rule.PersonalSession:
			out.Identity = withoutName(out.Identity, func(i *rule.Identity) { i.Session = "" })
		case rule.PersonalAction:
			s.Action = sealed(s.Action)
		case rule.PersonalIntent:
			s.Intent = sealed(s.Intent)
		case rule.PersonalContent:
			s.Diff, s.Files = "", nil
		default:
			if s.Facts != nil {
				s.Facts, _ = withoutFact(s.Facts, strings.Split(strings.TrimPrefix(f, rule.PersonalFacts), ".")).(map[string]any)
			}
		}
	}
	content := slices.Contains(fields, rule.PersonalContent)
	if rec.Evaluation != nil {
		out.Evaluation = stripped(rec.Evaluation, content)
		out.Evaluation.Identity = out.Identity
	}
	out.Calls = slices.Clone(rec.Calls)
	for i := range out.Calls {
		c := &out.Calls[i]
		c.PromptHash, c.Controls, c.Seed, c.Nonce, c.Plan, c.Raw, c.Error = "", nil, "", "", "", sealed(c.Raw), sealed(c.Error)
	}
	if rec.Triage != nil {
		out.Triage = &RecordedTriage{Rules: rec.Triage.Rules}
	}
	if content {
		out.Redactions = nil
	}
	return &out
}

func withoutName(i *rule.Identity, remove func(*rule.Identity)) *rule.Identity {
	if i == nil {
		return nil
	}
	out := *i
	remove(&out)
	if out.IsZero() {
		return nil
	}
	return &out
}

func sealed(text string) string {
	if text == "" {
		return ""
	}
	return SealedText
}

// stripped returns an evaluation without the texts that may quote its subject; content takes names of files out, too.
func stripped(e *rule.Evaluation, content bool) *rule.Evaluation {
	out := *e
	out.FixSummary, out.Violations, out.Warnings = sealed(e.FixSummary), nil, nil
	out.Notices = slices.Clone(e.Notices)
	for i := range out.Notices {
		out.Notices[i] = SealedText
	}
	out.Coverage.Unexamined = unexamined(e.Coverage.Unexamined)
	out.RuleVerdicts = slices.Clone(e.RuleVerdicts)
	for i := range out.RuleVerdicts {
		v := &out.RuleVerdicts[i]
		v.Reasoning, v.IssueDescription, v.FixSuggestion, v.Fingerprint = sealed(v.Reasoning), sealed(v.IssueDescription), sealed(v.FixSuggestion), ""
		v.Locations, v.Evidence, v.Unexamined = slices.Clone(v.Locations), slices.Clone(v.Evidence), unexamined(v.Unexamined)
		for j := range v.Locations {
			l := &v.Locations[j]
			if l.FunctionName, l.Snippet = sealed(l.FunctionName), sealed(l.Snippet); content {
				l.FilePath = sealed(l.FilePath)
			}
		}
		for j := range v.Evidence {
			x := &v.Evidence[j]
			if x.Quote, x.Value = sealed(x.Quote), sealed(x.Value); content {
				x.FilePath = sealed(x.FilePath)
			}
		}
	}
	return &out
}

func unexamined(list []rule.Unexamined) []rule.Unexamined {
	out := slices.Clone(list)
	for i := range out {
		out[i] = rule.Unexamined{Part: sealed(out[i].Part), Reason: sealed(out[i].Reason)}
	}
	return out
}

// Privacy says how a project keeps personal data.
type Privacy struct {
	Policy    rule.Personal `json:"policy" doc:"The personal data that the project's policy names."`
	People    int           `json:"people" doc:"People whose data are encrypted, each under a key of its own."`
	Forgotten int           `json:"forgotten" doc:"Keys that were deleted."`
	Problem   string        `json:"problem,omitempty" doc:"Why nothing can be sealed or opened, such as that privacy_key_file is not set; absent if all is well."`
}

// PersonRef names a person, or a record that names none.
type PersonRef struct {
	Person     string `json:"person,omitempty" maxLength:"1000" doc:"The person, as the fields of the policy name it. Letter case does not count." example:"cust-4711"`
	Evaluation string `json:"evaluation,omitempty" maxLength:"64" doc:"An evaluation whose record names no person, instead."`
}

// PersonKept says what is stored of a person.
type PersonKept struct {
	Key     string    `json:"key" doc:"Id of the key of the person; records name it, and the search for evaluations takes it as personal_key."`
	Since   time.Time `json:"since" doc:"When the key was made: with the first record."`
	Records int       `json:"records" doc:"Recorded evaluations about the person."`
	Holds   []HeldBy  `json:"holds" nullable:"false" doc:"Legal holds that cover some of these records. While one does, the key cannot be deleted."`
}

// ForgetPerson is the body that deletes the key of a person.
type ForgetPerson struct {
	PersonRef

	Reason string `json:"reason" maxLength:"1000" doc:"Why, for the audit log. It must not name the person." example:"request 2026-118"`
}

// ForgottenPerson says what was forgotten.
type ForgottenPerson struct {
	Key     string    `json:"key" doc:"Id of the key that was deleted."`
	Records int       `json:"records" doc:"Recorded evaluations whose personal data are gone."`
	At      time.Time `json:"at" doc:"When."`
}
