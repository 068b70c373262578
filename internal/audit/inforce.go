package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"tenet/internal/store"
)

// inForceField is the field of bodies with the hashes of what the transaction of the entry has changed of what is in force.
const inForceField = "in_force"

// InForce holds the rows in force that the transaction of an entry has changed.
type InForce struct {
	// Whole means that rows which are not listed are no longer in force.
	Whole bool `json:"whole,omitempty"`
	// Rows has kind, id and hash of a row, with a blank between; the hash is in base64, and empty for a row that was removed.
	Rows []string `json:"rows"`
}

// RecordsInForce lists the kinds of entries that may record what is in force: all but those of evaluations, requests and sign-ins.
func RecordsInForce() []string {
	out := make([]string, 0, len(Kinds))
	for _, k := range Kinds {
		if k != KindEvaluation && k != KindAgent && k != KindSignIn {
			out = append(out, k)
		}
	}
	return out
}

// inForce returns what a transaction has changed of what is in force in a project; nil for nothing.
func inForce(ctx context.Context, tx store.Tx, projectID string) (*InForce, error) {
	if tx.InForce == nil { // of a test
		return nil, nil
	}
	rows, whole, err := tx.InForce.Changed(ctx, projectID)
	if err != nil || len(rows) == 0 && !whole {
		return nil, err
	}
	f := &InForce{Whole: whole, Rows: make([]string, len(rows))}
	for i, r := range rows {
		hash := ""
		if r.Hash != (store.RowHash{}) {
			hash = base64.RawStdEncoding.EncodeToString(r.Hash[:])
		}
		f.Rows[i] = r.Kind + " " + r.ID + " " + hash
	}
	return f, nil
}

// into adds the field to a body.
func (f *InForce) into(body []byte) ([]byte, error) {
	object, ok := bytes.CutSuffix(bytes.TrimSpace(body), []byte("}"))
	if !ok {
		return nil, fmt.Errorf("audit: the body of an entry must be a JSON object to record what is in force")
	}
	out := bytes.Clone(object)
	if !bytes.HasSuffix(bytes.TrimSpace(object), []byte("{")) {
		out = append(out, ',')
	}
	return append(append(append(out, `"`+inForceField+`":`...), JSON(f)...), '}'), nil
}

// InForceOf returns what an entry records of what is in force; nil if that is nothing. It fails if the entry is not as it was hashed.
func InForceOf(e store.AuditEntry) (*InForce, error) {
	sum := sha256.Sum256(e.Body)
	if hex.EncodeToString(sum[:]) != e.BodyHash || Hash(e) != e.Hash {
		return nil, fmt.Errorf("audit: entry %d of project %s is not as it was recorded", e.Seq, e.ProjectID)
	}
	body, err := Body(e)
	if err != nil {
		return nil, err
	}
	field := []byte(`"` + inForceField + `":`)
	at := bytes.LastIndex(body, field)
	if at < 0 {
		return nil, nil
	}
	// The field is the last of the object (see into), which the rules of an import may make megabytes long. After the same name deeper in the body, more than one
	// object ends, and inside of a text its quotation marks would have backslashes.
	if object, ok := bytes.CutSuffix(bytes.TrimSpace(body[at+len(field):]), []byte("}")); ok {
		var f InForce
		if json.Unmarshal(object, &f) == nil {
			return &f, nil
		}
	}
	var v struct {
		InForce *InForce `json:"in_force"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, fmt.Errorf("audit: entry %d of project %s: %w", e.Seq, e.ProjectID, err)
	}
	return v.InForce, nil
}

// Parse returns the rows.
func (f *InForce) Parse() ([]store.RowInForce, error) {
	out := make([]store.RowInForce, len(f.Rows))
	for i, line := range f.Rows {
		kind, rest, ok := strings.Cut(line, " ")
		at := strings.LastIndexByte(rest, ' ')
		if !ok || at < 0 {
			return nil, fmt.Errorf("audit: %q is no row in force", line)
		}
		out[i] = store.RowInForce{Kind: kind, ID: rest[:at]}
		if hash := rest[at+1:]; hash != "" {
			sum, err := base64.RawStdEncoding.DecodeString(hash)
			if err != nil || len(sum) != len(out[i].Hash) {
				return nil, fmt.Errorf("audit: the hash of %q cannot be read", line)
			}
			out[i].Hash = store.RowHash(sum)
		}
	}
	return out, nil
}
