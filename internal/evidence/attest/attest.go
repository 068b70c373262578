// Package attest makes and checks proofs that a record is in an audit log. Checking needs neither a database nor a network.
package attest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// extra is the extra data of a proof: the entry, from which the hash in the log is computed.
type extra struct {
	Kind  string           `json:"kind"` // extraKind
	Entry store.AuditEntry `json:"entry"`
}

// extraKind marks the extra data as those of this program.
const extraKind = "tenet audit entry 1"

// New returns a proof that an entry is in the log of a checkpoint, at the index of its number. A body that is too large for a proof is left
// out: the reader then needs it as a file.
func New(e store.AuditEntry, hashes []tree.Hash, signedNote string) (checkpoint.Proof, error) {
	p := checkpoint.Proof{Index: e.Seq - 1, Hashes: hashes, Note: signedNote}
	b, err := json.Marshal(extra{extraKind, e})
	if err == nil && len(b) > checkpoint.MaxExtra {
		e.Body = nil
		b, err = json.Marshal(extra{extraKind, e})
	}
	if p.Extra = b; err == nil && len(b) > checkpoint.MaxExtra {
		err = fmt.Errorf("attest: the fields of entry %d are too large for a proof", e.Seq)
	}
	return p, err
}

// Result holds the entry and the checkpoint of a proof.
type Result struct {
	checkpoint.Seen

	Entry store.AuditEntry
	// Record is the JSON of the body; nil if the proof has none.
	Record json.RawMessage
	// Evaluation is the record of an evaluation; nil for other entries, and without a body.
	Evaluation *wire.EvaluationRecord
	// Compared is true if the given record was compared, and is that of the log.
	Compared bool
}

// Check checks a proof by a policy. given, if not empty, is a record that must be the one in the log: the JSON of GET
// /api/v1/evaluations/{id}, the answer that was given to the caller, or the stored body of an entry whose proof has none.
func Check(data []byte, policy *checkpoint.Policy, given []byte) (*Result, error) {
	p, err := checkpoint.ParseProof(data)
	if err != nil {
		return nil, err
	}
	var x extra
	d := json.NewDecoder(bytes.NewReader(p.Extra))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil || x.Kind != extraKind {
		return nil, errors.New("the proof has no entry of Tenet's audit log")
	}
	e := x.Entry
	hash := audit.Hash(e)
	if e.Hash != hash || p.Index != e.Seq-1 {
		return nil, errors.New("the entry in the proof was changed: its fields do not fit its hash")
	}
	record, err := tree.Record(hash)
	if err != nil {
		return nil, err
	}
	r := &Result{Entry: e}
	if r.Seen, err = p.Check(policy, record); err != nil {
		return nil, err
	}
	if i := strings.LastIndex(r.Origin, "/"); r.Origin[i+1:] != e.ProjectID {
		return nil, fmt.Errorf("the entry is one of project %s, the log %s is not", e.ProjectID, r.Origin)
	}
	if len(e.Body) == 0 && fits(e, given) {
		r.Entry.Body, given = given, nil
		r.Compared = true
	}
	if err := r.open(); err != nil || len(given) == 0 {
		return r, err
	}
	return r, r.compare(given)
}

// fits reports whether bytes are the stored body of an entry.
func fits(e store.AuditEntry, body []byte) bool {
	sum := sha256.Sum256(body)
	return len(body) > 0 && hex.EncodeToString(sum[:]) == e.BodyHash
}

// open reads the body of the entry, if the proof has it.
func (r *Result) open() error {
	if len(r.Entry.Body) == 0 {
		return nil
	}
	if !fits(r.Entry, r.Entry.Body) {
		return errors.New("the record in the proof was changed: it does not have the hash that the log has")
	}
	body, err := audit.Body(r.Entry)
	if err != nil {
		return err
	}
	r.Record = body
	if r.Entry.Kind != audit.KindEvaluation {
		return nil
	}
	r.Evaluation = &wire.EvaluationRecord{}
	return json.Unmarshal(body, r.Evaluation)
}

// compare compares a record with that of the log.
func (r *Result) compare(given []byte) error {
	if r.Record == nil {
		return errors.New("the proof has no record to compare with, because it was removed under the retention setting or is too large: give the stored " +
			"record, as tenet audit prove --record writes it")
	}
	if r.Evaluation != nil && r.Evaluation.Personal != nil {
		var err error
		if given, err = stripped(given, r.Evaluation.Personal); err != nil {
			return fmt.Errorf("the record is not JSON: %w", err)
		}
	}
	var theirs, ours any
	if err := decode(given, &theirs); err != nil {
		return fmt.Errorf("the record is not JSON: %w", err)
	}
	if err := decode(r.Record, &ours); err != nil {
		return err
	}
	recorded := member(ours, "evaluation")
	answered := member(theirs, "evaluation")
	if m, ok := theirs.(map[string]any); ok {
		if _, answer := m["evaluation_id"]; answer {
			ours, answered = recorded, m
		}
		delete(m, "audit") // the place in the chain, which is not part of the record
	}
	// These lists repeat verdicts for readers, and are not recorded apart.
	for _, derived := range []string{"violations", "warnings"} {
		if recorded[derived] == nil {
			delete(recorded, derived)
			delete(answered, derived)
		}
	}
	if at, same := equal("", ours, theirs); !same {
		return fmt.Errorf("the record is not the one in the log: they differ at %s", at)
	}
	r.Compared = true
	return nil
}

// stripped returns a record or an answer as the log holds it, without personal data.
func stripped(given []byte, personal *wire.SealedData) ([]byte, error) {
	var rec wire.EvaluationRecord
	if err := json.Unmarshal(given, &rec); err != nil {
		return nil, err
	}
	if rec.Evaluation != nil {
		out := rec.Strip(personal.Fields)
		out.Personal, out.Holds = personal, nil
		return json.Marshal(out)
	}
	if err := json.Unmarshal(given, &rec.Evaluation); err != nil {
		return nil, err
	}
	rec.Identity = rec.Evaluation.Identity
	return json.Marshal(rec.Strip(personal.Fields).Evaluation)
}

// member returns an object within an object; nil if there is none.
func member(v any, name string) map[string]any {
	m, _ := v.(map[string]any)
	inner, _ := m[name].(map[string]any)
	return inner
}

// decode reads one JSON value and keeps its numbers as they are written.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the value")
	}
	return nil
}

// equal compares two JSON values and names the first place where they differ.
func equal(at string, a, b any) (string, bool) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return place(at), false
		}
		keys := slices.Sorted(maps.Keys(a))
		for _, k := range slices.Sorted(maps.Keys(b)) {
			if _, ok := a[k]; !ok {
				return place(at + "." + k), false
			}
		}
		for _, k := range keys {
			other, ok := b[k]
			if !ok {
				return place(at + "." + k), false
			}
			if where, same := equal(at+"."+k, a[k], other); !same {
				return where, false
			}
		}
		return "", true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return place(at), false
		}
		for i := range a {
			if where, same := equal(fmt.Sprintf("%s[%d]", at, i), a[i], b[i]); !same {
				return where, false
			}
		}
		return "", true
	}
	return place(at), a == b
}

func place(at string) string {
	if at = strings.TrimPrefix(at, "."); at != "" {
		return at
	}
	return "its beginning"
}
