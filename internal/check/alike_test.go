package check

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/rule"
)

// TestTextsThatLookAlikeHaveNoResult has a fact that people and many programs take for the text that a rule names.
func TestTextsThatLookAlikeHaveNoResult(t *testing.T) {
	for _, c := range []struct {
		role string
		want Result
	}{
		{"admin", Broken},
		{"user", Kept},
		{"", Kept},
		{"Admin", Kept}, // letter case is for the rule to say
		{"administrator", Kept},
		{"аdmin", Kept}, // a letter of another alphabet is another name
		{"admin ", Undecided},
		{"\\tadmin\\n", Undecided},
		{"adm\u200bin", Undecided},
		{"\ufeffadmin", Undecided},
		{"\uff41dmin", Undecided},
		{`\\u0061dmin`, Undecided},
		{"user ", Kept},
		{"us\u200ber", Kept},
	} {
		s := facts(t, `{"role": "`+c.role+`", "other": "admin", "list": ["x", "admin"], "map": {"k": "admin"}}`)
		for _, cel := range []string{
			"facts.role != 'admin'",
			"!(facts.role in ['root', 'admin'])",
			"facts.role != facts.other",
			"!(facts.role in facts.list)",
			"!facts.list.exists(e, e == facts.role)",
			"facts.map != {'k': facts.role}",
			"!sets.contains(facts.list, [facts.role])",
			"!(facts.role == 'admin') && !(facts.role == 'root')",
		} {
			out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(s))
			if out.Result != c.want {
				t.Errorf("%s of %q: %v (%s), want %v", cel, c.role, out.Result, out.Reason, c.want)
			}
			if out.Result == Undecided && !strings.Contains(out.Reason, "may mean the same") {
				t.Errorf("%s of %q: because %s", cel, c.role, out.Reason)
			}
		}
	}
}

// TestTextsAreReadAsFarAsTheyAreEqual compares long texts often, which must not take long.
func TestTextsAreReadAsFarAsTheyAreEqual(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	began := time.Now()
	for range 100_000 {
		if lookAlike("a", long) || lookAlike(long, "aab") {
			t.Fatal("they are taken for alike")
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for _, c := range [][2]string{{"ab", "a b"}, {"ab", "abc"}, {"", "a"}, {`a\`, "a"}} {
		if lookAlike(c[0], c[1]) || lookAlike(c[1], c[0]) {
			t.Errorf("%q and %q are alike", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{"", "  \u200b "}, {" \u200b a", "a"}, {"a\u200b b", "a b \n"}, {`\u0061b`, "ab"}, {"\ufb01x", "fix"}} {
		if !lookAlike(c[0], c[1]) || !lookAlike(c[1], c[0]) {
			t.Errorf("%q and %q are not alike", c[0], c[1])
		}
	}
}

// TestFactsWhoseNamesAreAlikeAreNotKnown has a second fact that programs without regard to letter case may read.
func TestFactsWhoseNamesAreAlikeAreNotKnown(t *testing.T) {
	for _, c := range []struct {
		facts string
		want  Result
	}{
		{`{"amount": 5, "pay": {"amount": 5}}`, Kept},
		{`{"amount": 5, "amounts": 5000, "pay": {"amount": 5, "a_mount": 5000}, "n": [{"x": 1, "y": 1}]}`, Kept},
		{`{"amount": 5000, "pay": {"amount": 5}}`, Broken},
		{`{"amount": 5, "Amount": 5000, "pay": {"amount": 5}}`, Undecided},
		{`{"amount": 5, "amount ": 5000, "pay": {"amount": 5}}`, Undecided},
		{`{"amount": 5, "am\u200bount": 5000, "pay": {"amount": 5}}`, Undecided},
		{`{"amount": 5, "pay": {"amount": 5, "AMOUNT": 5000}}`, Undecided},
		{`{"amount": 5, "pay": {"amount": 5}, "PAY": {"amount": 5000}}`, Undecided},
		{`{"amount": 5000, "pay": {"amount": 5, "Amount": 5}}`, Broken}, // the other fact breaks it
		{`{"amount": 5, "pay": {"amount": 5}, "Path": "/a", "PATH": "/b", "l": [{"k": 1, "K": 2}]}`, Kept},
	} {
		for _, cel := range []string{"facts.amount <= 1000 && facts.pay.amount <= 1000", "facts['amount'] <= 1000 && int(facts.pay.amount) <= 1000"} {
			out := mustCompile(t, &rule.Check{CEL: cel}).Run(t.Context(), Prepare(facts(t, c.facts)))
			if out.Result != c.want {
				t.Errorf("%s of %s: %v (%s), want %v", cel, c.facts, out.Result, out.Reason, c.want)
			}
			if out.Result == Undecided && !strings.Contains(out.Reason, "is also named") {
				t.Errorf("%s of %s: because %s", cel, c.facts, out.Reason)
			}
		}
	}
}
