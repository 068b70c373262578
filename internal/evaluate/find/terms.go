package find

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/audit"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Bounds of the terms of one record. A record with more is found by the first of them, and has the term [partialRecord].
const (
	MaxFacts = 200       // values of facts, in order of their names
	MaxWords = 500       // different words
	maxText  = 256 << 10 // bytes of text that are read for words
	maxScope = 32        // segments of a scope
)

// FingerprintPrefix is how many characters of a fingerprint are indexed: so many at least name a violation.
const FingerprintPrefix = 8

// property is the sort of fact that a term states. The numbers are part of the hashes that are stored.
type property byte

const (
	evaluated     property = 1 + iota // every evaluation has it
	verdict                           // overall
	mode                              // preflight or posthoc
	actor                             // who asked
	partialRecord                     // the record has more facts or words than are indexed
	ruleID                            // a rule with a verdict
	ruleOutcome                       // a rule with one of [wire.RuleOutcomes]
	scope                             // a scope or one that it is in
	repository                        // in its normal form, with its host if it names one
	repositoryPath
	kind        // of the subject
	fact        // a name and a text
	factNumber  // a name and a number
	word        // of the subject, in the form in which rules are searched
	node        // federation node, as requested or as applied
	snapshot    // whose rules were applied
	environment // as requested
	fingerprint // the first [FingerprintPrefix] characters of the fingerprint of a verdict
	undecided   // why the overall verdict is NEEDS_CONFIRMATION
	person      // for whom it was asked, with and without the name of the identity provider
	agent       // that asked, verified or claimed
	session     // of the agent
	personalKey // of a person whose data the record holds encrypted
)

// Properties of the entries that are no evaluations. An entry has a kind, where evaluations have the property evaluated.
const (
	entryKind   property = 101 + iota
	entryAction          // in its kind or any
	entryActor
	entryObject // kind and id
	entryRule   // a rule that the entry concerns
	entryEvaluation
	manyRules // the entry concerns more rules than are indexed
	entryPerson
	entryAgent
	entrySession
)

// maxEntryRules bounds the rules of one entry that are indexed; only imports concern more.
const maxEntryRules = 2000

// ofEntry are the properties that the entry of the chain has, whatever becomes of the record.
var ofEntry = map[property]bool{
	evaluated: true, verdict: true, mode: true, actor: true,
	entryKind: true, entryAction: true, entryActor: true, entryObject: true, entryRule: true, entryEvaluation: true, manyRules: true,
	entryPerson: true, entryAgent: true, entrySession: true,
}

// termOf returns the term of a property with a value, which is one text or several.
func termOf(p property, value ...string) store.Term {
	var buf [256]byte
	b := append(buf[:0], byte(p))
	for _, v := range value {
		b = binary.AppendUvarint(b, uint64(len(v)))
		b = append(b, v...)
	}
	hash := sha256.Sum256(b)
	n := store.Term(binary.BigEndian.Uint64(hash[:8]) >> 1) //nolint:gosec // the shift makes room for the sign
	if !ofEntry[p] {
		return -1 - n
	}
	return n
}

// recorded is the part of the record of an evaluation by which it is found.
type recorded struct {
	Evaluation  *rule.RecordedEvaluation `json:"evaluation"`
	Subject     wire.RecordedSubject     `json:"subject"`
	Kinds       []wire.SubjectKind       `json:"subject_kinds"`
	NodeID      string                   `json:"node_id"`
	Environment string                   `json:"environment"`
	Personal    *struct {
		Keys []string `json:"keys"`
	} `json:"personal"`
}

func outcome(v *rule.RecordedVerdict) wire.RuleOutcome {
	switch {
	case v.Waiver != nil:
		return wire.RuleWaived
	case v.Verdict == rule.Deny:
		return wire.RuleViolated
	case v.Verdict != rule.Allow:
		return wire.RuleToConfirm
	case v.Concerned:
		return wire.RuleKept
	}
	return wire.RuleNotConcerned
}

// termsOf returns the terms of an entry of a chain, each once. Of an evaluation whose record is removed or damaged, and of another entry
// with a damaged body, which err reports, it returns those of the entry alone.
func termsOf(e *store.AuditEntry) (terms []store.Term, err error) {
	t := collector{seen: map[store.Term]bool{}}
	if e.Kind != audit.KindEvaluation {
		return t.entry(e)
	}
	t.add(evaluated)
	t.add(verdict, e.Verdict)
	t.add(mode, e.Mode)
	t.add(actor, e.Actor)
	if len(e.Body) > 0 {
		var body []byte
		if body, err = audit.Body(*e); err == nil {
			err = t.record(body)
		}
	}
	return t.terms, err
}

// entry returns the terms of an entry that is no evaluation.
func (t *collector) entry(e *store.AuditEntry) ([]store.Term, error) {
	t.add(entryKind, e.Kind)
	t.add(entryActor, e.Actor)
	about, err := audit.Read(e)
	if err != nil {
		return t.terms, err
	}
	t.identity(about.Identity, entryPerson, entryAgent, entrySession)
	t.add(entryAction, about.Action)
	if about.Object.ID != "" {
		t.add(entryObject, about.Object.Kind, about.Object.ID)
	}
	for i, id := range about.Rules {
		if i == maxEntryRules {
			t.add(manyRules)
			break
		}
		t.add(entryRule, id)
	}
	for _, id := range about.Evaluations {
		t.add(entryEvaluation, id)
	}
	return t.terms, nil
}

