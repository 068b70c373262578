package evidence_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"tenet/internal/audit"
	"tenet/internal/checkpoint"
	"tenet/internal/evidence"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/witness"
)

// desk is where the checkpoints of a test are kept: outside of the database.
type desk struct {
	folder string
	keys   *checkpoint.KeyFile
	policy *checkpoint.Policy
	places []checkpoint.Place
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	folder := t.TempDir()
	keys, err := checkpoint.OpenKeys(filepath.Join(folder, "key"), "example.com/tenet", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &desk{folder: filepath.Join(folder, "checkpoints"), keys: keys}
}

// book opens the book again, as a server does that starts.
func (d *desk) book(t *testing.T, s opened) *evidence.Book {
	t.Helper()
	b := evidence.NewBook(evidence.Config{
		Log: evidence.NewLog(s.Logs), DB: s, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Every: time.Hour, Client: &http.Client{Timeout: 2 * time.Second},
	})
	err := b.Open(t.Context(), evidence.Signing{Signer: d.keys, Origin: "example.com/tenet", Folder: d.folder, Policy: d.policy, Places: d.places})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func seal(t *testing.T, b *evidence.Book, projectID string) {
	t.Helper()
	if err := b.Seal(t.Context(), projectID); err != nil {
		t.Fatal(err)
	}
}

func (s opened) newest(t *testing.T) store.Checkpoint {
	t.Helper()
	c, err := s.Logs.Checkpoint(t.Context(), "p", 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// noted collects checkpoints.
type noted struct{ notes []string }

func (n *noted) Put(_ context.Context, _ checkpoint.Checkpoint, signedNote string) error {
	n.notes = append(n.notes, signedNote)
	return nil
}

// failing refuses checkpoints.
type failing struct{}

func (failing) Put(context.Context, checkpoint.Checkpoint, string) error { return errors.New("down") }

func TestCheckpointsFollowTheLog(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d, got := newDesk(t), &noted{}
		d.places = []checkpoint.Place{failing{}, got}
		b := d.book(t, s)
		seal(t, b, "p")
		if len(got.notes) != 0 {
			t.Errorf("an empty log has the checkpoint %s", got.notes[0])
		}
		for _, n := range []int{1, 0, 299, 300, 0} {
			s.append(t, "p", n)
			seal(t, b, "p")
			s.storeTiles(t)
		}
		if len(got.notes) != 3 {
			t.Fatalf("%d checkpoints, want one each time that the log has grown", len(got.notes))
		}
		size, reader := s.reference(t, "p")
		c, err := checkpoint.OpenOwn(t.Context(), d.keys, got.notes[2])
		if err != nil || c.Size != size || c.Origin != "example.com/tenet/p" || s.newest(t).Note != got.notes[2] || !s.newest(t).Witnessed {
			t.Errorf("%+v, %v; stored %+v", c, err, s.newest(t))
		}
		front, err := evidence.NewLog(s.Logs).Front(t.Context(), "p", size)
		if err != nil || front.Root() != c.Root || reader == nil {
			t.Errorf("root %v, %v; want %v", c.Root, err, front.Root())
		}
		// A server that starts signs nothing again, and has the database hold what it may have missed.
		s.tamper(t, "DELETE FROM audit_checkpoints")
		b = d.book(t, s)
		if err := b.Compare(t.Context()); err != nil || b.Problem("p") != nil {
			t.Errorf("%v, problem %v", err, b.Problem("p"))
		}
		seal(t, b, "p")
		if s.newest(t).Note != got.notes[2] {
			t.Errorf("after a start: %s", s.newest(t).Note)
		}
	})
}

// recompute makes the chain and the tree of a project whole again after its entries were changed, as an attacker who knows this program can.
func (s opened) recompute(t *testing.T, projectID string) {
	t.Helper()
	entries, err := s.Audit.Entries(t.Context(), projectID, 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	s.tamper(t, "DELETE FROM audit_entries WHERE project_id = '"+projectID+"'", "DELETE FROM audit_tiles WHERE project_id = '"+projectID+"'",
		"UPDATE audit_heads SET seq = 0, hash = '', tree = '' WHERE project_id = '"+projectID+"'")
	for len(entries) > 0 {
		n := min(len(entries), 500)
		var records []audit.Record
		for _, e := range entries[:n] {
			body, err := audit.Body(e)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, audit.Record{ID: e.ID, Kind: e.Kind, At: e.At, Actor: e.Actor, Verdict: e.Verdict, Mode: e.Mode, Body: body})
		}
		if err := s.Update(t.Context(), func(tx store.Tx) error { return audit.Append(t.Context(), tx, projectID, records...) }); err != nil {
			t.Fatal(err)
		}
		entries = entries[n:]
	}
	s.storeTiles(t)
}

// What somebody does who has the database, and knows this program, but not the key. Each attack is found when a server starts, and by a
// server that runs; nothing is signed after it.
var attacks = map[string]struct {
	attack func(t *testing.T, s opened)
	says   string
}{
	"a verdict is rewritten and the chain recomputed": {func(t *testing.T, s opened) {
		s.tamper(t, "UPDATE audit_entries SET verdict = 'ALLOW' WHERE project_id = 'p' AND seq = 7")
		s.recompute(t, "p")
	}, "are not those of its last checkpoint"},
	"the same, and the log has grown": {func(t *testing.T, s opened) {
		s.tamper(t, "UPDATE audit_entries SET verdict = 'ALLOW' WHERE project_id = 'p' AND seq = 7")
		s.recompute(t, "p")
		s.append(t, "p", 300)
	}, "its first 600 entries are not those"},
	"entries are recomputed, but the tiles and the tree left": {func(t *testing.T, s opened) {
		s.tamper(t, "UPDATE audit_entries SET hash = '"+strings.Repeat("ab", 32)+"' WHERE project_id = 'p' AND seq = 7")
	}, "are not those of its last checkpoint"},
	"the tail is cut off and the head moved back": {func(t *testing.T, s opened) {
		s.tamper(t, "DELETE FROM audit_entries WHERE project_id = 'p' AND seq > 590",
			"UPDATE audit_heads SET seq = 590, tree = '', hash = (SELECT hash FROM audit_entries WHERE project_id = 'p' AND seq = 590) WHERE project_id = 'p'")
	}, "it has 590 entries, its last checkpoint has 600"},
	"the tail is cut off, and others written in its place": {func(t *testing.T, s opened) {
		s.tamper(t, "DELETE FROM audit_entries WHERE project_id = 'p' AND seq > 590",
			"UPDATE audit_heads SET seq = 590, tree = '', hash = (SELECT hash FROM audit_entries WHERE project_id = 'p' AND seq = 590) WHERE project_id = 'p'")
		s.append(t, "p", 20)
		s.storeTiles(t)
	}, "its first 600 entries are not those"},
	"all records are deleted": {func(t *testing.T, s opened) {
		s.tamper(t, "DELETE FROM audit_entries", "DELETE FROM audit_tiles", "DELETE FROM audit_checkpoints", "UPDATE audit_heads SET seq = 0, hash = '', tree = ''")
	}, "it has 0 entries"},
	"the project is deleted everywhere": {func(t *testing.T, s opened) {
		s.tamper(t, "DELETE FROM audit_entries WHERE project_id = 'p'", "DELETE FROM audit_heads WHERE project_id = 'p'", "DELETE FROM corpus_tallies WHERE project_id = 'p'",
			"DELETE FROM audit_tiles", "DELETE FROM audit_checkpoints", "DELETE FROM projects WHERE project_id = 'p'")
	}, "it has 0 entries"},
	"an entry is removed and the others moved up": {func(t *testing.T, s opened) {
		s.tamper(t, "DELETE FROM audit_entries WHERE project_id = 'p' AND seq = 300")
		s.recompute(t, "p")
		s.append(t, "p", 1)
	}, "its 600 entries are not those"},
	"an entry is removed": {func(t *testing.T, s opened) {
		s.tamper(t, "DELETE FROM audit_entries WHERE project_id = 'p' AND seq = 300")
	}, "are missing"},
	"two entries change places": {func(t *testing.T, s opened) {
		s.tamper(t, "UPDATE audit_entries SET seq = 100000 WHERE seq = 5", "UPDATE audit_entries SET seq = 5 WHERE seq = 6", "UPDATE audit_entries SET seq = 6 WHERE seq = 100000")
		s.recompute(t, "p")
	}, "its 600 entries are not those"},
	"an entry is inserted": {func(t *testing.T, s opened) {
		s.tamper(t, "UPDATE audit_entries SET seq = -seq WHERE seq > 400", "UPDATE audit_entries SET seq = 1 - seq WHERE seq < 0",
			"INSERT INTO audit_entries (project_id, seq, id, kind, at, actor, verdict, mode, body, body_hash, prev_hash, hash) "+
				"SELECT project_id, 401, 'forged', kind, at, actor, 'ALLOW', mode, body, body_hash, prev_hash, hash FROM audit_entries WHERE seq = 400")
		s.recompute(t, "p")
	}, "its first 600 entries are not those"},
}

func TestAttacksAreFoundByTheLastCheckpoint(t *testing.T) {
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s opened) {
				d, got := newDesk(t), &noted{}
				s.project(t, "other")
				s.append(t, "p", 600)
				s.append(t, "other", 3)
				s.storeTiles(t)
				d.places = []checkpoint.Place{got}
				running := d.book(t, s)
				began := time.Now()
				running.SealAll(t.Context())
				if age, signs := running.Age(); !signs || age > time.Since(began) {
					t.Errorf("the checkpoints of all logs are %s old (signs: %t)", age, signs)
				}
				a.attack(t, s)
				before := len(got.notes)
				starting := d.book(t, s)
				if err := starting.Compare(t.Context()); err != nil {
					t.Fatal(err)
				}
				found := starting.Problem("p")
				if rule.CodeOf(found) != rule.CodeUnavailable || !strings.Contains(found.Error(), a.says) || !strings.Contains(found.Error(), "restore a backup") {
					t.Errorf("at start: %v; want %q and the way out", found, a.says)
				}
				if strings.Contains(name, "deleted everywhere") && starting.Problem("other") != nil {
					t.Errorf("the other project: %v", starting.Problem("other"))
				}
				since, signs := starting.Age()
				starting.SealAll(t.Context())
				if age, _ := starting.Age(); !signs || age < since {
					t.Errorf("without a checkpoint of the log they are %s old, before %s (signs: %t)", age, since, signs)
				}
				for _, n := range got.notes[before:] {
					if strings.HasPrefix(n, "example.com/tenet/p\n") {
						t.Errorf("a checkpoint was signed after the attack:\n%s", n)
					}
				}
			})
		})
	}
}

