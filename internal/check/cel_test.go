package check

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// facts makes a subject of facts in JSON.
func facts(t testing.TB, text string) *subject.Subject {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return &subject.Subject{Kinds: []subject.Kind{subject.Facts}, Facts: m}
}

func mustCompile(t testing.TB, c *rule.Check) *Program {
	t.Helper()
	p, err := Compile(c)
	if err != nil {
		t.Fatalf("Compile(%+v): %v", *c, err)
	}
	return p
}

func TestCELOverFacts(t *testing.T) {
	const invoice = `{"amount": 12000, "currency": "EUR", "tags": ["urgent", "travel"], "approver": {"name": "Ada", "level": 3},
		"items": [{"price": 10}, {"price": 20.5}], "note": null, "paid": "2026-03-01T10:00:00Z", "odd key": "x", "flag": "yes"}`
	for _, c := range []struct {
		cel    string
		want   Result
		reason string // part of the reason
	}{
		{"facts.amount <= 20000", Kept, "facts.amount <= 20000"},
		{"facts.amount <= 10000", Broken, "facts.amount <= 10000"},
		{"facts.amount == 12000 && facts.amount == 12000.0 && facts.amount == 12000u", Kept, ""},
		{"'urgent' in facts.tags", Kept, ""},
		{"'late' in facts.tags", Broken, ""},
		{"facts.currency in ['EUR', 'USD']", Kept, ""},
		{"facts['odd key'] == 'x'", Kept, ""},
		{"facts.approver.level >= 3 && facts.approver.name.startsWith('A')", Kept, ""},
		{"facts.items.all(i, i.price < 20)", Broken, ""},
		{"facts.items.map(i, i.price) == [10, 20.5]", Kept, ""},
		{"facts.?region.orValue('EU') == 'EU'", Kept, ""},
		{"facts[?'region'].hasValue()", Broken, ""},
		{"facts.note == null && facts.amount != null", Kept, ""},
		{"timestamp(facts.paid) < timestamp('2026-04-01T00:00:00Z')", Kept, ""},
		{"timestamp(facts.paid) - timestamp('2026-02-28T10:00:00Z') == duration('24h')", Kept, ""},
		{"facts.currency.matches('^[A-Z]{3}$')", Kept, ""},
		{"glob('a/b/c.go', 'a/**/*.go') && !glob('a/b/c.go', '*.py')", Kept, ""},
		{"sets.contains(['EUR', 'USD'], [facts.currency]) && math.greatest(1, 2) == 2 && [3, 1].sort() == [1, 3]", Kept, ""},
		{"facts.currency.lowerAscii().replace('e', 'E') == 'Eur' && ['a', 'b'].join('-') == 'a-b'", Kept, ""},
		{"['a','b','a'].distinct().size() == 2 && 'a,b'.split(',') == ['a','b'] && '%s-%d'.format(['x', 3]) == 'x-3'", Kept, ""},
		{"[[1], [2, 3]].flatten() == [1, 2, 3] && 'hello'.indexOf('l') == 2", Kept, ""},
		{"facts.amount > 1 || facts.missing > 1", Kept, ""},
		{"facts.missing > 1 || facts.amount > 1", Kept, ""},
		{"facts.amount > 99999 && facts.missing > 1", Broken, ""},

		{"facts.discount <= 10", Undecided, `fact "discount" is missing`},
		{"facts.amount > 1 && facts.discount <= 10", Undecided, `fact "discount" is missing`},
		{"facts.approver.mail == 'x'", Undecided, `fact "approver.mail" is missing`},
		{"has(facts.customer.id)", Undecided, `fact "customer" is missing`},
		{"facts['other key'] == 'x'", Undecided, `fact "[\"other key\"]" is missing`},
		{"facts.items.all(i, i.discount < 20)", Undecided, `the key "discount" is missing`},
		{"facts.currency <= 10000", Undecided, `fact "currency" is a string`},
		{"facts.note > 5", Undecided, `fact "note" is null`},
		{"facts.amount * 2 > 5", Undecided, "write 2.0"},
		{"facts.currency.matches('E') && facts.amount.matches('a')", Undecided, `fact "amount" is a double`},
		{"facts.flag && true", Undecided, `fact "flag" is a string`},
		{"facts.flag", Undecided, "string"},
		{"int(facts.currency) > 5", Undecided, "type conversion error"},
		{"facts.tags[7] == 'x'", Undecided, "out of"},
		{"1 / int(facts.amount - 12000.0) == 1", Undecided, "division by zero"},
	} {
		out := mustCompile(t, &rule.Check{CEL: c.cel}).Run(context.Background(), Prepare(facts(t, invoice)))
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) || out.Reason == "" {
			t.Errorf("%s: %v (%s), want %v with %q", c.cel, out.Result, out.Reason, c.want, c.reason)
		}
		if (out.Issue != "") != (out.Result == Broken) {
			t.Errorf("%s: %v with issue %q", c.cel, out.Result, out.Issue)
		}
	}
}

