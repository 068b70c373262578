package norm_test

import (
	"slices"
	"strings"
	"testing"

	"tenet/internal/norm"
	"tenet/internal/rule"
)

// A statement that forbids in its own words needs no MUST_NOT to forbid; one that names or demands an act does.
func TestStated(t *testing.T) {
	for statement, want := range map[string]rule.Modality{
		"Credentials must not be committed.":                           rule.Must,
		"Employees may not share passwords.":                           rule.Must,
		"Never log passwords.":                                         rule.Must,
		"Do not use eval.":                                             rule.Must,
		"No secrets in the repository.":                                rule.Must,
		"Calling eval is forbidden.":                                   rule.Must,
		"Roles must name verbs and must not grant all.":                rule.Must,
		"If a build fails, its artefacts must not be published.":       rule.Must,
		"Log passwords.":                                               rule.MustNot,
		"Deploy without a review.":                                     rule.MustNot,
		"Backups must be kept.":                                        rule.MustNot,
		"Log keys that must not be shared.":                            rule.MustNot,
		"Log keys users must not see.":                                 rule.MustNot, // in doubt
		"Controls the profile. A container must not choose its own.":   rule.MustNot,
		"Use `must not` in a statement.":                               rule.MustNot,
		"":                                                             rule.MustNot,
		"Use the withdrawn reference amber anchor 1000.":               rule.MustNot,
		"Show people who may not enter, and what they must never see.": rule.MustNot,
	} {
		if got := norm.Stated(statement, rule.MustNot); got != want {
			t.Errorf("%q under MUST_NOT is %s, want %s", statement, got, want)
		}
		for _, m := range []rule.Modality{rule.Must, rule.Should, rule.May, rule.Info} {
			if got := norm.Stated(statement, m); got != m {
				t.Errorf("%q under %s is %s", statement, m, got)
			}
		}
	}
}

// Bearer, act, polarity and condition are the same for all wordings of a norm.
func TestNormalForm(t *testing.T) {
	type form struct {
		statement string
		modality  rule.Modality
	}
	for _, same := range [][]form{
		{{"Employees must not share passwords.", rule.Must}, {"Employees must not share passwords.", rule.MustNot}, {"Employees may not share passwords.", rule.MustNot}, {"Employees must share passwords.", rule.MustNot}},
		{{"Log passwords.", rule.MustNot}, {"Never log passwords.", rule.Must}, {"Do not log passwords.", rule.MustNot}},
		{{"Log failed logins.", rule.Must}, {"Always log failed logins.", rule.Must}, {"Failed logins are to be logged.", rule.Must}},
		{{"When a build fails, it must not be deployed.", rule.Must}, {"When a build fails, it must never be deployed.", rule.MustNot}},
	} {
		first := norm.Read(same[0].statement, same[0].modality)
		if len(first) != 1 {
			t.Fatalf("%q has %d clauses", same[0].statement, len(first))
		}
		for _, f := range same[1:] {
			got := norm.Read(f.statement, f.modality)
			if len(got) != 1 || got[0].Negative != first[0].Negative || got[0].Force != first[0].Force ||
				!slices.Equal(got[0].Words().Minus(nil), first[0].Words().Minus(nil)) {
				t.Errorf("%q as %s and %q as %s differ:\n%+v\n%+v", same[0].statement, same[0].modality, f.statement, f.modality, first, got)
			}
		}
	}
	c := norm.Read("When a payment is above 1,000 EUR, the requester must not approve it.", rule.Must)[0]
	if !c.Negative || c.Head != "approv" || !c.Subject["request"] || !c.Bounded(norm.InCondition) || !c.Condition["pay"] && !c.Condition["payment"] {
		t.Errorf("%+v", c)
	}
}

// The words that demand or forbid are found where they are in the statement.
func TestOwnWords(t *testing.T) {
	for statement, want := range map[string]string{
		"Credentials must never be committed.": "must never be",
		"“Keys” must not leak":                 "must not",
		"Log failed logins.":                   "",
		"A reviewer is required.":              "is required",
	} {
		c := norm.Read(statement, rule.Must)
		if got := statement[c[0].Own.From:c[0].Own.To]; got != want {
			t.Errorf("%q: %q, want %q", statement, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "must", "`", "A must not B; C should not D.", "don't — never…", "no no no", "\xff must \xff", "that must not", "must 1,000 % of `x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range norm.Read(s, rule.MustNot) {
			if c.Own.From < 0 || c.Own.From > c.Own.To || c.Own.To > len(s) || strings.Contains(s[c.Own.From:c.Own.To], "\n\n") {
				t.Errorf("%q: %+v", s, c.Own)
			}
		}
		if m := norm.Stated(s, rule.MustNot); m != rule.MustNot && m != rule.Must {
			t.Error(m)
		}
	})
}
