package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

func TestRunStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client has gone"))
	for _, c := range []rule.Check{{CEL: "true"}, {CEL: "facts.list.all(i, true)"}, {Pattern: &rule.Pattern{Regex: "a"}}} {
		if out := mustCompile(t, &c).Run(ctx, Prepare(diffSubject(t, shopDiff))); out.Result != Undecided {
			t.Errorf("%+v: %v (%s), want undecided", c, out.Result, out.Reason)
		}
	}
}

// stopping is a context that ends while a check runs: on the so-manieth question after its end.
type stopping struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (s *stopping) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestPatternStopsOnTheWay(t *testing.T) {
	s := bigDiff(t)
	for _, p := range []rule.Pattern{{Regex: `\d\w{3}`}, {Regex: `\d\w{3}`, Multiline: true}, {Regex: `return[0-9]`}} {
		prog := mustCompile(t, &rule.Check{Pattern: &p})
		in := Prepare(s)
		if out := prog.Run(t.Context(), in); out.Result != Kept {
			t.Fatalf("%s: %v (%s)", p.Regex, out.Result, out.Reason)
		}
		if out := prog.Run(&stopping{Context: t.Context(), left: 20}, in); out.Result != Undecided {
			t.Errorf("%s: %v (%s), want undecided", p.Regex, out.Result, out.Reason)
		}
	}
}

func TestCELOverDiffAndFiles(t *testing.T) {
	content := "a = 1\nb = 2\n"
	s, err := subject.Build(subject.Input{
		Diff: shopDiff, Files: []subject.InputFile{{Path: "conf.ini", Content: &content}, {Path: "gone.ini"}},
		Action: "deploy", Intent: "safe", Repository: "acme/shop", Scope: "shop/web",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cel    string
		want   Result
		reason string
	}{
		{"size(diff.files) == 2 && diff.files.map(f, f.path) == ['shop/cart.py', 'web/app.js'] && files.size() == 2", Kept, ""},
		{"diff.added_lines == 5 && diff.deleted_lines == 1 && files.size() == 2", Kept, ""},
		{"diff.files[0].change == 'modified' && diff.files[0].old_path == '' && !diff.files[0].binary && files.size() == 2", Kept, ""},
		{`diff.files[0].removed_text == "    return eval(items)" && files.size() == 2`, Kept, ""},
		{"diff.files[1].added.map(l, l.line) == [2, 42, 43] && diff.files.exists(f, f.lines.exists(l, l.line == 44 && l.text == '  }')) && files.size() == 2", Kept, ""},
		{`diff.files[1].added_text == "eval(a)\n  } catch (e) {\n" && diff.files[1].added[0].text == 'eval(a)' && files.size() == 2`, Kept, ""},
		{"files[0].path == 'conf.ini' && !files[0].missing && files[1].missing", Kept, ""},
		{"files[0].content == 'a = 1\\nb = 2'", Undecided, "look at diff.files too"},
		{"files[0].content == 'a = 1\\nb = 2' && diff.files.size() == 2", Kept, ""},
		{"files.all(f, f.missing || !f.content.contains('password')) && diff.files.size() == 2", Kept, ""},
		{"files.all(f, !f.content.contains('password'))", Undecided, "gone.ini: its content is not given"},
		{"!subject.text.contains('password')", Undecided, "gone.ini: its content is not given"},
		{"subject.kind == 'code_change' && 'action' in subject.kinds && subject.action == 'deploy' && subject.intent == 'safe'", Kept, ""},
		{"subject.repository == 'acme/shop' && subject.scope == 'shop/web'", Kept, ""},
		{"[dyn(diff.files[0]), 1][0].path == 'shop/cart.py'", Kept, ""},
		{"[dyn(diff.files[0]), 1][0].nothing == 'x'", Undecided, "nothing"},
		{"diff.files[0] == diff.files[0] && diff.files[0] != diff.files[1]", Kept, ""},
		{"diff.files[5].path == 'x'", Undecided, "out of"},
	} {
		out := mustCompile(t, &rule.Check{CEL: c.cel}).Run(t.Context(), Prepare(s))
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%s: %v (%s), want %v with %q", c.cel, out.Result, out.Reason, c.want, c.reason)
		}
	}
	text := mustCompile(t, &rule.Check{CEL: `subject.text == "deploy\na = 1\nb = 2"`})
	s, err = subject.Build(subject.Input{Files: []subject.InputFile{{Path: "conf.ini", Content: &content}}, Action: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	if out := text.Run(t.Context(), Prepare(s)); out.Result != Kept {
		t.Errorf("subject.text: %v (%s)", out.Result, out.Reason)
	}
}

func TestCELDoesNotPassWhatItDoesNotLookAt(t *testing.T) {
	content := "eval(x)"
	whole, err := subject.Build(subject.Input{Files: []subject.InputFile{{Path: "a.py", Content: &content}}})
	if err != nil {
		t.Fatal(err)
	}
	diff := diffSubject(t, shopDiff)
	for _, c := range []struct {
		cel  string
		s    *subject.Subject
		want Result
	}{
		{"diff.files.all(f, !f.added_text.contains('eval('))", whole, Undecided},
		{"files.all(f, !f.content.contains('eval('))", diff, Undecided},
		{"diff.files.all(f, !f.added_text.contains('eval(')) && files.all(f, !f.content.contains('eval('))", whole, Broken},
		{"!subject.text.contains('eval(')", whole, Broken},
		{"!subject.text.contains('eval(')", diff, Broken},
	} {
		if out := mustCompile(t, &rule.Check{CEL: c.cel}).Run(t.Context(), Prepare(c.s)); out.Result != c.want {
			t.Errorf("%s: %v (%s), want %v", c.cel, out.Result, out.Reason, c.want)
		}
	}
}

// sameUnits compares sets of units.
var sameUnits = cmp.Comparer(func(a, b *ledger.Set) bool {
	return (a == nil) == (b == nil) && slices.Equal(slices.Collect(a.All), slices.Collect(b.All))
})

// TestConcurrentRuns has programs and inputs used by many at once give what they give alone; the race detector looks on.
func TestConcurrentRuns(t *testing.T) {
	content := "x"
	s, err := subject.Build(subject.Input{
		Diff: shopDiff, Files: []subject.InputFile{{Path: "a"}, {Path: "b", Content: &content}}, Action: "eval(1)",
		Facts: map[string]any{"amount": 5.0, "list": []any{1.0, "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var programs []*Program
	for _, cel := range []string{
		"facts.amount < 3", "facts.list.all(i, i < 3)", "facts.amount.matches('a')", "facts.missing == 1", "subject.text == ''",
		"diff.files.all(f, f.added.all(l, l.line < 40)) && files.size() == 2", "files.all(f, f.content == '')", "facts.list.sort() == []",
	} {
		programs = append(programs, mustCompile(t, &rule.Check{CEL: cel}))
	}
	for _, p := range []rule.Pattern{{Regex: `(?i)EVAL\(`}, {Regex: `\d`}, {Regex: `\)\n`, Multiline: true}} {
		programs = append(programs, mustCompile(t, &rule.Check{Pattern: &p}))
	}
	var want []Outcome
	for _, p := range programs {
		want = append(want, p.Run(t.Context(), Prepare(s)))
	}
	in := Prepare(s)
	errs := make(chan string, 1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, p := range programs {
				if diff := cmp.Diff(want[i], p.Run(t.Context(), in), sameUnits); diff != "" {
					errs <- fmt.Sprintf("program %d (-alone +together)\n%s", i, diff)
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		t.Error(e)
	}
}
