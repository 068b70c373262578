package check

import (
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

var (
	hosted   = []string{"github.com/acme/x", "https://github.com/Acme/X.git", "git@github.com:ACME/x.git", "ssh://git@github.com:22/acme/X"}
	unhosted = []string{"acme/x", "Acme/X", "/ACME/x.git", `acme\X`, "git@work:acme/x"}
)

// TestNamesAreComparedInTheirNormalForm checks that neither the spelling of the request nor that of the rule changes a result, in cel and in
// when: a rule whose when asks about its repository is never out because of a spelling.
func TestNamesAreComparedInTheirNormalForm(t *testing.T) {
	none := []string{""}
	places := func(list []string, of func(string) subject.Subject) (out []subject.Subject) {
		for _, name := range list {
			out = append(out, of(name))
		}
		return out
	}
	repository := func(name string) subject.Subject {
		return subject.Subject{Repository: name, Facts: map[string]any{"own": "ACME/x", "list": []any{"b", "Acme/X.git"}, "part": "Acme/", "n": 1.0}}
	}
	scope := func(name string) subject.Subject { return subject.Subject{Scope: name} }
	with, without, empty := places(hosted, repository), places(unhosted, repository), places(none, repository)
	payments := places([]string{"finance/payments", "Finance/Payments", "/finance//payments/", "finance.payments", `Finance\Payments`, "Finance > Payments"}, scope)
	anywhere := places(none, scope)

	const spelling = "its normal form is "
	for _, c := range []struct {
		cel      string
		subjects []subject.Subject
		want     Result
		reason   string
	}{
		// Equality, on either side, in lists, with facts, and after changes of case.
		{"subject.repository == 'Acme/X'", with, Kept, ""},
		{"subject.repository == 'Acme/X'", without, Kept, ""},
		{"'https://github.com/acme/X.git' == subject.repository", with, Kept, ""},
		{"subject.repository != 'ACME/x'", with, Broken, ""},
		{"subject.repository != 'acme/x'", without, Broken, ""},
		{"subject.repository == 'acme/xx'", with, Broken, ""},
		{"subject.repository == ''", with, Broken, ""},
		{"subject.repository == 'github.com'", without, Broken, ""},
		{"subject.repository == 'gitlab.com/acme/x'", with, Broken, ""},
		{"subject.repository == 'gitlab.com/acme/x'", without, Undecided, "does not name the host of acme/x"},
		{"subject.repository in ['b/c', 'GitHub.com/Acme/X']", with, Kept, ""},
		{"subject.repository in ['b/c', 'Acme/X']", without, Kept, ""},
		{"!(subject.repository in ['b/c', 'c/d'])", without, Kept, ""},
		{"!(subject.repository in ['b/c', 'gitlab.com/acme/x'])", with, Kept, ""},
		{"!(subject.repository in ['b/c', 'gitlab.com/acme/x'])", without, Undecided, "does not name the host"},
		{"subject.repository in {'Acme/X': 1}", with, Kept, ""},
		{"subject.repository in facts.list", with, Kept, ""},
		{"subject.repository in [facts.n, facts.own]", with, Kept, ""},
		{"facts.own == subject.repository", without, Kept, ""},
		{"subject.repository == facts.n", with, Undecided, "does not take these types"},
		{"['b', 'Acme/X'].exists(r, subject.repository == r)", without, Kept, ""},
		{"subject.repository.lowerAscii() == 'acme/X' && subject.repository.upperAscii() == 'ACME/X' && subject.repository.trim() == 'Acme/X'", with, Kept, ""},
		{"dyn(subject).repository == 'Acme/X' && dyn(subject)['repository'] == 'Acme/X'", without, Kept, ""},
		{"[subject].exists(s, s.repository == 'Acme/X')", without, Kept, ""},
		{"[1].exists(subject, subject == 1) && subject.repository == 'Acme/X'", with, Kept, ""},

		// Parts: case does not count, and nothing is false because of a spelling.
		{"subject.repository.startsWith('Acme/')", with, Kept, ""},
		{"subject.repository.startsWith('Acme/')", without, Kept, ""},
		{"subject.repository.startsWith('/acme') && subject.repository.startsWith('./acme')", without, Kept, ""},
		{"subject.repository.startsWith('/')", without, Broken, ""},
		{"subject.repository.startsWith(facts.part)", with, Kept, ""},
		{"subject.repository.startsWith('GitHub.com/Acme')", with, Kept, ""},
		{"subject.repository.startsWith('github.com/Acme')", without, Undecided, spelling + "acme/x"},
		{"subject.repository.startsWith('git.corp.example/acme')", without, Undecided, spelling + "acme/x"},
		{"subject.repository.startsWith('git.corp.example/acme')", with, Broken, ""},
		{"subject.repository.startsWith('https://github.com/Acme')", with, Undecided, spelling + "acme/x"},
		{"subject.repository.startsWith('beta/')", with, Broken, ""},
		{"subject.repository.startsWith('beta/')", without, Broken, ""},
		{"subject.repository.startsWith('.acme')", without, Broken, ""},
		{"subject.repository.endsWith('/X') && subject.repository.endsWith('x/')", with, Kept, ""},
		{"subject.repository.endsWith('X.git')", without, Undecided, spelling},
		{"subject.repository.endsWith('/y')", with, Broken, ""},
		{"subject.repository.contains('ME/X')", with, Kept, ""},
		{"subject.repository.contains('github.com')", with, Kept, ""},
		{"subject.repository.contains('github.com')", without, Undecided, spelling},
		{"!subject.repository.contains('legacy')", without, Kept, ""},
		{"subject.repository.matches('^Acme/[A-Z]$')", with, Kept, ""},
		{"subject.repository.matches('^Acme/[A-Z]$')", without, Kept, ""},
		{"matches(subject.repository, 'ACME')", without, Kept, ""},
		{"subject.repository.matches('^https://github\\\\.com/acme/')", with, Undecided, spelling},
		{"subject.repository.matches('^git\\\\.corp\\\\.example/acme')", without, Undecided, spelling},
		{"!subject.repository.matches('^beta/')", with, Kept, ""},
		{"glob(subject.repository, 'Acme/*') && glob(subject.repository, 'https://github.com/acme/*')", with, Kept, ""},
		{"glob(subject.repository, '{Acme,b}/X.git')", without, Kept, ""},
		{"glob(subject.repository, 'github.com/acme/*')", without, Undecided, "does not name the host"},
		{"glob(subject.repository, 'gitlab.com/acme/*')", with, Broken, ""},
		{"glob(subject.repository, 'b/*')", without, Broken, ""},

		// All other uses see the path, and have no result beside a text that is in no normal form.
		{"subject.repository.split('/')[0] == 'acme'", with, Kept, ""},
		{"subject.repository + '' == 'acme/x'", without, Kept, ""},
		{"subject.repository.split('/')[0] != 'Acme'", with, Undecided, "write them in lower case"},
		{"subject.repository.split('/')[0] != 'Acme'", without, Undecided, "write them in lower case"},
		{"![subject.repository].exists(r, r == 'Acme/X')", without, Undecided, "write them in lower case"},
		{"subject.?repository.orValue('') != 'Acme/X'", with, Undecided, "write them in lower case"},
		{"!(subject.repository in ['b/c']) && facts.own == 'ACME/x'", with, Kept, ""},
		{"has(subject.repository)", with, Kept, ""},

		// A subject that does not say where it belongs may belong anywhere.
		{"subject.repository == ''", empty, Kept, ""},
		{"subject.repository != '' && subject.repository.startsWith('acme/')", empty, Broken, ""},
		{"subject.repository != 'acme/x'", empty, Undecided, "subject.repository: the request does not name it"},
		{"!(subject.repository in ['acme/x'])", empty, Undecided, "does not name it"},
		{"!subject.repository.startsWith('acme/')", empty, Undecided, "does not name it"},
		{"!glob(subject.repository, 'acme/*')", empty, Undecided, "does not name it"},
		{"!subject.repository.matches('acme')", empty, Undecided, "does not name it"},
		{"subject.repository.matches('^$') && subject.repository.split('/')[0] != 'Acme'", empty, Kept, ""},

		{"subject.scope == 'Finance.Payments' && subject.scope == './finance//payments/' && 'FINANCE > payments' == subject.scope", payments, Kept, ""},
		{`subject.scope in ['x', 'Finance\\Payments']`, payments, Kept, ""},
		{"subject.scope == 'finance'", payments, Broken, ""},
		{"subject.scope.startsWith('Finance/') && subject.scope.endsWith('/PAYMENTS') && subject.scope.contains('e/P') && subject.scope.matches('^FIN')", payments, Kept, ""},
		{"subject.scope.startsWith('finance.')", payments, Undecided, "subject.scope: " + spelling + "finance/payments"},
		{"subject.scope.matches('finance[.]payments')", payments, Undecided, spelling},
		{"glob(subject.scope, 'Finance/*')", payments, Kept, ""},
		{"glob(subject.scope, 'finance.*')", payments, Undecided, spelling},
		{"!subject.scope.startsWith('ops')", payments, Kept, ""},
		{"subject.scope == ''", anywhere, Kept, ""},
		{"subject.scope != 'finance'", anywhere, Undecided, "subject.scope: the request does not name it"},
	} {
		cel := mustCompile(t, &rule.Check{CEL: c.cel})
		when := mustCompile(t, &rule.Check{When: c.cel, CEL: "false"})
		for _, s := range c.subjects {
			in := Prepare(&s)
			if out := cel.Run(t.Context(), in); out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
				t.Errorf("%s on %q %q: %v (%s), want %v with %q", c.cel, s.Repository, s.Scope, out.Result, out.Reason, c.want, c.reason)
			}
			want := map[Result]Result{Kept: Broken, Broken: NotConcerned, Undecided: Undecided}[c.want]
			if out := when.Run(t.Context(), in); out.Result != want || !strings.Contains(out.Reason, c.reason) {
				t.Errorf("when %s on %q %q: %v (%s), want %v with %q", c.cel, s.Repository, s.Scope, out.Result, out.Reason, want, c.reason)
			}
		}
	}
}

// TestNamesCostLittle checks that comparing names with hostile facts is bounded.
func TestNamesCostLittle(t *testing.T) {
	nested := "acme/%" + strings.Repeat("25", 400) + "41"
	list := make([]any, 20_000)
	for i := range list {
		list[i] = nested
	}
	s := &subject.Subject{Repository: strings.Repeat("a/", 500), Facts: map[string]any{"list": list, "long": strings.Repeat("a", 2_000)}}
	for cel, reason := range map[string]string{
		"!(subject.repository in facts.list)":                                   "too much work",
		"facts.list.all(r, subject.repository != r)":                            "too much work",
		"facts.list.all(r, facts.list.all(p, !subject.repository.contains(p)))": "too much work",
		"facts.list.all(r, !subject.repository.matches('(x+x+)+y') && r != '')": "too much work",
		"subject.repository != facts.long":                                      "too long for a name",
	} {
		out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(s))
		if out.Result == Undecided && strings.Contains(out.Reason, "was stopped") {
			continue // on a slow machine the limit of time may come first
		}
		if out.Result != Undecided || !strings.Contains(out.Reason, reason) {
			t.Errorf("%s: %v (%s)", cel, out.Result, out.Reason)
		}
	}
}
