package sandbox

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenet/internal/check"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// wider is what a wider form is for, and a text that it finds and the pattern does not.
type wider struct{ part, finds string }

func TestWiderPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]wider{
		`^\s*eval\(`:                  {{"^", "x = eval("}},
		`\Aeval\(`:                    {{"^", "x = eval("}},
		`(?m)^eval\(`:                 {{"^", "x = eval("}},
		`eval$`:                       {{"$", "evals"}},
		`eval\z`:                      {{"$", "evals"}},
		`^eval$`:                      {{"^", "x = eval"}, {"$", "evals"}},
		`(?:^|;)eval`:                 {{"^", "x = eval"}},
		`eval\([a-z]`:                 {{"[a-z]", "eval(1"}},
		`eval\([a-z]+;`:               {{"[a-z]", "eval(1;"}},
		`eval\(([a-z])+;`:             {{"[a-z]", "eval(1;"}},
		`eval\((?:[a-z],)*;`:          {{"[a-z]", "eval(1,;"}},
		`x[a-z]{2,5}y`:                {{"[a-z]{2,5}", "xabcdefgy"}, {"[a-z]", "x12y"}},
		`eval\(user\)`:                {{`eval\(user\)`, "eval(x)"}},
		`eval\(user, name\)`:          {{`eval\(user, name\)`, "eval(x, name)"}, {`eval\(user, name\)`, "eval(user, x)"}},
		`f\(ab\)cd\(ef`:               {{`f\(ab\)cd\(ef`, "f(x)cd(ef"}, {`f\(ab\)cd\(ef`, "f(ab)cd(x"}},
		`eval\(\s*user`:               {{"user", "eval( x"}},
		`\beval\s*\(us|\bexec\s*\(us`: {{`\(us`, "eval (x"}, {`\(us`, "exec (x"}},
		`(?:eval|x\[ab|run) name`:     {{`x\[ab`, "x[y name"}, {" name", "x[ab y"}},
		`\beval\s*\(|\bexec\s*\(`:     nil,
		`eval\(|subprocess`:           nil,
		`\(a\) eval`:                  nil,
		`eval\(['"]?`:                 nil,
		`eval\s{0,4}\(`:               nil,
		`^.*\beval\([^\n]*$`:          nil,
		`(`:                           nil,
	} {
		was, i := compiled(pattern), 0
		for part, form := range widerPatterns(pattern) {
			if i >= len(want) || part != want[i].part {
				t.Errorf("%s: unwanted form %s for %s", pattern, form, part)
			} else if finds := want[i].finds; !regexp.MustCompile(form).MatchString(finds) || was.MatchString(finds) {
				t.Errorf("%s: %s does not find %q, or the pattern does", pattern, form, finds)
			}
			i++
		}
		if i < len(want) {
			t.Errorf("%s has %d wider forms, want %v", pattern, i, want)
		}
	}
}

// compiled is a pattern; that of a broken one finds everything.
func compiled(pattern string) *regexp.Regexp {
	if re, err := regexp.Compile(pattern); err == nil {
		return re
	}
	return regexp.MustCompile("")
}

// Wider forms are written into the expression where the text stands, in whatever quotes it was.
func TestWiderExpressionsCompile(t *testing.T) {
	t.Parallel()
	for cel, want := range map[string]string{
		`!facts.text.matches('eval\\([^,]*\\x27')`:               `"(?-s:eval\\(.*')"`,
		`!facts.text.matches('eval\\([^,]*\x27')`:                `"(?-s:eval\\(.*')"`,
		`!facts.text.matches("eval\\([^,]*\\x22")`:               `"(?-s:eval\\(.*\")"`,
		`!facts.text.matches(r'eval\([^,]*\x27')`:                `"(?-s:eval\\(.*')"`,
		`!facts.text.matches(r"""eval\([^,]*\x22""")`:            `"(?-s:eval\\(.*\")"`,
		`bytes('a') == b'[a-z]+' || facts.text.matches('[^,]+')`: `b'[a-z]+' ||`,
		`'^'.size() == 1 && !facts.text.matches('[^,]+')`:        `'^'.size() == 1`,
	} {
		if _, err := check.Compile(&rule.Check{CEL: cel}); err != nil {
			t.Fatalf("%s: %v", cel, err)
		}
		var found []string
		for _, wider := range widerChecks(&rule.Check{CEL: cel}) {
			if _, err := check.Compile(wider); err != nil {
				t.Errorf("%s becomes %s: %v", cel, wider.CEL, err)
			}
			found = append(found, wider.CEL)
		}
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%s becomes %q; want %s in one", cel, found, want)
		}
	}
}

// A wider form that the evaluation cannot decide by does not show that the part is needed.
func TestUndecidedIsNoProof(t *testing.T) {
	t.Parallel()
	r := &rule.Rule{Check: &rule.Check{Pattern: &rule.Pattern{Regex: `eval\([a-z]`}}}
	cases := []store.TestCase{{SampleInput: "eval(x)", Expected: string(rule.Deny)}}
	for name, tt := range map[string]struct {
		trial rule.Trial
		err   error
		want  string
	}{
		"an error":        {rule.Trial{}, errors.New("no"), "[a-z]"},
		"not decided":     {rule.Trial{Raw: rule.Allow}, nil, "[a-z]"},
		"another verdict": {rule.Trial{Raw: rule.Allow, Verdict: rule.RuleVerdict{DecidedBy: rule.ByCheck}}, nil, ""},
	} {
		try := prover(func(context.Context, *rule.Rule, string, string) (rule.Trial, error) { return tt.trial, tt.err })
		if got := try.unproved(t.Context(), r, cases); got != tt.want {
			t.Errorf("%s: unproved is %q, want %q", name, got, tt.want)
		}
	}
	r.Check = &rule.Check{CEL: `nothing.matches('eval\\([a-z]')`}
	differs := prover(func(context.Context, *rule.Rule, string, string) (rule.Trial, error) {
		return rule.Trial{Raw: rule.Allow, Verdict: rule.RuleVerdict{DecidedBy: rule.ByCheck}}, nil
	})
	if got := differs.unproved(t.Context(), r, cases); got != "[a-z]" {
		t.Errorf("of a form that does not compile, unproved is %q", got)
	}
}
