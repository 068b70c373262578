package release_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

func id(n int) string { return fmt.Sprintf("0199f0a0-%04x-7000-8000-%012x", n%7, n) }

func TestManifestIsReadAsWritten(t *testing.T) {
	for _, m := range []release.Manifest{
		{Items: []release.Item{}},
		{Items: []release.Item{{id(1), 1}, {id(2), 300}}, Relationships: []rule.Relationship{{ID: id(9), FromID: id(1), ToID: id(2), Kind: rule.Overrides}}},
		{Items: []release.Item{{id(1), 1}, {id(1), 1}}, Federation: release.Federation{Nodes: []rule.Node{{ID: id(3), Name: "org"}}, Attachments: []rule.Attachment{{NodeID: id(3), RuleID: id(1)}}}},
	} {
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := release.DecodeManifest(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&m, got); diff != "" {
			t.Error(diff)
		}
	}
	unsorted := release.Manifest{Items: []release.Item{{id(3), 1}, {id(1), 2}}}
	b, err := unsorted.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := release.DecodeManifest(b); err != nil || got.Items[0].RuleID != id(1) {
		t.Errorf("%v, %v: items are not in order", got, err)
	}
	for _, bad := range []string{"", "SEC-003", "0199F0A0-0001-7000-8000-000000000001", "0199f0a000017000-8000-000000000001----"} {
		if _, err := (&release.Manifest{Items: []release.Item{{bad, 1}}}).Encode(); err == nil {
			t.Errorf("the id %q is taken", bad)
		}
	}
}

func TestManifestIsSmall(t *testing.T) {
	m := release.Manifest{}
	for i := range 10_000 {
		m.Items = append(m.Items, release.Item{RuleID: id(i), Version: 1 + i%3})
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if per := len(b) / len(m.Items); per > 20 {
		t.Errorf("a rule takes %d bytes", per)
	}
}

func FuzzDecodeManifest(f *testing.F) {
	good, err := (&release.Manifest{Items: []release.Item{{id(1), 1}, {id(2), 2}}, Federation: release.Federation{Nodes: []rule.Node{{Name: "org"}}}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Add([]byte{1, 1, 17})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := release.DecodeManifest(b)
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := release.DecodeManifest(again); err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		_ = bytes.Equal(again, b) // a manifest may be written in several ways, such as with longer numbers
	})
}

func leaves(n int) []release.Leaf {
	out := make([]release.Leaf, n)
	for i := range out {
		out[i] = release.RuleLeaf(fmt.Sprint(i), "", rule.Effective)
	}
	return out
}

func TestRoot(t *testing.T) {
	seen := map[string]int{}
	for n := range 20 {
		all := leaves(n)
		root := release.Root(all)
		if before, ok := seen[root]; ok {
			t.Errorf("%d and %d leaves have one root", before, n)
		}
		seen[root] = n
		rand.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		kept := slices.Clone(all)
		if release.Root(all) != root {
			t.Errorf("the root of %d leaves depends on their order", n)
		}
		if !slices.Equal(all, kept) {
			t.Errorf("Root changes its argument")
		}
	}
	if release.Root(nil) != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Error("the root of nothing is not the hash of nothing")
	}
}

func TestLeavesDiffer(t *testing.T) {
	a := release.RuleLeaf("h", "s", rule.Effective)
	all := []release.Leaf{
		a, release.RuleLeaf("hs", "", rule.Effective), release.RuleLeaf("h", "", rule.Effective), release.RuleLeaf("h", "s", rule.Draft),
		release.RelationshipLeaf(&rule.Relationship{Kind: rule.Overrides}, a, a), release.RelationshipLeaf(&rule.Relationship{Kind: rule.Refines}, a, a),
		release.RelationshipLeaf(&rule.Relationship{Kind: rule.Overrides, AllowWeakening: true}, a, a), release.NodeLeaf("h", nil), release.NodeLeaf("", nil), release.NodeLeaf("h", []string{""}),
	}
	for i := range all {
		for k := range i {
			if all[i] == all[k] {
				t.Errorf("leaves %d and %d are equal", k, i)
			}
		}
	}
}

