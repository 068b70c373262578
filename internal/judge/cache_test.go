package judge_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/subject"
)

// database opens an SQLite store with the projects p and q.
func database(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func cacheOn(t testing.TB, s store.Store) *judge.Cache {
	t.Helper()
	c := judge.NewCache(judge.CacheConfig{Store: s, Verdicts: s.Verdicts})
	t.Cleanup(c.Close)
	return c
}

// hunks makes a diff of n hunks in two files; edit may change a line by its number.
func hunks(n int, edit map[int]string) string {
	var b strings.Builder
	for i := range n {
		if i == 0 || i == n/2 {
			name := fmt.Sprintf("src/part%d.go", min(i, 1))
			fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n", name)
		}
		text, ok := edit[i]
		if !ok {
			text = fmt.Sprintf("value%d := compute(%d)", i, i)
		}
		fmt.Fprintf(&b, "@@ -%d,1 +%d,%d @@ func f%d() {\n before%d()\n+%s\n", 10*i+1, 11*i+1, 1+strings.Count(text, "\n")+1, i, i, strings.ReplaceAll(text, "\n", "\n+"))
	}
	return b.String()
}

// verdicts are what a caller sees of a result, but for what says where it comes from.
func verdicts(res judge.Result) []rule.RuleVerdict {
	out := slices.Clone(res.Verdicts)
	for i := range out {
		out[i].DecidedBy = ""
	}
	return out
}

// strict denies what holds the word forbidden, cannot tell about what holds unclear, and allows the rest.
func strict(r judgetest.Rule, text string) judgetest.Entry {
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "forbidden"); at >= 0 && strings.HasSuffix(r.Statement, "0.") {
			return judgetest.Deny(strings.TrimSpace(line[at:]))
		}
	}
	if strings.Contains(text, "unclear") {
		return judgetest.Unsure()
	}
	return judgetest.Allow()
}

// A change that also makes a file executable is another one, and the model sees it.
func TestAChangeOfModeIsShownAndTakesNoStoredVerdict(t *testing.T) {
	m := judgetest.Model(func(_ judgetest.Rule, text string) judgetest.Entry {
		if strings.Contains(text, "100755") {
			return judgetest.Unsure()
		}
		return judgetest.Allow()
	})
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	const lines = "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-a\n+b\n"
	for header, want := range map[string]rule.Verdict{
		"":                                   rule.Allow,
		"old mode 100644\nnew mode 100755\n": rule.NeedsConfirmation,
	} {
		s := build(t, subject.Input{Diff: "diff --git a/run.sh b/run.sh\n" + header + lines})
		for range 2 {
			if got := j.Decide(t.Context(), s, newRules(1)).Verdicts[0].Verdict; got != want {
				t.Errorf("%q: %s, want %s", header, got, want)
			}
		}
	}
}

func TestARepeatedRequestTakesNoCall(t *testing.T) {
	db := database(t)
	for name, cache := range map[string]*judge.Cache{"memory": judge.NewCache(judge.CacheConfig{}), "store": cacheOn(t, db)} {
		for _, in := range []subject.Input{
			{Diff: hunks(5, nil)},
			{Diff: hunks(5, map[int]string{1: "forbidden(1)", 3: "x := 1\nforbidden(3)"})},
			{Diff: hunks(5, map[int]string{1: "forbidden(1)", 3: "unclear()"})},
			{Action: "do a forbidden thing"},
			{Facts: map[string]any{"state": "unclear"}},
		} {
			m := judgetest.Model(strict)
			j := judge.New(judge.Config{Model: m, Cache: cache})
			rules := newRules(12)
			s := build(t, in)
			first := j.Decide(t.Context(), s, rules)
			calls := m.Calls()
			if name == "store" { // a node with an empty memory
				cache.Flush()
				j = judge.New(judge.Config{Model: m, Cache: cacheOn(t, db)})
			}
			second := j.Decide(t.Context(), s, rules)
			if m.Calls() != calls || second.Cost.Calls != 0 || second.Cost.CachedCalls != len(rules) || len(second.Reused) < len(rules) {
				t.Errorf("%s: %d calls more, cost %+v", name, m.Calls()-calls, second.Cost)
			}
			if d := cmp.Diff(verdicts(first), verdicts(second)); d != "" {
				t.Errorf("%s: the verdicts differ: %s", name, d)
			}
			for _, v := range second.Verdicts {
				if v.DecidedBy != rule.ByCache {
					t.Errorf("%s: decided by %s", name, v.DecidedBy)
				}
			}
			was, is := coverage(s, &first), coverage(s, &second)
			if d := cmp.Diff(was, is); d != "" || len(is.Unexamined) != 0 || !slices.Equal(first.Models, second.Models) {
				t.Errorf("%s: coverage has changed: %s; models %v", name, d, second.Models)
			}
		}
	}
}