func TestCELWithoutFactsIsUndecided(t *testing.T) {
	s := &subject.Subject{Kinds: []subject.Kind{subject.CodeChange}, Files: []diff.File{{Path: "a.go", Change: diff.Mode}}}
	out := mustCompile(t, &rule.Check{CEL: "facts.amount <= 10"}).Run(context.Background(), Prepare(s))
	if want := `the check could not be evaluated: fact "amount" is missing`; out.Result != Undecided || out.Reason != want {
		t.Errorf("got %v, %q; want undecided, %q", out.Result, out.Reason, want)
	}
}

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		when, facts string
		want        Result
		reason      string
	}{
		{"'amount' in facts", `{}`, NotConcerned, "'amount' in facts"},
		{"'amount' in facts", `{"amount": 5}`, Kept, ""},
		{"has(facts.amount)", `{"amount": 50}`, Broken, ""},
		{"has(facts.amount)", `{"other": 50}`, NotConcerned, ""},
		{"facts.kind == 'invoice'", `{"amount": 5}`, Undecided, `fact "kind" is missing`},
		{"facts.kind == 'invoice'", `{"amount": 5, "kind": "invoice"}`, Kept, ""},
		{"facts.kind == 'invoice'", `{"amount": 5, "kind": "order"}`, NotConcerned, ""},
		{"facts.kind", `{"amount": 5, "kind": 3}`, Undecided, "double"},
	} {
		p := mustCompile(t, &rule.Check{When: c.when, CEL: "facts.amount <= 10"})
		out := p.Run(context.Background(), Prepare(facts(t, c.facts)))
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("when %s on %s: %v (%s), want %v with %q", c.when, c.facts, out.Result, out.Reason, c.want, c.reason)
		}
	}
}

func TestBrokenCELSaysWhatAndWhy(t *testing.T) {
	p := mustCompile(t, &rule.Check{
		CEL:     "facts.amount <= 10000 || (has(facts.approval.by) && facts.approval.by in facts.managers) || 'waiver' in facts",
		Message: "Payments over 10,000 need an approval by a manager.", Fix: "Ask a manager to approve.", Decides: rule.DenyOnly,
	})
	out := p.Run(context.Background(), Prepare(facts(t, `{"amount": 12000.5, "approval": {"at": "x"}, "managers": ["<ada>", "bob"]}`)))
	want := Outcome{
		Result: Broken, Reason: out.Reason,
		Issue: "Payments over 10,000 need an approval by a manager.", Fix: "Ask a manager to approve.",
		Evidence: []rule.Evidence{
			{Kind: rule.EvidenceFact, Fact: "facts.amount", Value: "12000.5"},
			{Kind: rule.EvidenceAbsence, Fact: "facts.approval.by"},
			{Kind: rule.EvidenceFact, Fact: "facts.managers", Value: `["<ada>","bob"]`},
			{Kind: rule.EvidenceAbsence, Fact: "facts.waiver"},
		},
	}
	if out.About.Empty() || out.Seen.Empty() {
		t.Errorf("the check is about %v and has read %v", out.About, out.Seen)
	}
	out.About, out.Seen = nil, nil
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if p.Decides() != rule.DenyOnly {
		t.Errorf("Decides() = %q", p.Decides())
	}
}

func TestEvidenceIsCut(t *testing.T) {
	long := strings.Repeat("ä", 4000)
	s := facts(t, `{}`)
	s.Facts["text"] = long
	s.Facts["list"] = []any{long, long}
	out := mustCompile(t, &rule.Check{CEL: "facts.text == '' && facts.list == []"}).Run(context.Background(), Prepare(s))
	if len(out.Evidence) != 2 {
		t.Fatalf("evidence %+v", out.Evidence)
	}
	for _, e := range out.Evidence {
		if len(e.Value) > maxValue || !strings.HasSuffix(e.Value, "...") || strings.Contains(e.Value, "\uFFFD") {
			t.Errorf("%s: %d bytes: %q", e.Fact, len(e.Value), e.Value)
		}
	}
}