// collector collects the terms of one record.
type collector struct {
	terms []store.Term
	seen  map[store.Term]bool
	facts int // values
	words int // different words
	text  int // bytes read for words
	cut   bool
}

// add adds a term and reports whether it is new.
func (t *collector) add(p property, value ...string) bool {
	term := termOf(p, value...)
	if t.seen[term] {
		return false
	}
	t.seen[term] = true
	t.terms = append(t.terms, term)
	return true
}

func (t *collector) record(body []byte) error {
	var rec recorded
	if err := json.Unmarshal(body, &rec, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return err
	}
	if rec.Evaluation == nil {
		return errors.New("it holds no evaluation")
	}
	for i := range rec.Evaluation.RuleVerdicts {
		v := &rec.Evaluation.RuleVerdicts[i]
		t.add(ruleID, v.RuleID)
		t.add(ruleOutcome, v.RuleID, string(outcome(v)))
		if len(v.Fingerprint) >= FingerprintPrefix {
			t.add(fingerprint, v.Fingerprint[:FingerprintPrefix])
		}
	}
	for _, reason := range rec.Evaluation.Undecided() {
		t.add(undecided, string(reason))
	}
	for _, id := range []string{rec.NodeID, rec.Evaluation.NodeID} {
		if id != "" {
			t.add(node, id)
		}
	}
	if id := rec.Evaluation.SnapshotID; id != nil {
		t.add(snapshot, *id)
	}
	if rec.Environment != "" {
		t.add(environment, rec.Environment)
	}
	t.identity(rec.Evaluation.Identity, person, agent, session)
	for _, k := range rec.Kinds {
		t.add(kind, string(k))
	}
	if rec.Personal != nil {
		for _, key := range rec.Personal.Keys {
			t.add(personalKey, key)
		}
	}
	t.subject(&rec.Subject)
	if t.cut {
		t.add(partialRecord)
	}
	return nil
}

// identity adds the names of an identity, which may be nil.
func (t *collector) identity(i *rule.Identity, ofPerson, ofAgent, ofSession property) {
	if i == nil {
		return
	}
	for _, name := range i.People() {
		t.add(ofPerson, name)
	}
	for _, name := range i.Agents() {
		t.add(ofAgent, rule.FoldName(name))
	}
	if i.Session != "" {
		t.add(ofSession, rule.FoldName(i.Session))
	}
}

func (t *collector) subject(s *wire.RecordedSubject) {
	if s.Repository != "" {
		r := rule.ParseRepository(s.Repository)
		t.add(repository, r.String())
		t.add(repositoryPath, r.Path)
	}
	path := rule.CleanScope(s.Scope)
	for i, n := 0, 0; i < len(path) && n < maxScope; n++ {
		end := strings.IndexByte(path[i:], '/')
		if end < 0 {
			end = len(path) - i
		}
		t.add(scope, path[:i+end])
		i += end + 1
	}
	t.read(s.Action)
	t.read(s.Intent)
	t.factsIn("", s.Facts)
	for i := range s.Files {
		t.read(s.Files[i].Path)
	}
	for line := range strings.Lines(s.Diff) {
		if t.cut {
			break // words of later lines are not added anyway
		}
		if !strings.HasPrefix(line, "index ") && !strings.HasPrefix(line, "@@ ") {
			t.read(line)
		}
	}
	for i := range s.Files {
		f := &s.Files[i]
		if f.Content != nil {
			t.read(*f.Content)
		} else if f.ContentBase64 != nil {
			if b, err := base64.StdEncoding.DecodeString(*f.ContentBase64); err == nil {
				t.read(strings.ToValidUTF8(string(b), " "))
			}
		}
	}
}

// factsIn adds the values of facts below a name, in order of their names.
func (t *collector) factsIn(name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := key
			if name != "" {
				inner = name + "." + key
			}
			t.factsIn(inner, v[key])
		}
	case []any:
		for _, element := range v { // elements go by the name of their list
			t.factsIn(name, element)
		}
	case string:
		t.fact(fact, name, factText(v))
		t.read(v)
	case float64:
		t.fact(factNumber, name, factNumberText(v))
	case bool:
		t.fact(fact, name, strconv.FormatBool(v))
	case nil:
		t.fact(fact, name, "null")
	}
}

func (t *collector) fact(p property, name, value string) {
	if t.facts == MaxFacts {
		t.cut = true
		return
	}
	if t.add(p, factText(name), value) {
		t.facts++
	}
}

// factText returns a name or a text of a fact as they are compared: without white space around it, letters in lower case.
func factText(s string) string { return rule.FoldCase(strings.TrimSpace(s)) }

// factNumberText returns a number as numbers are compared: 1000.50 and 1000.5 are one.
func factNumberText(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// read adds the words of a text.
func (t *collector) read(text string) {
	if t.words == MaxWords {
		t.cut = t.cut || text != ""
		return
	}
	if left := maxText - t.text; len(text) > left {
		t.cut, text = true, strings.ToValidUTF8(text[:left], "")
	}
	t.text += len(text)
	corpus.EachWord(text, func(w corpus.Word) bool {
		if t.seen[termOf(word, w.Term)] {
			return true
		}
		if t.words == MaxWords {
			t.cut = true
			return false
		}
		t.add(word, w.Term)
		t.words++
		return true
	})
}