// history makes steps from words: a letter deploys, - rolls back.
func history(t *testing.T, words string) []store.Deployment {
	t.Helper()
	var steps []store.Deployment
	for i, w := range words {
		s := store.Deployment{Seq: int64(i + 1), Action: string(wire.ActionDeploy), SnapshotID: string(w), At: time.Unix(int64(i), 0)}
		if w == '-' {
			s.Action, s.SnapshotID = string(wire.ActionRollback), release.Previous(steps)
			if n := len(steps); n > 1 && steps[n-1].SnapshotID == steps[n-2].SnapshotID {
				s.SnapshotID = steps[n-1].SnapshotID // as it was
			}
		}
		steps = append(steps, s)
	}
	return steps
}

func TestRollbackWalksBack(t *testing.T) {
	for _, test := range []struct{ words, active, previous string }{
		{"", "", ""},
		{"A", "A", ""},
		{"AB", "B", "A"},
		{"AB-", "A", ""},
		{"AB-C", "C", "A"},
		{"AB-C-", "A", ""},
		{"ABC", "C", "B"},
		{"ABC-", "B", "A"},
		{"ABC--", "A", ""},
		{"ABA", "A", "B"},
		{"ABA-", "B", "A"},
		{"AA", "A", ""}, // histories of before redeploying changed nothing
		{"AA-", "A", ""},
		{"ABB", "B", "A"},
		{"ABB-", "B", "A"},
		{"ABB-C", "C", "B"},
	} {
		steps := history(t, test.words)
		if got := release.Active(steps); got != test.active {
			t.Errorf("%s: %q is active, want %q", test.words, got, test.active)
		}
		if got := release.Previous(steps); got != test.previous {
			t.Errorf("%s: back leads to %q, want %q", test.words, got, test.previous)
		}
		if err := checkHistory(steps); err != nil {
			t.Errorf("%s: %v", test.words, err)
		}
	}
}

// checkHistory reports the first step that could not have followed those before it: a gap in the numbers, a time that runs
// backwards, or a rollback to another snapshot than [release.Previous] gives.
func checkHistory(steps []store.Deployment) error {
	var stack []string
	for i, s := range steps {
		switch {
		case s.Seq != int64(i+1):
			return fmt.Errorf("step %d of the history has the number %d", i+1, s.Seq)
		case i > 0 && s.At.Before(steps[i-1].At):
			return fmt.Errorf("step %d of the history is older than the one before", s.Seq)
		}
		if s.Action == string(wire.ActionDeploy) {
			stack = append(stack, s.SnapshotID)
			continue
		}
		if s.Action != string(wire.ActionRollback) || len(stack) < 2 {
			return fmt.Errorf("step %d of the history, a %s, has nothing to go back to", s.Seq, s.Action)
		}
		stack = stack[:len(stack)-1]
		if s.SnapshotID != stack[len(stack)-1] {
			return fmt.Errorf("step %d of the history goes back to %s instead of %s", s.Seq, s.SnapshotID, stack[len(stack)-1])
		}
	}
	return nil
}

func TestCheckHistoryFindsWhatCannotBe(t *testing.T) {
	for name, damage := range map[string]func([]store.Deployment) []store.Deployment{
		"a gap":                     func(s []store.Deployment) []store.Deployment { return append(s[:1:1], s[2:]...) },
		"two of one number":         func(s []store.Deployment) []store.Deployment { s[2].Seq = 2; return s },
		"another way back":          func(s []store.Deployment) []store.Deployment { s[2].SnapshotID = "B"; return s },
		"time runs backwards":       func(s []store.Deployment) []store.Deployment { s[3].At = time.Unix(0, 0); return s },
		"nothing to go back to":     func(s []store.Deployment) []store.Deployment { s[1].Action = string(wire.ActionRollback); return s },
		"an action that is not one": func(s []store.Deployment) []store.Deployment { s[2].Action = "undo"; return s },
	} {
		if err := checkHistory(damage(history(t, "AB-C-"))); err == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
}

func TestEnvironments(t *testing.T) {
	for _, e := range wire.Environments {
		if got, err := release.ParseEnvironment(string(e)); err != nil || got != e {
			t.Errorf("%s: %v, %v", e, got, err)
		}
	}
	for _, bad := range []string{"", "prod", "Production", "production "} {
		if _, err := release.ParseEnvironment(bad); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