func TestOneChangedHunkOutOfFifty(t *testing.T) {
	m := judgetest.Model(strict)
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	rules := newRules(20)
	j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(50, nil)}), rules)
	before := m.Calls()
	// The change makes the hunk longer, so that every line behind it moves.
	s := build(t, subject.Input{Diff: hunks(50, map[int]string{20: "value20 := compute(21)\nforbidden(20)"})})
	res := j.Decide(t.Context(), s, rules)
	if got := m.Calls() - before; got != 2 {
		t.Errorf("%d calls about 20 rules on one hunk, want 2", got)
	}
	for _, req := range m.Requests()[before:] {
		shown := judgetest.Subject(req)
		if !strings.Contains(shown, "compute(21)") || strings.Count(shown, "@@") != 1 || !strings.Contains(req.Prompt, "Not shown, because judged before: ") {
			t.Errorf("the model is shown %s", req.Prompt)
		}
	}
	for i, v := range res.Verdicts {
		want := rule.Allow
		if i%10 == 0 {
			want = rule.Deny
		}
		if v.Verdict != want || v.DecidedBy != rule.ByModel {
			t.Errorf("rule %d: got %+v", i, v)
		}
	}
	if c, size := coverage(s, &res), s.Size(); c.HunksExamined != 50 || c.BytesExamined != size.Bytes || len(c.Unexamined) != 0 {
		t.Errorf("coverage is %+v of %d bytes", c, size.Bytes)
	}
	// With the broken hunk mended, only what the denial left open is asked: for the rules that denied, nothing else.
	before = m.Calls()
	res = j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(50, nil)}), rules)
	if m.Calls() != before || res.Verdicts[0].Verdict != rule.Allow {
		t.Errorf("the first diff again takes %d calls and gives %+v", m.Calls()-before, res.Verdicts[0])
	}
}

func TestADenialStandsWhileOtherHunksChange(t *testing.T) {
	m := judgetest.Model(strict)
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	rules := newRules(1)
	j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(6, map[int]string{1: "forbidden(1)"})}), rules)
	res := j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(6, map[int]string{0: "a\nb", 1: "forbidden(1)"})}), rules)
	if v := res.Verdicts[0]; v.Verdict != rule.Deny || len(v.Locations) != 1 || v.Locations[0].StartLine != 13 || m.Calls() != 2 {
		t.Errorf("%d calls, got %+v", m.Calls(), v)
	}
	if shown := judgetest.Subject(m.Requests()[1]); strings.Count(shown, "@@") != 1 {
		t.Errorf("the model is shown %s", shown)
	}
	// What was only shown beside a denial was not allowed by that.
	res = j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(6, map[int]string{0: "a\nb"})}), rules)
	if shown := judgetest.Subject(m.Requests()[2]); res.Verdicts[0].Verdict != rule.Allow || strings.Count(shown, "@@") != 5 || strings.Contains(shown, "+a\n") {
		t.Errorf("the model is shown %s", shown)
	}
}

// needsTests demands a test beside code, and says that this takes the whole.
func needsTests(_ judgetest.Rule, text string) judgetest.Entry {
	e := judgetest.Allow()
	e.Together = true
	if strings.Contains(text, ".go (") && !strings.Contains(text, "func Test") {
		return judgetest.Missing("func Test")
	}
	return e
}

