package attest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/evidence/attest"
	"tenet/internal/store"
)

const body = `{"evaluation":{"evaluation_id":"x7","overall_verdict":"DENY","score":1.50,"violations":null},"subject":{},"subject_kept":"redacted","redactions":[{"kind":"aws-access-token","where":"diff","line":3}]}`

// chainOf makes a chain of n entries, of which the record of the middle one is given.
func chainOf(t *testing.T, n int, record string) (entries []store.AuditEntry, reader tlog.HashReader) {
	t.Helper()
	var stored []tlog.Hash
	reader = tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		list := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			list[i] = stored[x]
		}
		return list, nil
	})
	prev := ""
	for i := range n {
		content := fmt.Sprintf(`{"evaluation":{"evaluation_id":"x%d"}}`, i)
		if i == n/2 {
			content = record
		}
		packed := audit.Compress([]byte(content))
		sum := sha256.Sum256(packed)
		e := store.AuditEntry{
			ProjectID: "pay", Seq: int64(i + 1), ID: fmt.Sprintf("x%d", i), Kind: audit.KindEvaluation, At: time.UnixMicro(1_700_000_000_123_456).UTC(), Actor: "key:ci",
			Verdict: "DENY", Mode: "preflight", Body: packed, BodyHash: hex.EncodeToString(sum[:]), PrevHash: prev,
		}
		e.Hash = audit.Hash(e)
		prev = e.Hash
		rec, err := tree.Record(e.Hash)
		if err != nil {
			t.Fatal(err)
		}
		more, err := tlog.StoredHashes(int64(i), rec, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored, entries = append(stored, more...), append(entries, e)
	}
	return entries, reader
}

