// Package auditortest makes proofs for tests of what shows them.
package auditortest

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/evidence/attest"
	"tenet/internal/store"
)

// Files holds the files that an auditor receives.
type Files struct {
	Policy, Proof []byte
	// Forged is the proof with another verdict in its entry.
	Forged []byte
	// Record is the JSON of the record.
	Record string
}

// New proves the only evaluation of a new log, a denial.
func New(t testing.TB) Files {
	t.Helper()
	f := Files{
		Record: `{"evaluation":{"evaluation_id":"x1","overall_verdict":"DENY"},"subject":{},"subject_kept":"redacted","redactions":[{"kind":"aws-access-token","where":"diff","line":3}]}`,
	}
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	body := audit.Compress([]byte(f.Record))
	sum := sha256.Sum256(body)
	e := store.AuditEntry{
		ProjectID: "pay", Seq: 1, ID: "x1", Kind: audit.KindEvaluation, At: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC), Actor: "key:ci", Verdict: "DENY", Mode: "preflight",
		Body: body, BodyHash: hex.EncodeToString(sum[:]),
	}
	e.Hash = audit.Hash(e)
	root, err := tree.Leaf(e.Hash) // the tree of one entry
	if err != nil {
		t.Fatal(err)
	}
	signed, err := checkpoint.Sign(t.Context(), keys, checkpoint.Checkpoint{Origin: "example.com/tenet/pay", Size: 1, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	proof := func(e store.AuditEntry) []byte {
		p, err := attest.New(e, nil, signed)
		if err != nil {
			t.Fatal(err)
		}
		return p.Marshal()
	}
	f.Proof = proof(e)
	e.Verdict = "ALLOW"
	f.Forged = proof(e)
	own, _, err := keys.Keys(t.Context(), "example.com/tenet/pay")
	if err != nil {
		t.Fatal(err)
	}
	f.Policy = []byte("log " + own[0] + "\nquorum none\n")
	return f
}
