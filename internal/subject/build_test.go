package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/diff"
	"tenet/internal/rule"
)

const gitHeader = "diff --git a/x.go b/x.go\nindex 1111111..2222222 100644\n--- a/x.go\n+++ b/x.go\n"

func TestBuildKinds(t *testing.T) {
	facts := map[string]any{"amount": 12.5}
	for _, c := range []struct {
		in   Input
		want []Kind
	}{
		{Input{}, nil},
		{Input{Diff: " \n\t\n", Action: "  ", Facts: map[string]any{}, Intent: "a claim"}, nil},
		{Input{Diff: gitHeader + "@@ -1 +1 @@\n-a\n+b\n"}, []Kind{CodeChange}},
		{Input{Files: []InputFile{{Path: "x"}}}, []Kind{CodeChange}},
		{Input{Facts: facts}, []Kind{Facts}},
		{Input{Action: "drop the table"}, []Kind{Action}},
		{Input{Files: []InputFile{{Path: "x"}}, Facts: facts, Action: "deploy"}, []Kind{CodeChange, Facts, Action}},
	} {
		s, err := Build(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Kinds, c.want) || s.Empty() != (c.want == nil) {
			t.Errorf("%+v: kinds are %v, empty %v, want %v", c.in, s.Kinds, s.Empty(), c.want)
		}
	}
}

func TestBuildFiles(t *testing.T) {
	s, err := Build(Input{
		Diff: gitHeader + "@@ -1 +1 @@\n-a\n+b\n",
		Files: []InputFile{
			{Path: "./src//app.py", Content: new("one\r\ntwo\n\nfour")},
			{Path: `win\style.cs`, Content: new("")},
			{Path: "x.go"}, // also in the diff
			{Path: "Makefile", Content: new("all:\n")},
		},
		Action: " rollout\n", Intent: "fix", Repository: "acme/pay", Scope: "/finance/eu/",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []diff.File{
		{Path: "x.go", Change: diff.Modified, OldMode: "100644", NewMode: "100644", OldBlob: "1111111", NewBlob: "2222222", Hunks: []diff.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []diff.Line{
			{Op: diff.OpDelete, Old: 1, Text: "a"}, {Op: diff.OpAdd, New: 1, Text: "b"},
		}}}},
		{Path: "src/app.py", Change: diff.Whole, Hunks: []diff.Hunk{{NewStart: 1, NewLines: 4, Lines: []diff.Line{
			{Op: diff.OpAdd, New: 1, Text: "one"}, {Op: diff.OpAdd, New: 2, Text: "two"}, {Op: diff.OpAdd, New: 3}, {Op: diff.OpAdd, New: 4, Text: "four"},
		}}}},
		{Path: "win/style.cs", Change: diff.Whole, Others: []string{`win\style.cs`}},
		{Path: "x.go", Change: diff.Whole, Missing: true, Unseen: "its content is not given"},
		{Path: "Makefile", Change: diff.Whole, Hunks: []diff.Hunk{{NewStart: 1, NewLines: 1, Lines: []diff.Line{{Op: diff.OpAdd, New: 1, Text: "all:"}}}}},
	}
	if d := cmp.Diff(want, s.Files); d != "" {
		t.Error(d)
	}
	if s.Action != "rollout" || s.Intent != "fix" || s.Repository != "acme/pay" || s.Scope != "finance/eu" {
		t.Errorf("labels are %q %q %q %q", s.Action, s.Intent, s.Repository, s.Scope)
	}
}

