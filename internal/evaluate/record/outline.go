package record

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Outline has the parts of a record that lists show, without what is encrypted. Reading it takes a fraction of the time of reading the whole record.
type Outline struct {
	Evaluation struct {
		ID         string         `json:"evaluation_id"`
		Overall    rule.Verdict   `json:"overall_verdict"`
		Mode       rule.Mode      `json:"mode"`
		Timestamp  time.Time      `json:"timestamp"`
		Notices    []string       `json:"notices"`
		NodeID     string         `json:"node_id"`
		SnapshotID string         `json:"snapshot_id"`
		Identity   *rule.Identity `json:"identity"`
		Verdicts   []outlined     `json:"rule_verdicts"`
	} `json:"evaluation"`
	Subject struct {
		Action     string `json:"action"`
		Intent     string `json:"intent"`
		Repository string `json:"repository"`
		Scope      string `json:"scope"`
	} `json:"subject"`
	Kinds       []wire.SubjectKind `json:"subject_kinds"`
	Environment string             `json:"environment"`
}

type outlined struct {
	Verdict rule.Verdict   `json:"verdict"`
	Waiver  jsontext.Value `json:"waiver"`
}

// Count returns how many rules came to a verdict that no waiver covers.
func (o *Outline) Count(v rule.Verdict) (n int) {
	for i := range o.Evaluation.Verdicts {
		if one := &o.Evaluation.Verdicts[i]; one.Verdict == v && len(one.Waiver) == 0 {
			n++
		}
	}
	return n
}

// OutlineOf reads the outline of an evaluation from its entry. The error meets [IsPruned] for a record that was removed.
func OutlineOf(entry *store.AuditEntry) (*Outline, error) {
	body, err := bodyOf(entry)
	if err != nil {
		return nil, err
	}
	o := &Outline{}
	if err := json.Unmarshal(body, o); err != nil {
		return nil, fmt.Errorf("record: evaluation %s: %w", entry.ID, err)
	}
	if o.Evaluation.ID == "" {
		return nil, fmt.Errorf("record: evaluation %s holds no evaluation", entry.ID)
	}
	return o, nil
}

// bodyOf returns the JSON of a record.
func bodyOf(entry *store.AuditEntry) ([]byte, error) {
	if len(entry.Body) == 0 {
		return nil, rule.Errorf(rule.CodeNotFound, "evaluation %q was recorded, but %w", entry.ID, errPruned)
	}
	return audit.Body(*entry)
}

// Entries returns the entries of the audit chain of a project with some numbers.
func (a *Archive) Entries(ctx context.Context, projectID string, seqs []int64) ([]store.AuditEntry, error) {
	return a.index.Entries(ctx, projectID, seqs)
}
