package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/rule"
)

// evalCases expect a DENY for rand, an ALLOW for the rest.
const evalCases = `{"id":"bad","statement":"No rand.","path":"a.c","code":"x = rand();\n","expected":"DENY"}
{"id":"good","statement":"No rand.","path":"a.c","code":"x = 1;\n","expected":"ALLOW"}
{"id":"facts","statement":"No rand.","facts":{"source":"rand()"},"expected":"DENY"}
`

// judgeServer is an OpenAI-compatible server whose model denies rand, unless it is gullible: then it allows everything.
func judgeServer(t *testing.T, gullible bool) string {
	t.Helper()
	model := judgetest.Model(func(_ judgetest.Rule, subject string) judgetest.Entry {
		if strings.Contains(subject, "rand()") && !gullible {
			return judgetest.Deny("rand()")
		}
		return judgetest.Allow()
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return // the check before a run
		}
		var body struct {
			Messages       []struct{ Role, Content string }
			ResponseFormat struct {
				JSONSchema struct{ Name string } `json:"json_schema"`
			} `json:"response_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
			return
		}
		prompt := body.Messages[len(body.Messages)-1].Content
		answer, err := model.Complete(r.Context(), llm.Request{Prefix: prompt, Prompt: prompt, SchemaName: body.ResponseFormat.JSONSchema.Name})
		if err != nil {
			t.Error(err)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]string{"content": answer.Text}}},
			"usage":   map[string]int{"prompt_tokens": 1000, "completion_tokens": 100},
		})
	}))
	t.Cleanup(srv.Close)
	return "OPENAI_BASE_URL=" + srv.URL
}

func casesFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEvalMeasuresWritesReportsAndCompares(t *testing.T) {
	cases := casesFile(t, "own.jsonl", evalCases)
	dir := t.TempDir()
	good, bad, page := filepath.Join(dir, "good.json"), filepath.Join(dir, "bad.json"), filepath.Join(dir, "good.md")
	environ := []string{judgeServer(t, false), "TENET_JUDGE_MODEL=openai:tiny"}
	code, out, errs := runIn(t.Context(), t, "", environ, "eval", "--cases", cases, "--repeat", "2", "--report", good, "--markdown", page,
		"--input-price", "2", "--output-price", "10")
	if code != 0 || errs != "" {
		t.Fatalf("exits with %d and %q", code, errs)
	}
	for _, want := range []string{"# openai:tiny", "3 cases, judged 2 times each", "| own | 6      | 100 % | 100 %      | 0 %", "| DENY ", "cost 0.0180 USD", "| among 99 others | 2         | 2    | 0         | 0    | 100 %  | -", "triage cost 0.0060 USD"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "# openai:tiny") {
		t.Errorf("the page is %v\n%s", err, b)
	}
	// A report for the output stands there alone.
	code, out, errs = runIn(t.Context(), t, "", environ, "eval", "--cases", cases, "--json")
	if code != 0 || errs != "" || !json.Valid([]byte(out)) {
		t.Errorf("--json exits with %d, %q and\n%s", code, errs, out)
	}
	// The same cases with a model that allows all: two false ALLOWs, too few to be sure of.
	code, out, errs = runIn(t.Context(), t, "", []string{judgeServer(t, true)}, "eval", "--cases", cases, "--model", "openai:tiny", "--report", bad, "--compare", good)
	if code != 0 || errs != "" || !strings.Contains(out, "This is no significant drop") || !strings.Contains(out, "| own | 3      | 33 %  | 33 %       | 0 %       | 0 %       | 2 ") {
		t.Errorf("exits with %d, %q and\n%s", code, errs, out)
	}
}

func TestEvalGoesOnFromItsJournal(t *testing.T) {
	cases, journal := casesFile(t, "own.jsonl", evalCases), filepath.Join(t.TempDir(), "journal.jsonl")
	args := []string{"eval", "--cases", cases, "--model", "openai:tiny", "--journal", journal}
	_, first, errs := runIn(t.Context(), t, "", []string{judgeServer(t, false)}, args...)
	if errs != "" {
		t.Fatal(errs)
	}
	// A model that would answer otherwise is not asked.
	code, second, errs := runIn(t.Context(), t, "", []string{judgeServer(t, true)}, args...)
	if code != 0 || second != first || !strings.Contains(errs, "journal.jsonl holds 5 answers, which are not asked for again") {
		t.Errorf("exits with %d, %q and\n%s\nafter\n%s", code, errs, second, first)
	}
	code, _, errs = runIn(t.Context(), t, "", []string{judgeServer(t, true)}, "eval", "--cases", cases, "--model", "openai:other", "--journal", journal)
	if code != 2 || !strings.Contains(errs, `of the model "openai:tiny"`) {
		t.Errorf("another model exits with %d and %q", code, errs)
	}
}

func TestEvalExitsWith1AfterASignificantDrop(t *testing.T) {
	var text strings.Builder
	for _, id := range "abcdefgh" {
		text.WriteString(strings.Replace(strings.SplitAfter(evalCases, "\n")[0], "bad", string(id), 1))
	}
	cases := casesFile(t, "own.jsonl", text.String())
	good := filepath.Join(t.TempDir(), "good.json")
	if code, _, errs := runIn(t.Context(), t, "", []string{judgeServer(t, false)}, "eval", "--cases", cases, "--model", "openai:tiny", "--report", good); code != 0 {
		t.Fatalf("exits with %d and %q", code, errs)
	}
	code, out, _ := runIn(t.Context(), t, "", []string{judgeServer(t, true)}, "eval", "--cases", cases, "--model", "openai:tiny", "--compare", good)
	if code != exitFound || !strings.Contains(out, "This is a significant drop") {
		t.Errorf("exits with %d and\n%s", code, out)
	}
}

func TestEvalWithoutAModelAbstainsAndSaysSo(t *testing.T) {
	one, two := casesFile(t, "one.jsonl", evalCases), casesFile(t, "two.jsonl", strings.ReplaceAll(evalCases, `"id":"`, `"id":"x`))
	for _, args := range [][]string{{}, {"--model", "none"}} {
		code, out, errs := runIn(t.Context(), t, "", nil, append([]string{"eval", "--cases", one, two}, args...)...)
		if code != 0 || !strings.Contains(errs, "there is no model") || !strings.Contains(out, "6 cases") || !strings.Contains(out, "| all | 6      | 0 %   | -          | 100 %     | 100 %     | 0 ") {
			t.Errorf("exits with %d, %q and\n%s", code, errs, out)
		}
	}
	named := casesFile(t, "two.json", strings.ReplaceAll(evalCases, `"id":"`, `"id":"y`))
	if code, out, errs := runIn(t.Context(), t, "", nil, "eval", "--cases", one, two, named); code != 0 || !strings.Contains(out, "9 cases") {
		t.Errorf("a further file named .json: exits with %d, %q and\n%s", code, errs, out)
	}
	if _, out, _ := runIn(t.Context(), t, "", nil, "eval", "--cases", one, two, "--limit", "4"); !strings.Contains(out, "4 cases") {
		t.Errorf("a limit of 4 gives\n%s", out)
	}
}

func TestEvalSaysWhatItCannotDo(t *testing.T) {
	cases := casesFile(t, "own.jsonl", evalCases)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no cases":           {nil, "--cases"},
		"no file":            {[]string{"--cases", "/no/such/file"}, "/no/such/file"},
		"empty file":         {[]string{"--cases", casesFile(t, "e.jsonl", "\n")}, "hold no cases"},
		"bad line":           {[]string{"--cases", casesFile(t, "b.jsonl", "nope")}, "b, line 1"},
		"twice":              {[]string{"--cases", cases, cases}, "two cases have the id"},
		"repeat":             {[]string{"--cases", cases, "--repeat", "0"}, "at least 1"},
		"a server":           {[]string{"--cases", cases, "--server", "http://localhost"}, "goes without --server"},
		"triage":             {[]string{"--cases", cases, "--triage=-1"}, "at least 0"},
		"bad model":          {[]string{"--cases", cases, "--model", "gpt"}, "write provider:model"},
		"bad key":            {[]string{"--cases", cases, "--model", "openai:tiny"}, "check OPENAI_API_KEY"},
		"both":               {[]string{"--cases", cases, "--json", "--markdown", "-"}, "cannot both"},
		"both, and a report": {[]string{"--cases", cases, "--json", "--report", filepath.Join(t.TempDir(), "r.json"), "--markdown", "-"}, "cannot both"},
		"both, by --report":  {[]string{"--cases", cases, "--report", "-", "--markdown", "-"}, "cannot both"},
		"old --json":         {[]string{"--cases", cases, "--json", "new.json"}, "--report new.json writes it"},
		"no report":          {[]string{"--cases", cases, "--compare", cases}, "no report"},
		"other report":       {[]string{"--cases", cases, "--model", "none", "--compare", casesFile(t, "r.json", `{"version":1}`)}, "no case in common"},
	} {
		t.Run(name, func(t *testing.T) {
			environ := []string{"OPENAI_BASE_URL=" + refuses.URL}
			if code, _, errs := runIn(t.Context(), t, "", environ, append([]string{"eval"}, test.args...)...); code != 2 || !strings.Contains(errs, test.want) {
				t.Errorf("exits with %d and %q, want %q", code, errs, test.want)
			}
		})
	}
}

func TestBarLine(t *testing.T) {
	for _, test := range []struct {
		n, all int
		want   string
	}{
		{0, 4, "[..............................] 0/4"},
		{1, 4, "[#######.......................] 1/4, 30s left"},
		{4, 4, "[##############################] 4/4"},
		{0, 0, "[..............................] 0/0"},
	} {
		if got := barLine(test.n, test.all, 10*time.Second); got != test.want {
			t.Errorf("%d of %d: %q, want %q", test.n, test.all, got, test.want)
		}
	}
}

func TestVerdictsOfEvalAreThoseOfTheService(t *testing.T) {
	soft := `{"id":"soft","statement":"No rand.","modality":"SHOULD","path":"a.c","code":"x = rand();\n","expected":"` + string(rule.NeedsConfirmation) + `"}`
	code, out, errs := runIn(t.Context(), t, "", []string{judgeServer(t, false)}, "eval", "--model", "openai:tiny", "--cases", casesFile(t, "soft.jsonl", soft))
	if code != 0 || !strings.Contains(out, "| soft | 1      | 100 % | -          | 100 %     | 0 %       |") {
		t.Errorf("exits with %d, %q and\n%s; a broken SHOULD needs confirmation", code, errs, out)
	}
}

func TestModelCheckNamesTheProfile(t *testing.T) {
	cases := casesFile(t, "own.jsonl", evalCases)
	able := judgeServer(t, false)
	code, out, errs := runIn(t.Context(), t, "", []string{able}, "model", "check", "--model", "openai:tiny", "--cases", cases)
	if code != 0 || errs != "" || !strings.Contains(out, "Ask openai:tiny in the profile large: TENET_JUDGE_PROFILE=large") {
		t.Errorf("exits with %d, %q and\n%s", code, errs, out)
	}
	var found modelCheck
	code, out, errs = runIn(t.Context(), t, "", []string{able}, "model", "check", "--model", "openai:tiny", "--cases", cases, "--json")
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 || found.Profile != "large" || len(found.Profiles) != 2 {
		t.Fatalf("exits with %d, %q and\n%s", code, errs, out)
	}
	if p := found.Profiles[1]; p.Profile != "small" || p.Prompt != "small-v1" || p.Right != 3 || p.Calls != 5 || !p.Fit {
		t.Errorf("the small profile has %+v", p)
	}
	// A model that allows all is not to be trusted, however it is asked.
	code, out, _ = runIn(t.Context(), t, "", []string{judgeServer(t, true)}, "model", "check", "--model", "openai:tiny", "--cases", cases)
	if code != exitFound || !strings.Contains(out, "openai:tiny should not judge") {
		t.Errorf("exits with %d and\n%s", code, out)
	}
	for name, args := range map[string][]string{"there is no model": {}, "goes without --server": {"--server", "http://localhost"}, "no such file": {"--model", "openai:tiny", "--cases", "/no/such/file"}} {
		if code, _, errs := runIn(t.Context(), t, "", []string{able}, append([]string{"model", "check"}, args...)...); code != 2 || !strings.Contains(errs, name) {
			t.Errorf("%v exits with %d and %q", args, code, errs)
		}
	}
}

func TestEvalComparesWithAPlainQuestion(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		var body struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) != 1 {
			t.Errorf("got %+v, %v", body, err)
		}
		word := "Perhaps."
		switch text := body.Messages[0].Content; {
		case strings.Contains(text, "rand();"):
			word = "deny."
		case strings.Contains(text, "x = 1;"):
			word = "ALLOW"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]string{"content": word}}}})
	}))
	defer srv.Close()
	cases := casesFile(t, "own.jsonl", evalCases)
	environ := []string{"OPENAI_BASE_URL=" + srv.URL}
	code, out, errs := runIn(t.Context(), t, "", environ, "eval", "--cases", cases, "--model", "openai:tiny", "--profile", "plain")
	if code != 0 || !strings.Contains(out, "prompts plain-v1") || !strings.Contains(out, "| own | 3      | 67 %  | 100 %      | 33 %      | 33 %      | 0 ") {
		t.Errorf("exits with %d, %q and\n%s", code, errs, out)
	}
	if code, _, errs := runIn(t.Context(), t, "", environ, "eval", "--cases", cases, "--profile", "tiny"); code != 2 || !strings.Contains(errs, "judge_profile") {
		t.Errorf("an unknown profile exits with %d and %q", code, errs)
	}
}