func TestCELErrorsHaveLineAndColumn(t *testing.T) {
	for _, c := range []struct{ cel, want string }{
		{"facts.amount <=", "1:16: the expression ends where a value should follow"},
		{"fact.amount <= 5", "1:1: fact is no name here; did you mean facts?"},
		{"true &&\n  diff.files.all(f, f.pathh != '')", "2:22: there is no field pathh here; did you mean path"},
		{"subject.kinds == 'code'", "1:15: == does not take values of the types (list(string), string)"},
		{"diff.files.all(f, f.added.all(l, l.text > 5))", "1:41: > does not take values of the types (string, int)"},
		{"subject.text", "1:1: the expression is of type string"},
		{"diff.added_lines + 1", "1:1: the expression is of type int"},
		{"'a'.matches('(')", "1:13: missing closing ): `(`"},
		{"'a'.matches('(?=x)')", "RE2 has no look-around"},
		{"'a'.matches('((a{100}){100}){100}')", "1:13: "},
		{"'a'.matches('(\\\\pL{10}){90}')", "1:13: the expression is too large"},
		{"'a'.matches(subject.text)", "1:20: the pattern of matches must be a text in quotes"},
		{"glob(subject.text, '[a')", "1:20: glob"},
		{"glob('a', subject.text)", "1:18: the pattern of glob must be a text in quotes"},
		{"diff == Diff{}", "an expression cannot make objects"},
		{"[1].all(a, [1].all(b, [1].all(c, [1].all(d, [1].all(e, true)))))", "more than 4 loops"},
		{strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500), "recursion limit"},
		{strings.Repeat("true && ", 1500) + "true", "code point"},
	} {
		_, err := Compile(&rule.Check{CEL: c.cel, When: ""})
		if err == nil {
			t.Errorf("%.80s compiled", c.cel)
			continue
		}
		var e *rule.Error
		if !errorAs(err, &e) || e.Code != rule.CodeInvalid || len(e.Fields) == 0 || e.Fields[0].Field != "check.cel" ||
			!strings.Contains(e.Fields[0].Message, c.want) {
			t.Errorf("%.80s: %v, want %q in check.cel", c.cel, err, c.want)
		}
	}
	_, err := Compile(&rule.Check{CEL: "true", When: "facts.x = 3"})
	if err == nil || !strings.Contains(err.Error(), "check.when: 1:") {
		t.Errorf("a wrong when: %v", err)
	}
	for _, c := range []*rule.Check{nil, {}, {When: "true"}, {CEL: "true", Pattern: &rule.Pattern{Regex: "a"}}} {
		if _, err := Compile(c); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("Compile(%+v) = %v, want invalid", c, err)
		}
	}
}

func errorAs(err error, target **rule.Error) bool {
	e, ok := err.(*rule.Error) //nolint:errorlint // Compile promises this very type.
	*target = e
	return ok
}

func TestBombsAreStopped(t *testing.T) {
	big := `["` + strings.Repeat(`a","`, 50_000) + `b"]`
	s := facts(t, `{"big": `+big+`, "same": `+big+`, "text": "`+strings.Repeat("a", 1<<20)+`"}`)
	in := Prepare(s)
	for _, cel := range []string{
		"lists.range(100000).all(i, lists.range(100000).all(j, i + j >= 0))",
		"lists.range(100000).all(i, facts.text.lowerAscii() != '')",
		"lists.range(100000).all(i, facts.text.size() > 5)",
		"lists.range(100000).all(i, facts.big == facts.same)",
		"lists.range(100000).all(i, facts.text + 'x' != '')",
		"lists.range(100000).all(i, facts.text.matches('(a|aa)*b') == false)",
		"lists.range(100000).all(i, !(facts.text in ['b', 'c', facts.text + 'x']))",
		"sets.contains(facts.big, facts.same)",
		"facts.big.distinct().size() > 0",
		"lists.range(100000).map(i, -i).sort()[0] < 0",
		"facts.text.replace('a', facts.text) != ''",
		"facts.text.split('').size() > 5",
		"facts.text.indexOf(facts.text + 'b') == 5",
		"lists.range(1000).map(i, facts.text).join(facts.text) != ''",
		"'%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s'.format([facts.text, facts.text, facts.text, facts.text, facts.text, facts.text," +
			"facts.text, facts.text, facts.text, facts.text, facts.text, facts.text, facts.text, facts.text, facts.text, facts.text, facts.text]) != ''",
		"[" + strings.Repeat("1,", 500) + "1].map(a, [" + strings.Repeat("a,", 500) + "a]).map(a, [" + strings.Repeat("a,", 500) +
			"a]).map(a, [" + strings.Repeat("a,", 500) + "a]).exists(x, x == [[[x[0][0][0]]]])",
		"optional.of(facts.big)" + strings.Repeat(".optMap(a, dyn([a, a, a, a, a, a, a, a]))", 3) + ".optMap(a, a == dyn([a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]])).value()",
		"{1: 2}[optional.of(dyn([1]))" + strings.Repeat(".optMap(a, dyn([a, a, a, a, a, a, a, a]))", 12) + ".value()] == 1",
		"{1: 2}[optional.of([1])" + strings.Repeat(".optMap(a, a + a + a + a + a + a + a + a)", 12) + ".value()[0]] == 1",
		"optional.of(facts.text)" + strings.Repeat(".optMap(a, a + a + a + a + a + a + a + a + a + a)", 4) + ".value() != ''",
	} {
		start := time.Now()
		p := mustCompile(t, &rule.Check{CEL: cel})
		out := p.Run(context.Background(), in)
		t.Logf("%.80s took %v: %v %s", cel, time.Since(start), out.Result, out.Reason)
		// It is some 30 ms. What is not stopped runs for hours or takes all memory, so a slow machine passes too.
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%.80s took %v", cel, took)
		}
		if out.Result == Kept {
			t.Errorf("%.80s is kept", cel)
		}
	}
}

func TestOrdinaryRulesPassOnABigDiff(t *testing.T) {
	in := Prepare(bigDiff(t))
	for _, cel := range diffRules {
		if out := mustCompile(t, &rule.Check{CEL: cel}).Run(context.Background(), in); out.Result != Kept {
			t.Errorf("%s: %v (%s), want kept", cel, out.Result, out.Reason)
		}
	}
}
