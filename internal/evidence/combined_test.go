package evidence_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/evidence"
	"tenet/internal/rule"
)

// Attacks in random combinations are found as each of them is. What deletes everything comes last.
func TestCombinedAttacksAreFound(t *testing.T) {
	names := slices.Sorted(maps.Keys(attacks))
	last := func(name string) bool {
		return strings.Contains(name, "all records") || strings.Contains(name, "everywhere")
	}
	for round := range 6 {
		seed := rand.Uint64()
		order := rand.New(rand.NewPCG(seed, seed)).Perm(len(names))[:2+round%2]
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case last(names[a]) == last(names[b]):
				return 0
			case last(names[a]):
				return 1
			}
			return -1
		})
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s opened) {
				d, got := newDesk(t), &noted{}
				d.places = []checkpoint.Place{got}
				s.append(t, "p", 600)
				s.storeTiles(t)
				d.book(t, s).SealAll(t.Context())
				var tried []string
				for i, n := range order {
					if i > 0 && last(names[order[i-1]]) {
						break // nothing is left to attack
					}
					tried = append(tried, names[n])
					attacks[names[n]].attack(t, s)
				}
				before := len(got.notes)
				starting := d.book(t, s)
				if err := starting.Compare(t.Context()); err != nil {
					t.Fatalf("%q: %v", tried, err)
				}
				if rule.CodeOf(starting.Problem("p")) != rule.CodeUnavailable {
					t.Errorf("%q: %v", tried, starting.Problem("p"))
				}
				starting.SealAll(t.Context())
				if len(got.notes) != before {
					t.Errorf("%q: a checkpoint was signed after it", tried)
				}
			})
		})
	}
}

// Neither a clock that goes back nor one that jumps ahead stops the log, or makes an older checkpoint the newest.
func TestAClockThatIsSetBackChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, s opened) {
		d := newDesk(t)
		for i, shift := range []time.Duration{0, -365 * 24 * time.Hour, 365 * 24 * time.Hour, -time.Hour} {
			s.append(t, "p", 10)
			b := evidence.NewBook(evidence.Config{
				Log: evidence.NewLog(s.Logs), DB: s, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(shift) }, Every: time.Hour,
			})
			if err := b.Open(t.Context(), evidence.Signing{Signer: d.keys, Origin: "example.com/tenet", Folder: d.folder}); err != nil {
				t.Fatal(err)
			}
			if err := b.Compare(t.Context()); err != nil {
				t.Fatal(err)
			}
			seal(t, b, "p")
			if c := s.newest(t); c.Size != int64(10*(i+1)) || b.Problem("p") != nil {
				t.Errorf("clock by %s: the newest checkpoint has %d entries, %v", shift, c.Size, b.Problem("p"))
			}
		}
	})
}

// A witness that answers nonsense costs its cosignature, and nothing else.
func TestAWitnessThatLiesIsNotBelieved(t *testing.T) {
	conflict := func(size string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", checkpoint.SizeType)
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(size))
		}
	}
	each(t, func(t *testing.T, s opened) {
		d := newDesk(t)
		w := serveWitness(t, d, "w")
		var err error
		if d.policy, err = checkpoint.ParsePolicy([]byte("witness w " + w.Key() + " " + w.url + "\nquorum w\n")); err != nil {
			t.Fatal(err)
		}
		b := d.book(t, s)
		for name, answer := range map[string]http.HandlerFunc{
			"a signature of nobody":       func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("— w.example.com AAAAAAAA\n")) },
			"a signature of another name": func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("— x.example.com AAAAAAAA\n")) },
			"text":                        func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(strings.Repeat("x", 1<<20))) },
			"nothing":                     func(http.ResponseWriter, *http.Request) {},
			"a conflict each time":        conflict("3\n"),
			"a conflict with no size":     conflict("many\n"),
			"a conflict below zero":       conflict("-1\n"),
			"a conflict ahead":            conflict("99999999\n"),
			"a redirection":               func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/elsewhere", http.StatusFound) },
		} {
			w.answer = answer
			s.append(t, "p", 5)
			seal(t, b, "p")
			if c := s.newest(t); c.Witnessed || b.Problem("p") != nil || strings.Count(c.Note, "\n— ") != 1 {
				t.Errorf("%s: witnessed %t, %v:\n%s", name, c.Witnessed, b.Problem("p"), c.Note)
			}
		}
		w.answer = nil
		seal(t, b, "p")
		if c := s.newest(t); !c.Witnessed {
			t.Errorf("once it is honest again: %+v", c)
		}
	})
}
