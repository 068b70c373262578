package contradict_test

import (
	"strings"
	"testing"

	"tenet/internal/conflict/contradict"
	"tenet/internal/norm"
	"tenet/internal/rule"
)

// marked writes a statement with its marked words in brackets.
func marked(statement string, spans []norm.Span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(statement[at:s.From] + "[" + statement[s.From:s.To] + "]")
		at = s.To
	}
	return b.String() + statement[at:]
}

// The words that clash are marked in both statements.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		a, b         string
		first, other rule.Modality
	}{
		{"Invoices must be paid [within 14 days].", "Invoices must be paid in [at most 30 days].", rule.Must, rule.Must},
		{"[Log] failed logins.", "Failed logins [must not be] logged.", rule.Must, rule.Must},
		{"Failed logins [must be] logged.", "[Never] log failed logins.", rule.Must, rule.Must},
		{"[Keep] backups.", "[Keep] backups.", rule.Must, rule.MustNot},
		{"Payments [above 10,000 EUR] need a second approver.", "Payments [above 5,000 EUR] need a second approver.", rule.Must, rule.Must},
		{"Indent Python code with [tabs].", "Indent Python code with [spaces].", rule.Must, rule.Must},
		{"“Passwörter” aside, tokens [must be] stored.", "“Passwörter” aside, tokens [must not be] stored.", rule.Must, rule.Must},
		{"Discounts must not [exceed 20 %].", "Discounts may not be [higher than 15 %].", rule.Must, rule.Must},
		// No test finds these: the words that differ are marked.
		{"Reports must be [signed] by the [auditor].", "Reports must be [kept] in the [archive].", rule.Must, rule.Must},
		{"Visitors wear a badge.", "Databases have a replica.", rule.Must, rule.Must},
		{"", "Databases have a replica.", rule.Must, rule.Must},
	} {
		plain := strings.NewReplacer("[", "", "]", "")
		a, b := &rule.Rule{Statement: plain.Replace(c.a), Modality: c.first}, &rule.Rule{Statement: plain.Replace(c.b), Modality: c.other}
		marks, back := contradict.Marks(a, b), contradict.Marks(b, a)
		if got := marked(a.Statement, marks[0]); got != c.a {
			t.Errorf("%q, want %q", got, c.a)
		}
		if got := marked(b.Statement, marks[1]); got != c.b {
			t.Errorf("%q, want %q", got, c.b)
		}
		if marked(a.Statement, back[1]) != marked(a.Statement, marks[0]) || marked(b.Statement, back[0]) != marked(b.Statement, marks[1]) {
			t.Errorf("the other way round: %v, %v", marks, back)
		}
	}
}

// All contradictions that the tests find have marks on both sides.
func TestMarksOfPairs(t *testing.T) {
	for part, pairs := range readPairs(t) {
		for _, p := range pairs {
			if p.Want == "none" || p.Missed {
				continue
			}
			a, b := p.A.rule(), p.B.rule()
			marks := contradict.Marks(a, b)
			for i, r := range []*rule.Rule{a, b} {
				if len(marks[i]) == 0 {
					t.Errorf("%s: nothing is marked in %q (with %q and %q)", part, r.Statement, a.Statement, b.Statement)
				}
				t.Log(marked(r.Statement, marks[i]))
			}
		}
	}
}
