package check

import (
	"strings"
	"testing"

	"tenet/internal/rule"
)

// What is wrong with an expression is said in words that need no knowledge of CEL's grammar, with its place and the text there.
func TestErrorsOfExpressionsArePlain(t *testing.T) {
	for _, tc := range []struct {
		source string
		want   []string // the issues, in order
	}{
		{"facts.amount = 5", []string{"1:14: a single = is no operator; compare with == (at `= 5`)"}},
		{"facts.a == 5\n  && facts.b = 3", []string{"2:14: a single = is no operator; compare with == (at `= 3`)"}},
		{"facts.a === 1", []string{"1:11: === is no operator; compare with == (at `= 1`)"}},
		{"facts.a => 1", []string{"1:9: => is no operator; write >= for \"at least\" and <= for \"at most\" (at `=> 1`)"}},
		{"facts.a <> 1", []string{"1:10: <> is no operator; write != (at `> 1`)"}},
		{"facts.a and facts.b", []string{"1:9: and is no operator; write && (at `and facts.b`)"}},
		{"facts.a OR facts.b", []string{"1:9: OR is no operator; write || (at `OR facts.b`)"}},
		{"facts.a & facts.b", []string{"1:9: a single & is no operator; write && for \"and\" (at `& facts.b`)"}},
		{"facts.a | facts.b", []string{"1:9: a single | is no operator; write || for \"or\" (at `| facts.b`)"}},
		{"not facts.a", []string{"1:1: not is no operator; write !(...) (at `not facts.a`)"}},
		{"facts.a not in ['x']", []string{"1:9: not is no operator; write !(a in b) for \"not in\", and !(...) otherwise (at `not in ['x']`)"}},
		{"facts.a is null", []string{"1:9: is is no operator; write == (at `is null`)"}},
		{"facts.a contains 'x'", []string{"1:9: contains is called with a dot and brackets: text.contains(...) (at `contains 'x'`)"}},
		{"facts.a like 'x'", []string{"1:9: like is no operator; write text.contains('...') or text.matches('...') (at `like 'x'`)"}},
		{"true if facts.a else false", []string{
			"1:6: if is no part of an expression; write condition ? one : other, or put the condition into when (at `if facts.a else false`)",
		}},
		{"(facts.a == 1", []string{"1:14: ) is missing: the ( at 1:1 is never closed (after `(facts.a == 1`)"}},
		{"facts.a == ')' && (facts.b == 2 && // (\n facts.c == 3", []string{"2:14: ) is missing: the ( at 1:19 is never closed (after `facts.c == 3`)"}},
		{"facts.a in ['a', 'b'", []string{"1:21: ] is missing: the [ at 1:12 is never closed (after `facts.a in ['a', 'b'`)"}},
		{"facts.a == 1)", []string{"1:13: ) closes nothing; no bracket is open here (at `)`)"}},
		{"(facts.a == )", []string{"1:13: a value is missing before ) (at `)`)"}},
		{"size(facts.a, )", []string{"1:15: a value is missing before ) (at `)`)"}},
		{"facts[]", []string{"1:7: a value is missing before ] (at `]`)"}},
		{"[1, 2)", []string{"1:6: ) does not close the [ at 1:1; ] does (at `)`)"}},
		{"facts.a == (1\n  + [')', 2)", []string{"2:12: ) does not close the [ at 2:5; ] does (at `)`)"}},
		{"(facts.a == 1) && facts.b])", []string{"1:26: ] closes nothing; no bracket is open here (at `])`)"}},
		{"facts.a > 1 ? true false", []string{"1:20: the ? has no other side; write condition ? one : other (at `false`)"}},
		{"(facts.a ? 1)", []string{"1:13: the ? has no other side; write condition ? one : other (at `)`)"}},
		{"{facts.a ? 1}", []string{"1:13: the ? has no other side; write condition ? one : other (at `}`)"}},
		{"{facts.a ? 1 : 2}", []string{"1:17: : is missing; write key: value between the brackets of the { at 1:1 (at `}`)"}},
		{"{'a' 1}", []string{"1:6: : is missing; write key: value between the brackets of the { at 1:1 (at `1}`)"}},
		{"facts.a ? {'a' 1} : 2", []string{"1:16: : is missing; write key: value between the brackets of the { at 1:11 (at `1} : 2`)"}},
		{"{'a'", []string{"1:5: : is missing; write key: value between the brackets of the { at 1:1 (after `{'a'`)"}},
		{"facts.a ==\u00a05", []string{"1:11: U+00A0 is a space that is not a plain one; type it again (at `5`)"}},
		{"facts.a ==\u200b5", []string{"1:11: U+200B is a character that does not show; delete it (at `\u200b5`)"}},
		{"facts.ä == 5", []string{"1:7: \"ä\" cannot be in a name; write facts[\"...\"] for a fact with such a name (at `ä == 5`)"}},
		{"facts.a ==", []string{"1:11: the expression ends where a value should follow (after `facts.a ==`)"}},
		{"facts.a ? 1", []string{"1:12: the ? has no other side; write condition ? one : other (after `facts.a ? 1`)"}},
		{" ", []string{"1:1: the expression is empty"}},
		{"facts.a == == 1", []string{"1:12: a value is missing before == (at `== 1`)"}},
		{"facts.a == 'x", []string{"1:12: the text has no closing quote (at `'x`)"}},
		{"facts.a == 'it's'", []string{
			"1:16: the text ends at the quote before this; for a quote within a text use the other kind of quote around it (at `s'`)",
		}},
		{`facts.a == 'x\y'`, []string{
			"1:12: \\ begins an escape in a text, and this is none; write \\\\, or r before the quote for a text without escapes (at `'x\\y'`)",
		}},
		{"facts.a == “x”", []string{"1:12: curved quotes do not mark a text; use \" or ' (at `“x”`)"}},
		{"# note", []string{"1:1: a comment begins with // (at `# note`)"}},
		{"fact.amount == 1", []string{"1:1: fact is no name here; did you mean facts? (at `fact.amount == 1`)"}},
		{"amount == 1", []string{
			"1:1: amount is no name here; expressions read subject, facts, diff, files, commands, code, and a fact is facts.amount (at `amount == 1`)",
		}},
		{"facts.a == None", []string{"1:12: None is no value; write null (at `None`)"}},
		{"files.all(f, f.path.startWith('x'))", []string{"1:21: there is no function startWith; did you mean startsWith? (at `startWith('x'))`)"}},
		{"files.all(f, f.pth == 'x')", []string{"1:15: there is no field pth here; did you mean path? (at `.pth == 'x')`)"}},
		{"subject.repo == 'x'", []string{"1:8: there is no field repo here; did you mean repository? (at `.repo == 'x'`)"}},
		{"5 < 'a'", []string{"1:3: < does not take values of the types (int, string) (at `< 'a'`)"}},
		{"'a' && true", []string{"1:1: this is of type string where bool is needed (at `'a' && true`)"}},
		// Names that are wrong are independent of one another, so all are reported.
		{"fact.a == 1 && fil.b == 2", []string{
			"1:1: fact is no name here; did you mean facts? (at `fact.a == 1 && fil.b == 2`)",
			"1:16: fil is no name here; did you mean files? (at `fil.b == 2`)",
		}},
	} {
		var problems rule.Problems
		compileExpression(&problems, "check.cel", tc.source)
		var got []string
		if err, ok := problems.Err("wrong").(*rule.Error); ok { //nolint:errorlint // not wrapped
			for _, f := range err.Fields {
				got = append(got, f.Message)
			}
		}
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%q:\n got %q\nwant %q", tc.source, got, tc.want)
		}
	}
}

// A long expression is cut in messages, whatever its end is, so a verdict that it holds does not repeat a part of it.
func TestLongExpressionsAreNotRepeated(t *testing.T) {
	long := strings.Repeat("facts.amount == 1 || ", 40) + "true"
	for source, want := range map[string]string{
		"true // ...":          "the check holds: true // ...",
		"true // a\n   // ...": "the check holds: true // a // ...",
		long:                   "the check holds",
		long + " // ...":       "the check holds",
	} {
		var problems rule.Problems
		e := compileExpression(&problems, "check.cel", source)
		if e == nil {
			t.Fatalf("%q: %v", source, problems.Err("wrong"))
		}
		if e.kept != want {
			t.Errorf("%q: %q, want %q", source, e.kept, want)
		}
	}
}