// proofOf proves the middle one of 15 entries, and returns the policy of its log.
func proofOf(t *testing.T, record string, edit func(*store.AuditEntry)) (checkpoint.Proof, *checkpoint.Policy) {
	t.Helper()
	const n = 15
	entries, reader := chainOf(t, n, record)
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tlog.TreeHash(n, reader)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := checkpoint.Sign(t.Context(), keys, checkpoint.Checkpoint{Origin: "example.com/tenet/pay", Size: n, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := tlog.ProveRecord(n, n/2, reader)
	if err != nil {
		t.Fatal(err)
	}
	e := entries[n/2]
	if edit != nil {
		edit(&e)
	}
	p, err := attest.New(e, hashes, signed)
	if err != nil {
		t.Fatal(err)
	}
	own, _, err := keys.Keys(t.Context(), "example.com/tenet/pay")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := checkpoint.ParsePolicy([]byte("log " + own[0] + "\nquorum none\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p, policy
}

func TestARecordIsProvenAndCompared(t *testing.T) {
	p, policy := proofOf(t, body, nil)
	for name, given := range map[string]string{
		"none": "", "as the API gives it": strings.Replace(strings.TrimSuffix(body, "}"), "null", `[{"verdict":"DENY"}]`, 1) + `,"audit":{"seq":8}}`, "in another order": `{"subject_kept":"redacted","subject":{},"redactions":[{"line":3,"where":"diff","kind":"aws-access-token"}],"evaluation":{"violations":null,"score":1.50,"overall_verdict":"DENY","evaluation_id":"x7"}}`,
		"the answer": `{"evaluation_id":"x7","overall_verdict":"DENY","score":1.50,"violations":[]}`,
	} {
		r, err := attest.Check(p.Marshal(), policy, []byte(given))
		if err != nil || r.Compared != (given != "") || r.Entry.Verdict != "DENY" || r.Size != 15 || len(r.Evaluation.Redactions) != 1 || string(r.Record) != body {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for given, at := range map[string]string{
		strings.Replace(body, "DENY", "ALLOW", 1): "evaluation.overall_verdict", `{"evaluation_id":"x7","overall_verdict":"ALLOW","score":1.50}`: "overall_verdict",
		strings.Replace(body, `"line":3`, `"line":4`, 1): "redactions[0].line", strings.Replace(body, `"subject":{},`, "", 1): "subject", strings.Replace(body, `{},`, `{"x":1},`, 1): "subject.x", "[]": "its beginning", "{": "not JSON", body + "1": "not JSON",
	} {
		if _, err := attest.Check(p.Marshal(), policy, []byte(given)); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v, want %q", given, err, at)
		}
	}
}

func TestARemovedRecordLeavesTheProof(t *testing.T) {
	var packed []byte
	p, policy := proofOf(t, body, func(e *store.AuditEntry) { packed, e.Body = e.Body, nil })
	r, err := attest.Check(p.Marshal(), policy, nil)
	if err != nil || r.Record != nil || r.Entry.Verdict != "DENY" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = attest.Check(p.Marshal(), policy, packed); err != nil || !r.Compared || string(r.Record) != body {
		t.Errorf("with the stored record: %+v, %v", r, err)
	}
	if _, err := attest.Check(p.Marshal(), policy, []byte(body)); err == nil {
		t.Error("a record was accepted that nothing compares")
	}
}

func TestLargeRecordsAreLeftOut(t *testing.T) {
	var large strings.Builder
	for i := range 20_000 {
		sum := sha256.Sum256(fmt.Append(nil, i))
		large.WriteString(hex.EncodeToString(sum[:8]))
	}
	p, policy := proofOf(t, `{"evaluation":{"evaluation_id":"`+large.String()+`"}}`, nil)
	if r, err := attest.Check(p.Marshal(), policy, nil); err != nil || r.Record != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// Who changes a proof, in any part, has none.
func TestForgedProofsAreRefused(t *testing.T) {
	p, policy := proofOf(t, body, nil)
	var x map[string]any
	if err := json.Unmarshal(p.Extra, &x); err != nil {
		t.Fatal(err)
	}
	entry := x["entry"].(map[string]any)
	for field, value := range map[string]any{
		"verdict": "ALLOW", "actor": "ann", "at": "2020-01-01T00:00:00Z", "project_id": "hr", "id": "x8", "seq": 9, "body_hash": strings.Repeat("0", 64), "hash": strings.Repeat("0", 64), "prev_hash": "",
		"body": base64.StdEncoding.EncodeToString(audit.Compress([]byte(strings.Replace(body, "DENY", "ALLOW", 1)))), "kind": "rule", "mode": "posthoc",
	} {
		before := entry[field]
		entry[field] = value
		forged := p
		var err error
		if forged.Extra, err = json.Marshal(x); err != nil {
			t.Fatal(err)
		}
		if r, err := attest.Check(forged.Marshal(), policy, nil); err == nil {
			t.Errorf("another %s was proven: %+v", field, r.Entry)
		}
		// With the hash of its fields, the entry is not in the log.
		var e store.AuditEntry
		b, _ := json.Marshal(entry)
		if json.Unmarshal(b, &e) == nil && field != "body" && field != "hash" {
			e.Hash = audit.Hash(e)
			if forged, err = attest.New(e, p.Hashes, p.Note); err != nil {
				t.Fatal(err)
			}
			if r, err := attest.Check(forged.Marshal(), policy, nil); err == nil {
				t.Errorf("another %s with its hash was proven: %+v", field, r.Entry)
			}
		}
		entry[field] = before
	}
	data := p.Marshal()
	for i, b := range data {
		if i%7 == 0 && b != '\n' {
			forged := bytes.Clone(data)
			forged[i] ^= 4
			if r, err := attest.Check(forged, policy, nil); err == nil && !bytes.Equal(r.Record, []byte(body)) {
				t.Errorf("byte %d was changed, and %+v proven", i, r.Entry)
			}
		}
	}
	_, other := proofOf(t, body, nil)
	if _, err := attest.Check(data, other, nil); err == nil {
		t.Error("proven by the key of another log")
	}
}