func TestARuleAboutTheWholeIsJudgedOnTheWhole(t *testing.T) {
	file := func(name, text string) subject.InputFile { return subject.InputFile{Path: name, Content: &text} }
	code, test := file("a.go", "package a\n"), file("a_test.go", "func TestA(t *testing.T) {}\n")
	m := judgetest.Model(needsTests)
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	for name, c := range map[string]struct {
		files []subject.InputFile
		want  rule.Verdict
	}{
		"code and test":     {[]subject.InputFile{code, test}, rule.Allow},
		"code alone":        {[]subject.InputFile{code}, rule.Deny},
		"other code, test":  {[]subject.InputFile{file("a.go", "package a // 2\n"), test}, rule.Allow},
		"an emptied test":   {[]subject.InputFile{code, file("a_test.go", "package a\n")}, rule.Deny},
		"a test and nobody": {[]subject.InputFile{test, file("b.md", "# b\n")}, rule.Allow},
	} {
		for range 2 {
			if v := j.Decide(t.Context(), build(t, subject.Input{Files: c.files}), newRules(1)).Verdicts[0]; v.Verdict != c.want {
				t.Errorf("%s: got %+v", name, v)
			}
		}
	}
	if m.Calls() != 5 {
		t.Errorf("%d calls for 5 subjects", m.Calls())
	}
}

func TestWhatAHunkDoesNotTellIsAskedAboutTheWhole(t *testing.T) {
	// Alone, the hunk with unclear leaves the model unsure; beside the one with clear it allows.
	m := judgetest.Model(func(r judgetest.Rule, text string) judgetest.Entry {
		if strings.Contains(text, "unclear") && !strings.Contains(text, "clearing") {
			return judgetest.Unsure()
		}
		return judgetest.Allow()
	})
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(4, map[int]string{0: "clearing()"})}), newRules(1))
	res := j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(4, map[int]string{0: "clearing()", 3: "unclear()"})}), newRules(1))
	if res.Verdicts[0].Verdict != rule.Allow || len(res.Calls) != 2 || res.Calls[1].Purpose != judge.CallWhole || strings.Count(judgetest.Subject(m.Requests()[2]), "@@") != 4 {
		t.Errorf("got %+v by %+v", res.Verdicts[0], res.Calls)
	}
}

func TestKeptVerdictsDependOnContentAlone(t *testing.T) {
	base := func() ([]*rule.Rule, subject.Input) {
		rules := newRules(1)
		rules[0].ProjectID = "p"
		return rules, subject.Input{Diff: hunks(2, nil), Facts: map[string]any{"a": 1}}
	}
	model := func(name string) *llmtest.Fake {
		m := judgetest.Model(strict)
		m.Name = name
		return m
	}
	cache := cacheOn(t, database(t))
	ask := func(name string, rules []*rule.Rule, in subject.Input) int {
		m := model(name)
		judge.New(judge.Config{Model: m, Cache: cache}).Decide(t.Context(), build(t, in), rules)
		return m.Calls()
	}
	rules, in := base()
	if ask("fake:a", rules, in) != 1 {
		t.Fatal("nothing was asked")
	}
	same := map[string]func([]*rule.Rule, *subject.Input) string{
		"nothing":    func([]*rule.Rule, *subject.Input) string { return "fake:a" },
		"another id": func(r []*rule.Rule, _ *subject.Input) string { r[0].ID, r[0].Slug = "x", "OTHER-1"; return "fake:a" },
		"a version":  func(r []*rule.Rule, _ *subject.Input) string { r[0].Version = 7; return "fake:a" },
		"other lines": func(_ []*rule.Rule, in *subject.Input) string {
			in.Diff = strings.Replace(in.Diff, "-1,1 +1,2", "-41,1 +41,2", 1)
			return "fake:a"
		},
	}
	for name, change := range same {
		rules, in := base()
		if n := ask(change(rules, &in), rules, in); n != 0 {
			t.Errorf("%s: %d calls", name, n)
		}
	}
	other := map[string]func([]*rule.Rule, *subject.Input) string{
		"the model":     func([]*rule.Rule, *subject.Input) string { return "fake:b" },
		"the project":   func(r []*rule.Rule, _ *subject.Input) string { r[0].ProjectID = "q"; return "fake:a" },
		"the statement": func(r []*rule.Rule, _ *subject.Input) string { r[0].Statement = "Another."; return "fake:a" },
		"an exception": func(r []*rule.Rule, _ *subject.Input) string {
			r[0].Exceptions = []string{"On Sundays."}
			return "fake:a"
		},
		"an example": func(r []*rule.Rule, _ *subject.Input) string {
			r[0].Examples = []rule.Example{{Input: "x", Verdict: rule.Deny}}
			return "fake:a"
		},
		"a fact":     func(_ []*rule.Rule, in *subject.Input) string { in.Facts["a"] = 2; return "fake:a" },
		"the intent": func(_ []*rule.Rule, in *subject.Input) string { in.Intent = "a test"; return "fake:a" },
		"the path": func(_ []*rule.Rule, in *subject.Input) string {
			in.Diff = strings.ReplaceAll(in.Diff, "src/", "lib/")
			return "fake:a"
		},
		"the repository": func(_ []*rule.Rule, in *subject.Input) string { in.Repository = "acme/x"; return "fake:a" },
	}
	for name, change := range other {
		rules, in := base()
		if n := ask(change(rules, &in), rules, in); n != 1 {
			t.Errorf("%s: %d calls", name, n)
		}
	}
}