// A checkpoint that was replaced in its folder by one that the key has not signed is no excuse.
func TestAForgedCheckpointStopsTheStart(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d := newDesk(t)
		s.append(t, "p", 5)
		seal(t, d.book(t, s), "p")
		path := filepath.Join(d.folder, "p.checkpoint")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Replace(text, []byte("\n5\n"), []byte("\n4\n"), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		b := evidence.NewBook(evidence.Config{Log: evidence.NewLog(s.Logs), DB: s, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		if err := b.Open(t.Context(), evidence.Signing{Signer: d.keys, Origin: "example.com/tenet", Folder: d.folder}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("opened: %v", err)
		}
	})
}

// served is a witness with a switch.
type served struct {
	*witness.Witness
	url    string
	answer http.HandlerFunc // instead of the witness; nil for the witness
}

// serveWitness starts a witness of the log of the project p.
func serveWitness(t *testing.T, d *desk, name string) *served {
	t.Helper()
	signing, _, err := d.keys.Keys(t.Context(), "example.com/tenet/p")
	if err != nil {
		t.Fatal(err)
	}
	key, err := note.NewVerifier(signing[0])
	if err != nil {
		t.Fatal(err)
	}
	w, err := witness.Open(witness.Config{Folder: filepath.Join(t.TempDir(), name), Name: name + ".example.com", Logs: []note.Verifier{key}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	out := &served{Witness: w}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if out.answer != nil {
			out.answer(rw, r)
			return
		}
		w.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	out.url = server.URL
	return out
}

func down(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }

func TestWitnessesCosignUntilTheQuorumIsMet(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d := newDesk(t)
		one, two, three := serveWitness(t, d, "one"), serveWitness(t, d, "two"), serveWitness(t, d, "three")
		policy := ""
		for i, w := range []*served{one, two, three} {
			policy += "witness w" + string(rune('1'+i)) + " " + w.Key() + " " + w.url + "\n"
		}
		var err error
		if d.policy, err = checkpoint.ParsePolicy([]byte(policy + "group g 2 w1 w2 w3\nquorum g\n")); err != nil {
			t.Fatal(err)
		}
		b := d.book(t, s)
		state := func(about string, witnessed bool, size int64) {
			t.Helper()
			if c := s.newest(t); c.Witnessed != witnessed || c.Size != size || d.policy.Cosigned(c.Note) != witnessed {
				t.Errorf("%s: witnessed %t with %d entries, want %t with %d:\n%s", about, c.Witnessed, c.Size, witnessed, size, c.Note)
			}
		}
		s.append(t, "p", 10)
		one.answer = down
		seal(t, b, "p")
		state("with one down", true, 10)
		two.answer = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", checkpoint.SizeType)
			rw.WriteHeader(http.StatusConflict)
			_, _ = rw.Write([]byte("1000\n"))
		}
		s.append(t, "p", 10)
		seal(t, b, "p")
		state("with one down and one that lies", false, 20)
		if b.Problem("p") != nil {
			t.Errorf("a witness alone stops the evaluations: %v", b.Problem("p"))
		}
		one.answer = nil
		seal(t, b, "p")
		state("once they are back", true, 20)
		two.answer = nil
		s.append(t, "p", 400)
		b = d.book(t, s) // a start between
		seal(t, b, "p")
		state("with all of them, which have seen different sizes", true, 420)
		if c := s.newest(t); strings.Count(c.Note, "\n— ") != 4 {
			t.Errorf("want the signatures of the log and of three witnesses:\n%s", c.Note)
		}
	})
}

