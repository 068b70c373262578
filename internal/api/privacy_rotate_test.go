package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/privacy"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func TestThePrivacyKeyIsRotated(t *testing.T) {
	t.Parallel()
	onBoth(t, testThePrivacyKeyIsRotated)
}

// keeperWith returns a keeper of another node, with a copy of a key file as it is now.
func keeperWith(n *node) (*privacy.Keeper, *privacy.KeyFile) {
	n.t.Helper()
	text, err := os.ReadFile(n.privacyKey)
	if err != nil {
		n.t.Fatal(err)
	}
	file := filepath.Join(n.t.TempDir(), "copy.key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		n.t.Fatal(err)
	}
	key := privacy.NewKeyFile(file, false)
	return privacy.New(privacy.Config{Store: n.store, Read: n.store.PersonalKeys, Retention: n.store.Retention, Projects: n.store.Projects, Audit: n.store.Audit, Now: n.now, Key: key}), key
}

func testThePrivacyKeyIsRotated(t *testing.T, n *node) {
	n.key = n.makeKey(auth.Admin, store.AllProjects)
	personalPolicy(n)
	ann, carol := pays(n, "CUST-7", "ann@example.com").EvaluationID, pays(n, "CUST-9", "carol@example.com").EvaluationID
	stored, err := n.store.PersonalKeys.List(t.Context(), rule.DefaultProject, sealedRecord(n, carol).Personal.Keys) // as in a backup
	if err != nil || len(stored) != 1 {
		t.Fatalf("%d keys, %v", len(stored), err)
	}
	// state is what a keeper makes of a record as the log holds it.
	state := func(k *privacy.Keeper, id string) wire.SealedState {
		t.Helper()
		out, err := k.Open(t.Context(), sealedRecord(n, id))
		if err != nil {
			t.Fatal(err)
		}
		return out.Personal.State
	}
	seal := func(k *privacy.Keeper, person string) error {
		_, err := k.Seal(t.Context(), sealedRecord(n, ann), []string{person}, []string{"action"})
		return err
	}
	silent := func(int, int) {}
	before, oldFile := keeperWith(n)
	if state(before, ann) != wire.SealedOpen { // which has read its file
		t.Fatal("another node with the same file opens nothing")
	}
	if _, err := before.Retire(t.Context(), nil, silent); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("retired without a new key: %v", err)
	}

	// A new key wraps from now on, without a start. The file before opens what it has wrapped.
	rotating := privacy.NewKeyFile(n.privacyKey, false)
	if err := rotating.Rotate(); err != nil {
		t.Fatal(err)
	}
	if err := rotating.Rotate(); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("rotated twice: %v", err)
	}
	bob := pays(n, "CUST-8", "bob@example.com").EvaluationID
	both, _ := keeperWith(n)
	for about, c := range map[string]struct {
		keeper   *privacy.Keeper
		ann, bob wire.SealedState
	}{"the node": {n.privacy, wire.SealedOpen, wire.SealedOpen}, "with the file before": {before, wire.SealedOpen, wire.SealedUnreadable}, "with a copy": {both, wire.SealedOpen, wire.SealedOpen}} {
		if a, b := state(c.keeper, ann), state(c.keeper, bob); a != c.ann || b != c.bob {
			t.Errorf("%s: %s and %s; want %s and %s", about, a, b, c.ann, c.bob)
		}
	}

	// Broken off before the first key, the older key stays in the file, and no node makes keys under it.
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := n.privacy.Retire(ctx, nil, func(int, int) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("broken off: %v", err)
	}
	if err := seal(before, "eve"); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("a key under the older key: %v; want unavailable", err)
	}
	if state(n.privacy, ann) != wire.SealedOpen {
		t.Error("broken off, the data cannot be read")
	}
	wrapped, err := os.ReadFile(n.privacyKey)
	if err != nil {
		t.Fatal(err)
	}
	// Run again, also after an end just before the file was written, it ends the same.
	for run, want := range []int{2, 0} {
		if err := os.WriteFile(n.privacyKey, wrapped, 0o600); err != nil {
			t.Fatal(err)
		}
		retiring := privacy.New(privacy.Config{Store: n.store, Read: n.store.PersonalKeys, Key: privacy.NewKeyFile(n.privacyKey, false), Now: n.now})
		if got, err := retiring.Retire(t.Context(), nil, silent); err != nil || got != want {
			t.Errorf("run %d: %d keys, %v; want %d", run, got, err, want)
		}
		text, err := os.ReadFile(n.privacyKey)
		if err != nil || strings.Contains(string(text), "old ") || string(text[:44]) != string(wrapped[:44]) {
			t.Errorf("run %d: the file is %d bytes, %v", run, len(text), err)
		}
	}
	fresh, _ := keeperWith(n)
	for _, id := range []string{ann, bob} {
		if got := state(before, id); got != wire.SealedUnreadable {
			t.Errorf("the file before opens what it must not: %s", got)
		}
		for about, k := range map[string]*privacy.Keeper{"the node": n.privacy, "a node with the new file": fresh, "a node that still has both": both} {
			if got := state(k, id); got != wire.SealedOpen {
				t.Errorf("%s: %s", about, got)
			}
		}
	}
	if err := seal(before, "cust-7"); rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("sealed with the file before: %v; want unavailable", err)
	}
	if p := into[wire.Privacy](n.call("GET", privacyPath, nil).want(http.StatusOK)); p.People != 3 || p.Problem != "" {
		t.Errorf("privacy: %+v", p)
	}

	// People are found by their names as before, and forgotten.
	again := pays(n, "CUST-7", "ann@example.com").EvaluationID
	if recordOf(n, again).Personal.Keys[0] != recordOf(n, ann).Personal.Keys[0] {
		t.Error("the same person got another key")
	}
	if f := into[wire.ForgottenPerson](n.call("POST", privacyPath+"/forget", fields{"person": "CUST-7", "reason": "request 1"}).want(http.StatusOK)); f.Records != 2 {
		t.Errorf("forgotten: %+v", f)
	}
	if state(n.privacy, ann) != wire.SealedForgotten {
		t.Error("forgotten data can be read")
	}

	// A restored backup has keys under the older key: they open with the older file, and are wrapped again.
	if err := n.store.Update(t.Context(), func(tx store.Tx) error { return tx.PersonalKeys.Rewrap(t.Context(), stored) }); err != nil {
		t.Fatal(err)
	}
	if got := state(fresh, carol); got != wire.SealedUnreadable {
		t.Errorf("restored: %s", got)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.key")
	if err := os.WriteFile(foreign, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Retire(t.Context(), privacy.NewKeyFile(foreign, false), silent); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("with a file of another installation: %v", err)
	}
	if got, err := fresh.Retire(t.Context(), oldFile, silent); err != nil || got != 1 || state(fresh, carol) != wire.SealedOpen {
		t.Errorf("with the older file: %d, %v", got, err)
	}
	// A key that none of them opens keeps the older keys in the file.
	lost := stored
	lost[0].Wrapped = make([]byte, len(lost[0].Wrapped))
	if err := n.store.Update(t.Context(), func(tx store.Tx) error { return tx.PersonalKeys.Rewrap(t.Context(), lost) }); err != nil {
		t.Fatal(err)
	}
	if _, err := both.Retire(t.Context(), nil, silent); rule.CodeOf(err) != rule.CodeConflict || !strings.Contains(err.Error(), stored[0].ID) || state(both, bob) != wire.SealedOpen {
		t.Errorf("with a damaged key: %v", err)
	}
}

// sealedRecord returns the record of an evaluation as the log holds it.
func sealedRecord(n *node, id string) *wire.EvaluationRecord {
	n.t.Helper()
	entry, err := n.store.Audit.Get(n.t.Context(), rule.DefaultProject, id)
	if err != nil {
		n.t.Fatal(err)
	}
	body, err := audit.Body(entry)
	if err != nil {
		n.t.Fatal(err)
	}
	var rec wire.EvaluationRecord
	if err := json.Unmarshal(body, &rec); err != nil {
		n.t.Fatal(err)
	}
	return &rec
}