func TestWhatNothingDecidedIsNotKept(t *testing.T) {
	in := subject.Input{Diff: diff}
	for name, m := range map[string]*llmtest.Fake{
		"an error":           {Respond: func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{}, errors.New("no") }},
		"an unusable answer": judgetest.Script("nonsense"),
		"an unproven denial": judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Deny("os.RemoveAll") }),
		"a failed control":   {Respond: obedient(1)},
	} {
		cache := judge.NewCache(judge.CacheConfig{})
		for range 2 {
			before := m.Calls()
			res := judge.New(judge.Config{Model: m, Cache: cache}).Decide(t.Context(), build(t, in), newRules(1))
			wantUndecided(t, res.Verdicts[0], "")
			if m.Calls() == before || len(res.Reused) != 0 {
				t.Errorf("%s: it was kept", name)
			}
		}
	}
}

// TestASubjectThatAddressesTheJudgeIsStoredForItselfAlone has the same verdict again without a call, and stores nothing about its parts.
func TestASubjectThatAddressesTheJudgeIsStoredForItselfAlone(t *testing.T) {
	in := subject.Input{Diff: diff, Intent: attacks[0]}
	for _, says := range []judgetest.Entry{judgetest.Deny("card.Number"), judgetest.Allow()} {
		cache := judge.NewCache(judge.CacheConfig{})
		m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return says })
		j := judge.New(judge.Config{Model: m, Cache: cache})
		first := j.Decide(t.Context(), build(t, in), newRules(1)).Verdicts[0]
		calls := m.Calls()
		again := j.Decide(t.Context(), build(t, in), newRules(1))
		if v := again.Verdicts[0]; v.Verdict == rule.Allow || v.Verdict != first.Verdict || m.Calls() != calls {
			t.Errorf("%s: %d calls more, and %+v after %+v", says.Verdict, m.Calls()-calls, v, first)
		}
		if res := j.Decide(t.Context(), build(t, subject.Input{Diff: diff}), newRules(1)); len(res.Reused) != 0 {
			t.Errorf("%s: the change without its claim reuses %+v", says.Verdict, res.Reused)
		}
	}
}

func TestTheFirstVerdictOfTwoNodesStands(t *testing.T) {
	db := database(t)
	one, two := cacheOn(t, db), cacheOn(t, db)
	s, rules := build(t, subject.Input{Diff: diff}), newRules(1)
	decideWith := func(c *judge.Cache, e judgetest.Entry) rule.RuleVerdict {
		m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return e })
		return judge.New(judge.Config{Model: m, Cache: c}).Decide(t.Context(), s, rules).Verdicts[0]
	}
	// Both ask before either has stored.
	gate := make(chan struct{})
	slow := &llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		<-gate
		return judgetest.Model(allowAll).Complete(ctx, req)
	}}
	late := make(chan rule.RuleVerdict)
	go func() {
		late <- judge.New(judge.Config{Model: slow, Cache: two}).Decide(t.Context(), s, rules).Verdicts[0]
	}()
	for slow.Calls() == 0 {
	}
	if v := decideWith(one, judgetest.Deny("card.Number")); v.Verdict != rule.Deny {
		t.Fatalf("got %+v", v)
	}
	one.Flush()
	close(gate)
	<-late
	two.Flush()
	if v := decideWith(two, judgetest.Unsure()); v.Verdict != rule.Deny || v.DecidedBy != rule.ByCache {
		t.Errorf("the node that came second still says %+v", v)
	}
}

