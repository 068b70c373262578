package norm_test

import (
	"math"
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

// What need not be is a permission, people who may act alone are kept apart, and quantities have one form for many wordings.
func TestMeanings(t *testing.T) {
	clause := func(s string) norm.Clause {
		t.Helper()
		list := norm.Read(s, rule.Must)
		if len(list) == 0 {
			t.Fatalf("%q has no clause", s)
		}
		return list[0]
	}
	for _, s := range []string{
		"Invoices do not need an approval.", "Invoices need no approval.", "No approval is required for invoices.", "Invoices require no approval.", "An approval of invoices is optional.",
		"Approvals of invoices are not mandatory.", "Invoices need not be approved.",
	} {
		if c := clause(s); !c.Waives || c.Force != norm.Permit || !c.Negative {
			t.Errorf("%q: waives %v, force %d, negative %v", s, c.Waives, c.Force, c.Negative)
		}
	}
	for _, s := range []string{"Invoices need an approval.", "Invoices must not be approved.", "An approval is mandatory.", "Invoices require two approvals."} {
		if c := clause(s); c.Waives || c.Force != norm.Require {
			t.Errorf("%q: waives %v, force %d", s, c.Waives, c.Force)
		}
	}
	for s, want := range map[string]norm.Interval{
		"Incidents must be reported within 3 days.":            {Lo: math.Inf(-1), Hi: 3 * 86400},
		"Employees have 3 days to report incidents.":           {Lo: math.Inf(-1), Hi: 3 * 86400},
		"Log files must be deleted after 30 days.":             {Lo: math.Inf(-1), Hi: 30 * 86400},
		"Keep log files for a year.":                           {Lo: 365 * 86400, Hi: 365 * 86400},
		"Meetings must start before 9:30.":                     {Lo: math.Inf(-1), Hi: 570, HiOpen: true},
		"Meetings must start at 2pm.":                          {Lo: 840, Hi: 840},
		"Reports are sent after the 5th of the month.":         {Lo: 5, LoOpen: true, Hi: math.Inf(1)},
		"Wages are paid on the 15th.":                          {Lo: 15, Hi: 15},
		"Wages are paid on the last working day of the month.": {Lo: 25, Hi: 31},
		"Deployments on weekends are prohibited.":              {Lo: 6, Hi: 7},
		"Deployments must be made on working days.":            {Lo: 1, Hi: 5},
		"Releases require one reviewer.":                       {Lo: 1, Hi: 1},
		"Complaints must be answered within a fortnight.":      {Lo: math.Inf(-1), Hi: 14 * 86400},
	} {
		if c := clause(s); len(c.Quantities) != 1 || c.Quantities[0].Interval != want {
			t.Errorf("%q: %+v, want %+v", s, c.Quantities, want)
		}
	}
	if c := clause("Only managers may sign contracts."); !c.Only || c.Passive {
		t.Errorf("%+v", c)
	}
	list := norm.Read("Backups may be stored unencrypted.", rule.May)
	if len(list) != 2 || list[1].Head != norm.Key("encrypt") || !list[1].Negative || list[1].Force != norm.Permit {
		t.Errorf("%+v", list)
	}
}

// A clause that says who does what has its verb as head, and who does it as subject; an order has its own first word.
func TestWhoDoesWhat(t *testing.T) {
	for statement, want := range map[string][2]string{ // head, and a word of the subject
		"Suppliers wait 60 days for payment.":              {"wait", "supplier"},
		"A guest signs the book at the desk.":              {"sign", "guest"},
		"Only the officer answers the requests.":           {"answer", "officer"},
		"Employees on probation work on site.":             {"work", "employee"},
		"Database migrations run at night.":                {"run", "migration"},
		"Employees who handle cards take a course.":        {"take", "employee"},
		"Squash commits before a merge.":                   {"squash", ""},
		"Cache answers of the server.":                     {"cache", ""},
		"Write the tests first.":                           {"write", ""},
		"Visitors are free to walk around.":                {"walk", "visitor"},
		"Developers are welcome to use their own machine.": {"use", "developer"},
	} {
		list := norm.Read(statement, rule.Must)
		if len(list) != 1 || list[0].Head != norm.Key(want[0]) || len(list[0].Subject) > 0 != (want[1] != "") || want[1] != "" && !list[0].Subject[norm.Key(want[1])] {
			t.Errorf("%q: %+v, want %v", statement, list, want)
		}
	}
	for statement, want := range map[string]norm.Force{
		"Users are free to leave.": norm.Permit, "Global variables are fine in scripts.": norm.Permit, "Delivery is free of charge.": norm.Require,
	} {
		if c := norm.Read(statement, rule.Must)[0]; c.Force != want || c.Negative {
			t.Errorf("%q: force %d, negative %v", statement, c.Force, c.Negative)
		}
	}
	// The rest of a sentence whose subject is elsewhere is no demand.
	if list := norm.Read("We may direct that a rule: (a) does not apply to a person.", rule.Must); len(list) != 1 || list[0].Negative {
		t.Errorf("%+v", list)
	}
	if c := norm.Read("Units are only offered by means of a placement.", rule.Must)[0]; len(c.Agent) > 0 {
		t.Errorf("%+v", c)
	}
	// A thing that is named by what it is not denies nothing.
	if list := norm.Read("Sessions expire after 15 minutes of inactivity.", rule.Must); len(list) != 1 || list[0].Negative {
		t.Errorf("%+v", list)
	}
}

func TestOrder(t *testing.T) {
	for statement, want := range map[string][2]string{
		"Migrate the database before the release.":            {"databas migrat", "deploy"},
		"Migrate the database prior to the release.":          {"databas migrat", "deploy"},
		"Migrate the database after the release is complete.": {"deploy", "databas migrat"},
		"The database is migrated once the release is done.":  {"deploy", "databas migrat"},
		"Before the release, migrate the database.":           {"databas migrat", "deploy"},
		"Release first, then migrate the database.":           {"deploy", "databas migrat"},
		"Ask the owner at least 2 days before the release.":   {},
		"Sessions expire after 15 minutes.":                   {},
		"Ask once a year.":                                    {},
		"Then migrate the database.":                          {},
		"Write tests.":                                        {},
	} {
		o, ok := norm.Read(statement, rule.Must)[0].Order()
		if got := [2]string{strings.Join(o.First.Minus(nil), " "), strings.Join(o.Then.Minus(nil), " ")}; ok != (want[0] != "") || ok && got != want {
			t.Errorf("%q: %v %q, want %q", statement, ok, got, want)
		}
	}
}
