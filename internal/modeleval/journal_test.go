package modeleval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tenet/internal/modeleval"
	"tenet/internal/rule"
)

func open(t *testing.T, path, model, prompt string) *modeleval.Journal {
	t.Helper()
	j, err := modeleval.OpenJournal(path, model, prompt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func TestRunsGoOnWhereTheyWereBrokenOff(t *testing.T) {
	by := map[string]string{"c0": "DA", "c1": "AA", "c2": "XN", "c3": "DD"}
	cases := labelled(t, "DADD")
	for i := range cases {
		cases[i].Rule.Statement = "Statement of " + cases[i].ID + "."
	}
	still := func() time.Time { return time.Unix(0, 0) } // each judgement takes no time
	o := modeleval.Options{Repeat: 2, Others: 2, Parallel: 1, Now: still}
	whole := run(t, &script{by: by}, cases, o)

	path := filepath.Join(t.TempDir(), "journal.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	breaking := &script{by: by, hook: func() {
		if asked++; asked == 5 {
			cancel()
		}
	}}
	o.Journal = open(t, path, "fake:model", "v1")
	if _, err := modeleval.Run(ctx, breaking, cases, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("a run that is broken off: %v", err)
	}
	// The machine stops in the midst of a line.
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(written, `{"key":"c1`...), 0o600); err != nil {
		t.Fatal(err)
	}

	second := &script{by: by, calls: map[string]int{"c0": 1, "c1": 1, "c2": 1, "c3": 1}} // it goes on with the second answer of each
	o.Journal = open(t, path, "fake:model", "v1")
	if n := o.Journal.Len(); n != 4 {
		t.Fatalf("the journal holds %d answers, want the 4 before the run was broken off", n)
	}
	steps := 0
	o.Progress = func(done, _ int) { steps = done }
	resumed := run(t, second, cases, o)
	if !reflect.DeepEqual(resumed, whole) {
		t.Errorf("after going on\n%+v\nwant as in one run\n%+v", resumed, whole)
	}
	if steps != 8+3 {
		t.Errorf("progress ends at %d, want 11", steps)
	}
	again := &script{by: map[string]string{}} // it would panic if asked
	o.Journal = open(t, path, "fake:model", "v1")
	if got := run(t, again, cases, o); !reflect.DeepEqual(got, whole) || len(again.calls) != 0 {
		t.Errorf("a third run asks %v", again.calls)
	}
}

func TestJournalsOfOthersAreRefusedAndKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.jsonl")
	_ = open(t, path, "fake:model", "v1").Close()
	for name, tt := range map[string]struct{ content, model, prompt, want string }{
		"another model":         {"", "fake:other", "v1", `of the model "fake:model" and prompts v1`},
		"other prompts":         {"", "fake:model", "v2", "prompts v1"},
		"a text":                {"dear diary\n", "fake:model", "v1", "no journal"},
		"a text without an end": {"dear diary", "fake:model", "v1", "no journal"},
		"JSON without an end":   {`{"a":1}`, "fake:model", "v1", "no journal"},
		"a report":              {"{\n \"version\": 1\n}\n", "fake:model", "v1", "no journal"},
		"a line that is broken": {`{"journal":1,"model":"fake:model","prompt":"v1"}` + "\nx\n", "fake:model", "v1", "line 2"},
		"a journal of tomorrow": {`{"journal":9,"model":"fake:model","prompt":"v1"}` + "\n", "fake:model", "v1", "version 9"},
	} {
		p := path
		if tt.content != "" {
			p = filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.WriteFile(p, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		_, err = modeleval.OpenJournal(p, tt.model, tt.prompt)
		if err == nil || !strings.Contains(err.Error(), tt.want) || rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %v, want an invalid one with %q", name, err, tt.want)
		}
		if after, _ := os.ReadFile(p); string(after) != string(before) {
			t.Errorf("%s: the file has become %q", name, after)
		}
	}
	begun := filepath.Join(dir, "begun")
	if err := os.WriteFile(begun, []byte(`{"journal":1,"mod`), 0o600); err != nil {
		t.Fatal(err)
	}
	if j := open(t, begun, "fake:model", "v1"); j.Len() != 0 {
		t.Error("a journal whose first line was cut is not begun again")
	}
}

func TestAJournalThatCannotBeWrittenEndsTheRun(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.jsonl"), "fake:model", "v1")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	s := &script{by: map[string]string{"c0": "D", "c1": "A"}}
	if _, err := modeleval.Run(t.Context(), s, labelled(t, "DA"), modeleval.Options{Parallel: 1, Journal: j}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}