func TestAClosedCacheHasStoredEverything(t *testing.T) {
	db := database(t)
	c := judge.NewCache(judge.CacheConfig{Store: db, Verdicts: db.Verdicts})
	rules := newRules(10)
	for _, r := range rules {
		r.ProjectID = "p"
	}
	judge.New(judge.Config{Model: judgetest.Model(allowAll), Cache: c}).Decide(t.Context(), build(t, subject.Input{Diff: hunks(4, nil)}), rules)
	c.Close()
	if stats, err := db.Verdicts.Stats(t.Context(), "p"); err != nil || stats.Count != 10*5 {
		t.Errorf("stored are %+v, %v", stats, err)
	}
	c.Close()
}

func TestADatabaseThatFailsCostsCallsOnly(t *testing.T) {
	db := database(t)
	c := cacheOn(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	m := judgetest.Model(allowAll)
	j := judge.New(judge.Config{Model: m, Cache: c})
	for range 2 {
		if v := j.Decide(t.Context(), build(t, subject.Input{Diff: diff}), newRules(1)).Verdicts[0]; v.Verdict != rule.Allow {
			t.Errorf("got %+v", v)
		}
	}
	c.Flush()
	if m.Calls() != 1 {
		t.Errorf("%d calls; memory keeps verdicts by itself", m.Calls())
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := judge.NewCache(judge.CacheConfig{MaxMemory: 20_000})
	m := judgetest.Model(allowAll)
	j := judge.New(judge.Config{Model: m, Cache: c})
	for i := range 100 {
		j.Decide(t.Context(), build(t, subject.Input{Action: fmt.Sprint("action ", i)}), newRules(1))
	}
	j.Decide(t.Context(), build(t, subject.Input{Action: "action 99"}), newRules(1))
	if m.Calls() != 100 {
		t.Errorf("%d calls: the newest was forgotten", m.Calls())
	}
	j.Decide(t.Context(), build(t, subject.Input{Action: "action 0"}), newRules(1))
	if m.Calls() != 101 {
		t.Errorf("%d calls: nothing is ever forgotten", m.Calls())
	}
}

func TestWhatTheWholeLacksDeniesBesideKeptHunks(t *testing.T) {
	m := judgetest.Model(func(_ judgetest.Rule, text string) judgetest.Entry {
		if strings.Contains(text, "handler(") {
			return judgetest.Missing("authorise(")
		}
		return judgetest.Allow()
	})
	in := subject.Input{Diff: hunks(4, map[int]string{3: "handler()"})}
	fresh := judge.New(judge.Config{Model: m}).Decide(t.Context(), build(t, in), newRules(1)).Verdicts[0]
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(4, nil)}), newRules(1))
	for _, purpose := range []string{judge.CallWhole, ""} {
		s := build(t, in)
		res := j.Decide(t.Context(), s, newRules(1))
		if v := res.Verdicts[0]; v.Verdict != rule.Deny || v.Verdict != fresh.Verdict {
			t.Errorf("with three of four hunks judged before: %+v; without: %+v", v, fresh)
		}
		if purpose != "" && (len(res.Calls) != 2 || res.Calls[1].Purpose != purpose) || purpose == "" && len(res.Calls) > 0 {
			t.Errorf("calls are %+v", res.Calls)
		}
		if d := cmp.Diff(res.Verdicts, replayed(t, s, newRules(1), res).Verdicts); d != "" {
			t.Error(d)
		}
	}
}