func TestBuildOtherEncodings(t *testing.T) {
	s, err := Build(Input{
		Diff:  gitHeader + "@@ -1 +1 @@ f\xe9\n-caf\xe9\n+caf\xe9s\n",
		Files: []InputFile{{Path: "y", Content: new("na\xefve\n")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Files {
		for h, l := range f.NewLines {
			if strings.ToValidUTF8(l.Text+h.Section, "?") != l.Text+h.Section || l.Text != "café" && l.Text != "cafés" && l.Text != "naïve" {
				t.Errorf("line is %q in %q", l.Text, h.Section)
			}
		}
	}
}

// problems returns what Build says of each wrong field.
func problems(t *testing.T, in Input) map[string]string {
	t.Helper()
	_, err := Build(in)
	e, ok := errors.AsType[*rule.Error](err)
	if !ok || e.Code != rule.CodeInvalid || len(e.Fields) == 0 {
		t.Fatalf("error is %v, want invalid with fields", err)
	}
	out := map[string]string{}
	for _, f := range e.Fields {
		out[f.Field] += f.Message
	}
	return out
}

func TestBuildRefusesFiles(t *testing.T) {
	got := problems(t, Input{Files: []InputFile{
		{Path: "ok.go"},
		{Path: "/etc/passwd"},
		{Path: `C:\x`},
		{Path: "a/../../b"},
		{Path: `a\..\b`},
		{Path: ""},
		{Path: "./"},
		{Path: "a\x00b"},
		{Path: "a\xff"},
		{Path: "a\nb"},
		{Path: strings.Repeat("x", diff.MaxPath+1)},
		{Path: "./ok.go"},
		{Path: "bin"},
		{Path: "dir/"},
		{Path: `\\host\share`},
	}})
	for i, says := range map[int]string{
		1: "absolute", 2: "absolute", 3: "..", 4: "..", 5: "empty", 6: "empty", 7: "control", 8: "UTF-8", 9: "control", 10: "bytes",
		11: "files[0]", 13: "folder", 14: "absolute",
	} {
		if field := fmt.Sprintf("files[%d].path", i); !strings.Contains(got[field], says) {
			t.Errorf("%s: %q, want %q in it", field, got[field], says)
		}
	}
	if len(got) != 13 {
		t.Errorf("problems are %v", got)
	}
}

func TestBuildRefusesText(t *testing.T) {
	got := problems(t, Input{
		Action: "a\x00b", Intent: "\xff", Repository: strings.Repeat("r", MaxLabel+1), Scope: "a\x00",
		Diff: "no diff", Files: []InputFile{{Path: ".."}}, Facts: map[string]any{"when": make(chan int)},
	})
	for _, field := range []string{"action", "intent", "repository", "scope", "diff", "files[0].path", "facts.when"} {
		if got[field] == "" {
			t.Errorf("nothing is said of %s: %v", field, got)
		}
	}
}

func TestBuildLimits(t *testing.T) {
	oneFile := func(i int) string {
		return fmt.Sprintf("diff --git a/f%d b/f%d\nold mode 100644\nnew mode 100755\n", i, i)
	}
	var many strings.Builder
	for i := range MaxFiles + 1 {
		many.WriteString(oneFile(i))
	}
	lines, bytes := strings.Repeat("\n", MaxLines), strings.Repeat("x", MaxBytes/2+1)
	for _, c := range []struct {
		in    Input
		field string
	}{
		{Input{Files: make([]InputFile, MaxFiles+1)}, "files"},
		{Input{Diff: many.String()}, "diff"},
		{Input{Diff: "x\n" + lines}, "diff"},
		{Input{Diff: bytes + bytes}, "diff"},
		{Input{Diff: bytes, Files: []InputFile{{Path: "a", Content: &bytes}}}, "files[0].content"},
		{Input{Files: []InputFile{{Path: "a", Content: new("a\n")}, {Path: "b", Content: &lines}}}, "files[1].content"},
		{Input{Action: strings.Repeat("a", MaxAction+1)}, "action"},
		{Input{Intent: strings.Repeat("a", MaxIntent+1)}, "intent"},
	} {
		if got := problems(t, c.in); got[c.field] == "" || len(got) != 1 {
			t.Errorf("problems are %.200q, want one of %s", fmt.Sprint(got), c.field)
		}
	}
	full := Input{Diff: strings.TrimSuffix(many.String(), oneFile(MaxFiles))}
	if s, err := Build(full); err != nil || len(s.Files) != MaxFiles {
		t.Errorf("a diff of %d files is refused: %v", MaxFiles, err)
	}
	full.Files = []InputFile{{Path: "one/more"}}
	if got := problems(t, full); got["files"] == "" {
		t.Errorf("problems are %v", got)
	}
}

func TestBuildFacts(t *testing.T) {
	given := map[string]any{
		"a": json.Number("1.50"), "b": 3, "c": int64(4), "d": float32(0.5), "e": []any{nil, true, "x", map[string]any{"f": 1.0}},
	}
	s, err := Build(Input{Facts: given})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := factsJSON(s.Facts, ""), `{"a":1.5,"b":3,"c":4,"d":0.5,"e":[null,true,"x",{"f":1}]}`; got != want {
		t.Errorf("facts are %s, want %s", got, want)
	}
	if _, ok := s.Facts["b"].(float64); !ok {
		t.Errorf("b is a %T, want float64", s.Facts["b"])
	}
	given["e"].([]any)[3].(map[string]any)["f"] = "changed"
	given["a"] = 0
	if strings.Contains(factsJSON(s.Facts, ""), "changed") || s.Facts["a"] != 1.5 {
		t.Error("the subject shares facts with its caller")
	}
}

func TestBuildRefusesFacts(t *testing.T) {
	deep := any("x")
	for range MaxFactsDepth {
		deep = []any{deep}
	}
	got := problems(t, Input{Facts: map[string]any{
		"nan": math.NaN(), "big": json.Number("1e999"), "list": []any{1.0, []any{"a\x00"}}, "bad\xff": 1.0, "deep": deep,
		"typed": []string{"a"},
	}})
	for _, field := range []string{
		"facts.nan", "facts.big", "facts.list[1][0]", "facts.bad\uFFFD", "facts.typed",
		"facts.deep" + strings.Repeat("[0]", MaxFactsDepth-1),
	} {
		if got[field] == "" {
			t.Errorf("nothing is said of %s: %v", field, got)
		}
	}
	many := problems(t, Input{Facts: map[string]any{"list": make([]any, MaxFactsNodes)}})
	if len(many) != 1 {
		t.Errorf("problems are %v", many)
	}
	bad := make([]any, 1000)
	for i := range bad {
		bad[i] = "\xff"
	}
	if got := problems(t, Input{Facts: map[string]any{"list": bad}}); len(got) != maxFactProblems {
		t.Errorf("%d problems are told, want %d", len(got), maxFactProblems)
	}
}