// An attacker with the key and the database, but without the witnesses, cannot have a second history cosigned.
func TestWitnessesStopWhoHasTheKey(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d := newDesk(t)
		w := serveWitness(t, d, "w")
		var err error
		if d.policy, err = checkpoint.ParsePolicy([]byte("witness w " + w.Key() + " " + w.url + "\nquorum w\n")); err != nil {
			t.Fatal(err)
		}
		s.append(t, "p", 300)
		seal(t, d.book(t, s), "p")
		s.tamper(t, "UPDATE audit_entries SET verdict = 'ALLOW' WHERE project_id = 'p' AND seq = 7", "DELETE FROM audit_checkpoints")
		s.recompute(t, "p")
		s.append(t, "p", 10)
		forged := &desk{folder: t.TempDir(), keys: d.keys, policy: d.policy} // without the last checkpoint
		b := forged.book(t, s)
		if err := b.Compare(t.Context()); err != nil || b.Problem("p") != nil {
			t.Fatalf("%v, %v", err, b.Problem("p"))
		}
		seal(t, b, "p")
		if c := s.newest(t); c.Witnessed || c.Size != 310 {
			t.Errorf("the second history has a witness: %+v", c)
		}
	})
}

// A slow witness delays nothing but the checkpoint.
func TestASlowWitnessIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d := newDesk(t)
		w := serveWitness(t, d, "w")
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		w.answer = func(http.ResponseWriter, *http.Request) { <-release }
		var err error
		if d.policy, err = checkpoint.ParsePolicy([]byte("witness w " + w.Key() + " " + w.url + "\nquorum w\n")); err != nil {
			t.Fatal(err)
		}
		b := d.book(t, s)
		s.append(t, "p", 1)
		done := make(chan error, 1)
		go func() { done <- b.Seal(t.Context(), "p") }()
		s.append(t, "p", 1) // while it waits
		if b.Problem("p") != nil {
			t.Error("evaluations are refused")
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if c := s.newest(t); c.Witnessed {
			t.Errorf("%+v", c)
		}
	})
}