// TestManyHunksAreRecalledInLittleMemory changes half of very many hunks. Nothing may be squared over them; time would show
// that, too, but not on every machine alike.
func TestManyHunksAreRecalledInLittleMemory(t *testing.T) {
	const n = 8_000
	diffOf := func(edited string) string {
		var b strings.Builder
		b.WriteString("--- a/x.py\n+++ b/x.py\n")
		for i := range n {
			text := "a"
			if i%2 == 0 {
				text = edited
			}
			fmt.Fprintf(&b, "@@ -%d,0 +%d @@\n+%s%d\n", i*3, i*3+1, text, i)
		}
		return b.String()
	}
	j := judge.New(judge.Config{Model: judgetest.Model(allowAll), Cache: judge.NewCache(judge.CacheConfig{})})
	j.Decide(t.Context(), build(t, subject.Input{Diff: diffOf("b")}), newRules(1))
	s := build(t, subject.Input{Diff: diffOf("c")})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := j.Decide(t.Context(), s, newRules(1))
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 || res.Verdicts[0].Verdict != rule.Allow || len(res.Reused) != n/2 || coverage(s, &res).HunksExamined != n {
		t.Errorf("%d MiB for %s with %d reused and %d hunks examined", used, res.Verdicts[0].Verdict, len(res.Reused), coverage(s, &res).HunksExamined)
	}
}

// TestAStandInsVerdictIsNotKept has the second model of a chain answer while the first cannot. Once it can, it is asked.
func TestAStandInsVerdictIsNotKept(t *testing.T) {
	answers := "weak:b"
	says := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry {
		if answers == "weak:b" {
			return judgetest.Allow()
		}
		return judgetest.Deny("value0")
	})
	m := &llmtest.Fake{Name: "strong:a,weak:b", Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		resp, err := says.Complete(ctx, req)
		resp.Model = answers
		return resp, err
	}}
	j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
	for _, c := range []struct {
		model, answered string
		want            rule.Verdict
		calls           int
	}{{"weak:b", "weak:b", rule.Allow, 1}, {"strong:a", "strong:a", rule.Deny, 1}, {"weak:b", "strong:a", rule.Deny, 0}} {
		answers = c.model
		res := j.Decide(t.Context(), build(t, subject.Input{Diff: hunks(2, nil)}), newRules(1))
		if v := res.Verdicts[0]; v.Verdict != c.want || len(res.Calls) != c.calls || !slices.Equal(res.Models, []string{c.answered}) {
			t.Errorf("with %s: %s by %v in %d calls, want %s by %s in %d", c.model, v.Verdict, res.Models, len(res.Calls), c.want, c.answered, c.calls)
		}
	}
}

// TestADenialThatTakesTheRestFallsWithIt denies a handler that nothing authorises, until another hunk does. Stored verdicts
// must not bring the denial back.
func TestADenialThatTakesTheRestFallsWithIt(t *testing.T) {
	m := judgetest.Model(func(_ judgetest.Rule, text string) judgetest.Entry {
		if strings.Contains(text, "handler(") && !strings.Contains(text, "authorise(") {
			e := judgetest.Deny("handler()")
			e.Together = true
			return e
		}
		return judgetest.Allow()
	})
	open, mended := map[int]string{0: "handler()"}, map[int]string{0: "handler()", 3: "authorise()"}
	for name, edits := range map[string][]map[int]string{
		"denied, then mended":                       {open, mended},
		"handler beside what was allowed as it was": {{3: "authorise()"}, mended},
	} {
		j := judge.New(judge.Config{Model: m, Cache: judge.NewCache(judge.CacheConfig{})})
		for _, edit := range edits {
			s := build(t, subject.Input{Diff: hunks(4, edit)})
			want := rule.Allow
			if edit[0] != "" && edit[3] == "" {
				want = rule.Deny
			}
			res := j.Decide(t.Context(), s, newRules(1))
			if v := res.Verdicts[0]; v.Verdict != want {
				t.Errorf("%s: %v: got %s (%s): %s", name, edit, v.Verdict, v.DecidedBy, v.Reasoning)
			}
			if d := cmp.Diff(res.Verdicts, replayed(t, s, newRules(1), res).Verdicts); d != "" {
				t.Error(d)
			}
		}
	}
}

// onServer is a model on a server of its own.
type onServer struct {
	*llmtest.Fake

	server string
}

