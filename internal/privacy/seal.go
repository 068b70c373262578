package privacy

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Kinds of names that have keys.
const (
	ofPerson     = "person"
	ofEvaluation = "evaluation" // of a record that names no person
)

// maxPeople bounds the people of one record.
const maxPeople = 50

// Seal returns a record as the log stores it: without its personal fields, with the whole of it encrypted under the keys of the people. People
// who have no key get one, which is durable when Seal returns. Without people, the record has a key of its own.
func (k *Keeper) Seal(ctx context.Context, rec *wire.EvaluationRecord, people, fields []string) (*wire.EvaluationRecord, error) {
	w, err := k.ready(ctx)
	if err != nil {
		return nil, err
	}
	if len(people) > maxPeople {
		return nil, rule.Errorf(rule.CodeTooLarge, "the subject names %d people; a record is about at most %d", len(people), maxPeople)
	}
	project, id := rec.Evaluation.ProjectID, rec.Evaluation.EvaluationID
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = w.nameOf(project, ofPerson, p)
	}
	if len(names) == 0 {
		names = []string{w.nameOf(project, ofEvaluation, id)}
	}
	out := rec.Strip(fields)
	out.Personal = &wire.SealedData{Fields: fields}
	keys := make([][]byte, len(names))
	for i, name := range names {
		stored, err := k.keyNamed(ctx, w, project, name)
		if err != nil {
			return nil, err
		}
		if keys[i], err = w.unwrap(&stored); err != nil {
			return nil, err
		}
		out.Personal.Keys = append(out.Personal.Keys, stored.ID)
	}
	gcm, err := boxCipher(keys)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // never fails, see crypto/rand
	box := gcm.Seal(nonce, nonce, audit.Compress(audit.JSON(rec)), bound(project, id, out.Personal))
	out.Personal.Box = base64.StdEncoding.EncodeToString(box)
	return out, nil
}

// Open returns the whole of a record that is sealed, with the state open. If it cannot be opened, it returns the record as it is stored, with the
// state that says why. Only a database that fails is an error.
func (k *Keeper) Open(ctx context.Context, rec *wire.EvaluationRecord) (*wire.EvaluationRecord, error) {
	sealed := rec.Personal
	if sealed == nil {
		return rec, nil
	}
	as := func(state wire.SealedState) *wire.EvaluationRecord {
		out, data := *rec, *sealed
		data.State, out.Personal = state, &data
		return &out
	}
	if len(sealed.Keys) == 0 || len(sealed.Keys) > maxPeople {
		return as(wire.SealedUnreadable), nil
	}
	project, id := rec.Evaluation.ProjectID, rec.Evaluation.EvaluationID
	list, err := k.cfg.Read.List(ctx, project, sealed.Keys)
	if err != nil {
		return nil, err
	}
	stored := map[string]*store.PersonalKey{}
	for i := range list {
		stored[list[i].ID] = &list[i]
		if list[i].ForgottenAt != nil {
			return as(wire.SealedForgotten), nil
		}
	}
	w, err := k.cfg.Key.open(false)
	if err != nil {
		return as(wire.SealedUnreadable), nil //nolint:nilerr // the state says so
	}
	keys := make([][]byte, len(sealed.Keys))
	for i, name := range sealed.Keys {
		key := stored[name]
		if key == nil {
			return as(wire.SealedUnreadable), nil
		}
		if keys[i], err = w.unwrap(key); err != nil {
			return as(wire.SealedUnreadable), nil //nolint:nilerr // the state says so
		}
	}
	whole, err := openBox(keys, sealed, project, id)
	if err != nil {
		return as(wire.SealedUnreadable), nil //nolint:nilerr // the state says so
	}
	whole.Personal = &wire.SealedData{State: wire.SealedOpen, Fields: sealed.Fields, Keys: sealed.Keys}
	whole.Audit, whole.Holds = rec.Audit, rec.Holds
	return whole, nil
}

func openBox(keys [][]byte, sealed *wire.SealedData, project, id string) (*wire.EvaluationRecord, error) {
	gcm, err := boxCipher(keys)
	if err != nil {
		return nil, err
	}
	box, err := base64.StdEncoding.DecodeString(sealed.Box)
	if err != nil || len(box) < gcm.NonceSize() {
		return nil, errors.New("privacy: the box is cut")
	}
	packed, err := gcm.Open(nil, box[:gcm.NonceSize()], box[gcm.NonceSize():], bound(project, id, sealed))
	if err != nil {
		return nil, err
	}
	text, err := audit.Decompress(packed)
	if err != nil {
		return nil, err
	}
	var whole wire.EvaluationRecord
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	if whole.Evaluation == nil {
		return nil, errors.New("privacy: the box holds no record")
	}
	return &whole, nil
}

// bound is the text to which a box is bound, so that it opens in its record only.
func bound(project, id string, sealed *wire.SealedData) []byte {
	return fmt.Appendf(nil, "tenet privacy 1\n%q\n%q\n%q\n%q", project, id, sealed.Fields, sealed.Keys)
}

// boxCipher returns the cipher of a box that all of some keys open.
func boxCipher(keys [][]byte) (cipher.AEAD, error) {
	h := sha256.New()
	_, _ = h.Write([]byte("tenet privacy 1 box")) // a hash never fails
	for _, key := range keys {
		_, _ = h.Write(key)
	}
	return newGCM(h.Sum(nil))
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// idOf is the id of a key: a hash that fixes the key and does not reveal it.
func idOf(key []byte) string {
	sum := sha256.Sum256(append([]byte("tenet privacy 1 id"), key...))
	return hex.EncodeToString(sum[:16])
}

// owner is the text to which a wrapped key is bound: a row that is moved to another person or project opens nothing.
func owner(projectID, id, name string) []byte {
	return []byte(strings.Join([]string{"tenet privacy 1 key", projectID, id, name}, "\n"))
}

// newKey returns a new key of a person, wrapped.
func (w *wrapping) newKey(projectID, name string) (store.PersonalKey, error) {
	key := newKey()
	k := store.PersonalKey{ProjectID: projectID, ID: idOf(key), Name: name}
	return k, w.wrapInto(&k, key)
}

// wrapInto encrypts a key of a person.
func (w *wrapping) wrapInto(k *store.PersonalKey, key []byte) error {
	gcm, err := newGCM(w.wrap)
	if err != nil {
		return err
	}
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // never fails, see crypto/rand
	k.WrappedBy, k.Wrapped = w.name, gcm.Seal(nonce, nonce, key, owner(k.ProjectID, k.ID, k.Name))
	return nil
}

// unwrap returns a key; unavailable if its row is not as it was made.
func (w *wrapping) unwrap(k *store.PersonalKey) ([]byte, error) {
	for _, by := range append([]wrapper{w.wrapper}, w.older...) {
		gcm, err := newGCM(by.wrap)
		if err != nil {
			return nil, err
		}
		if n := gcm.NonceSize(); by.name == k.WrappedBy && len(k.Wrapped) > n {
			key, err := gcm.Open(nil, k.Wrapped[:n], k.Wrapped[n:], owner(k.ProjectID, k.ID, k.Name))
			if err == nil && idOf(key) == k.ID {
				return key, nil
			}
		}
	}
	return nil, rule.Errorf(rule.CodeUnavailable, "the key %s of project %q was changed in the database, or wrapped under another privacy_key_file", k.ID, k.ProjectID)
}
