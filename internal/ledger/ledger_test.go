package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/ledger"
	"tenet/internal/proptest"
	"tenet/internal/rule"
)

var findings = []ledger.Finding{ledger.Open, ledger.Kept, ledger.Broken, ledger.Doubtful, ledger.NotConcerned}

// drawn is a random account, as its parts.
type drawn struct {
	units   []ledger.Unit
	about   []int
	seen    [][]int
	gaps    []int
	finding ledger.Finding
}

func (d drawn) verdict() rule.RuleVerdict {
	a := ledger.NewAccount(ledger.NewUnits(d.units), setOf(d.about))
	for _, units := range d.seen {
		a.Examined(rule.ByCheck, setOf(units))
	}
	for _, unit := range d.gaps {
		a.Gap(unit, "a gap")
	}
	v := rule.RuleVerdict{DecidedBy: rule.ByCheck, Confidence: 1, Reasoning: "It was looked at."}
	a.Decide(d.finding, &v)
	return v
}

func setOf(units []int) *ledger.Set {
	s := &ledger.Set{}
	for _, unit := range units {
		s.Add(unit)
	}
	return s
}

func draw(t *rapid.T) drawn {
	n := rapid.IntRange(1, 150).Draw(t, "units")
	unit := rapid.IntRange(0, n-1)
	some := rapid.SliceOfN(unit, 0, n)
	d := drawn{finding: rapid.SampledFrom(findings).Draw(t, "finding"), about: some.Draw(t, "about")}
	for range n {
		u := ledger.Unit{Kind: ledger.Text, Path: "a.go"}
		if rapid.IntRange(0, 40).Draw(t, "unseen") == 0 {
			u.Unseen = "it is binary"
		}
		d.units = append(d.units, u)
	}
	d.seen = [][]int{some.Draw(t, "seen"), some.Draw(t, "seen")}
	if rapid.Bool().Draw(t, "all") { // else ALLOW would be rare
		d.seen = append(d.seen, d.about)
	}
	d.gaps = rapid.SliceOfN(unit, 0, 2).Draw(t, "gaps")
	return d
}

// TestLaw checks on random accounts that ALLOW is given for just those in which every unit was examined, and DENY for a broken
// rule whatever was examined.
func TestLaw(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		d := draw(t)
		v := d.verdict()
		var missing []int
		for _, unit := range d.about {
			seen := slices.ContainsFunc(d.seen, func(units []int) bool { return slices.Contains(units, unit) })
			if !seen || d.units[unit].Unseen != "" || slices.Contains(d.gaps, unit) {
				missing = append(missing, unit)
			}
		}
		want := rule.NeedsConfirmation
		switch {
		case d.finding == ledger.Broken:
			want = rule.Deny
		case d.finding == ledger.NotConcerned && len(missing) == 0, d.finding == ledger.Kept && len(missing) == 0 && len(d.about) > 0:
			want = rule.Allow
		}
		if v.Verdict != want {
			t.Fatalf("%s, want %s: %+v misses %v", v.Verdict, want, d, missing)
		}
		if (d.finding == ledger.Kept || d.finding == ledger.NotConcerned) && v.Verdict != rule.Allow && len(missing) > 0 {
			if len(v.Unexamined) == 0 || v.DecidedBy != rule.ByNone || v.Confidence != 0 {
				t.Fatalf("the missing units are not named: %+v", v)
			}
		}
	})
}

// TestHiding checks that to hide something of a subject, or to add something to it, never gives an ALLOW.
func TestHiding(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		d := draw(t)
		if d.verdict().Verdict == rule.Allow {
			return
		}
		switch rapid.IntRange(0, 3).Draw(t, "hidden") {
		case 0:
			i := rapid.IntRange(0, len(d.seen)-1).Draw(t, "examination")
			d.seen[i] = nil
		case 1:
			d.gaps = append(d.gaps, rapid.IntRange(0, len(d.units)-1).Draw(t, "gap"))
		case 2:
			d.units[rapid.IntRange(0, len(d.units)-1).Draw(t, "unit")].Unseen = "it is hidden"
		case 3:
			d.units = append(d.units, ledger.Unit{Kind: ledger.Content, Path: "b.go", Unseen: "not given"})
			if len(d.about) == 0 { // a rule that was about nothing
				return
			}
			d.about = append(d.about, len(d.units)-1)
		}
		if v := d.verdict(); v.Verdict == rule.Allow {
			t.Fatalf("hiding has made an ALLOW: %+v", d)
		}
	})
}

func TestEmptyAccount(t *testing.T) {
	for _, f := range findings {
		var a ledger.Account
		v := rule.RuleVerdict{DecidedBy: rule.ByModel, Confidence: 1}
		if a.Decide(f, &v); v.Verdict == rule.Allow {
			t.Errorf("the zero account allows finding %d", f)
		}
		if by := a.By(0); by != "" {
			t.Errorf("a unit of the zero account was examined by %q", by)
		}
	}
}

func TestNames(t *testing.T) {
	units := ledger.NewUnits([]ledger.Unit{
		{Kind: ledger.Action},
		{Kind: ledger.Facts},
		{Kind: ledger.Name, Path: "a.go"},
		{Kind: ledger.Text, Path: "a.go", From: 3, To: 9},
		{Kind: ledger.Content, Path: "b.bin", Unseen: "the file is binary"},
		{Kind: ledger.Content, Path: "c.png", Media: "a PNG image"},
	})
	a := ledger.NewAccount(units, nil)
	seen := &ledger.Set{}
	seen.Add(2)
	a.Examined(rule.ByModel, seen)
	a.Gap(3, "a line is too long")
	v := rule.RuleVerdict{Reasoning: "Fine."}
	a.Decide(ledger.Kept, &v)
	want := []rule.Unexamined{
		{Part: "the action", Reason: "nothing has examined it"},
		{Part: "the facts", Reason: "nothing has examined it"},
		{Part: "a.go:3-9", Reason: "a line is too long"},
		{Part: "b.bin", Reason: "the file is binary"},
	}
	if !slices.Equal(v.Unexamined, want) {
		t.Errorf("unexamined %v, want %v", v.Unexamined, want)
	}
	if !strings.Contains(v.Reasoning, "the action: nothing has examined it") || !strings.Contains(v.Reasoning, "and 1 more") || !strings.Contains(v.Reasoning, "Fine.") {
		t.Errorf("reasoning %q", v.Reasoning)
	}
	if by := a.By(2); by != rule.ByModel {
		t.Errorf("a.go was examined by %q", by)
	}
	if by := a.By(4); by != "" {
		t.Errorf("b.bin was examined by %q", by)
	}
}