func (m onServer) Server() string { return m.server }

// TestWhatAServerSaidIsNotTakenForAnother has a server that allows everything, and then an honest one under the same model name.
func TestWhatAServerSaidIsNotTakenForAnother(t *testing.T) {
	cache := cacheOn(t, database(t))
	in := subject.Input{Diff: hunks(2, map[int]string{1: "forbidden()"})}
	rules := newRules(1)
	decide := func(m llm.Model) judge.Result {
		t.Helper()
		return judge.New(judge.Config{Model: m, Cache: cache}).Decide(t.Context(), build(t, in), rules)
	}
	lenient := onServer{judgetest.Model(allowAll), "http://127.0.0.1:9/v1"}
	if v := decide(lenient).Verdicts[0]; v.Verdict != rule.Allow {
		t.Fatalf("the first server: %+v", v)
	}
	for _, other := range []llm.Model{onServer{judgetest.Model(strict), "http://127.0.0.1:8/v1"}, judgetest.Model(strict)} {
		if v := decide(other).Verdicts[0]; v.Verdict != rule.Deny || v.DecidedBy != rule.ByModel {
			t.Errorf("another server: %+v", v)
		}
	}
	again := decide(lenient)
	if v := again.Verdicts[0]; v.Verdict != rule.Allow || v.DecidedBy != rule.ByCache {
		t.Errorf("the first server again: %+v", v)
	}
	replayed := judge.Replay(t.Context(), build(t, in), rules, again.Calls, again.Reused)
	if v := replayed.Verdicts[0]; v.Verdict != rule.Allow || v.DecidedBy != rule.ByCache {
		t.Errorf("replayed: %+v", v)
	}
	if v := judge.New(judge.Config{Model: lenient, Confirm: onServer{judgetest.Model(strict), "http://127.0.0.1:8/v1"}, Cache: cache}).
		Decide(t.Context(), build(t, in), rules).Verdicts[0]; v.DecidedBy != rule.ByModel {
		t.Errorf("with another server that confirms: %+v", v)
	}
}

// duringEpoch calls a function after an epoch was read and before it is returned.
type duringEpoch struct {
	store.VerdictReader
	call  func()
	reads int
}

func (d *duringEpoch) Epoch(ctx context.Context, projectID string) (int64, error) {
	n, err := d.VerdictReader.Epoch(ctx, projectID)
	d.reads++
	if d.call != nil {
		d.call()
	}
	return n, err
}

// A deletion that another part of the process makes while an evaluation reads the epoch is followed by the next evaluation, not a while later.
func TestADeletionWhileTheEpochIsReadIsFollowed(t *testing.T) {
	db := database(t)
	reader := &duringEpoch{VerdictReader: db.Verdicts}
	cache := judge.NewCache(judge.CacheConfig{Store: db, Verdicts: reader, Follow: time.Hour})
	t.Cleanup(cache.Close)
	m := judgetest.Model(strict)
	j := judge.New(judge.Config{Model: m, Cache: cache})
	rules, s := newRules(2), build(t, subject.Input{Diff: hunks(1, nil)})
	project := rules[0].ProjectID
	j.Decide(t.Context(), s, rules)
	cache.Flush()
	reader.call = func() {
		reader.call = nil
		if err := db.Update(t.Context(), func(tx store.Tx) error {
			_, err := tx.Verdicts.Prune(t.Context(), project, store.Prune{All: true})
			return err
		}); err != nil {
			t.Error(err)
		}
		cache.Reread(project)
	}
	cache.Reread(project)
	j.Decide(t.Context(), s, rules) // reads the epoch from before the deletion
	calls := m.Calls()
	if reader.call != nil || calls != 1 {
		t.Fatalf("%d calls before the deletion, want 1", calls)
	}
	if j.Decide(t.Context(), s, rules); m.Calls() != calls+1 {
		t.Error("after the deletion the verdict comes from memory")
	}
	reads := reader.reads
	if j.Decide(t.Context(), s, rules); m.Calls() != calls+1 || reader.reads != reads {
		t.Errorf("later there are %d calls and %d readings more, want none", m.Calls()-calls-1, reader.reads-reads)
	}
}
