package app_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

func decider(t *testing.T, o app.Options, settings map[string]string) *app.Decider {
	t.Helper()
	cfg, err := config.Load("", none, settings)
	if err != nil {
		t.Fatal(err)
	}
	if o.Env == nil {
		o.Env = none
	}
	d, err := app.NewDecider(cfg, slog.New(slog.DiscardHandler), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestADeciderAsksAnewAndAppliesTheLaws(t *testing.T) {
	t.Parallel()
	model := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Deny("delete everything") })
	d := decider(t, app.Options{Model: model}, nil)
	s, err := subject.Build(subject.Input{Action: "delete everything"})
	if err != nil {
		t.Fatal(err)
	}
	r := &rule.Rule{ID: "1", Statement: "Ask first.", Modality: rule.Must, Severity: rule.Medium, Enforcement: rule.Enforce}
	for n := 1; n <= 3; n++ {
		v, cost := d.Decide(t.Context(), s, r)
		if v.Verdict != rule.Deny || v.DecidedBy != rule.ByModel || cost.Calls != 1 || model.Calls() != n {
			t.Errorf("got %s by %s after %d calls; verdicts must not be remembered", v.Verdict, v.DecidedBy, model.Calls())
		}
	}
	r.Modality = rule.Should
	if v, _ := d.Decide(t.Context(), s, r); v.Verdict != rule.NeedsConfirmation {
		t.Errorf("a broken SHOULD is %s", v.Verdict)
	}
	if d.Model() != "fake:model" || d.Prompt() == "" || d.Check(t.Context()) != nil {
		t.Errorf("model %q, prompt %q, check %v", d.Model(), d.Prompt(), d.Check(t.Context()))
	}
}

func TestADeciderWithoutAModelDecidesNothing(t *testing.T) {
	t.Parallel()
	d := decider(t, app.Options{}, nil)
	s, err := subject.Build(subject.Input{Action: "pay"})
	if err != nil {
		t.Fatal(err)
	}
	v, cost := d.Decide(t.Context(), s, &rule.Rule{ID: "1", Statement: "Ask first.", Modality: rule.Must, Severity: rule.Medium, Enforcement: rule.Enforce})
	if v.Verdict != rule.NeedsConfirmation || v.DecidedBy != rule.ByNone || cost.Calls != 0 || d.Model() != "" || d.Check(t.Context()) != nil {
		t.Errorf("got %+v at %+v", v, cost)
	}
}

func TestTheCheckOfADeciderNeedsOneModelThatWorks(t *testing.T) {
	t.Parallel()
	status := func(code int) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	}
	works, fails := status(http.StatusOK), status(http.StatusServiceUnavailable)
	defer works.Close()
	defer fails.Close()
	for _, c := range []struct {
		openai, ollama string
		ok             bool
	}{{works.URL, fails.URL, true}, {fails.URL, works.URL, true}, {fails.URL, fails.URL, false}} {
		env := func(name string) string {
			return map[string]string{"OPENAI_BASE_URL": c.openai, "OLLAMA_HOST": c.ollama}[name]
		}
		d := decider(t, app.Options{Env: env}, map[string]string{"judge_model": "openai:a,ollama:b"})
		if err := d.Check(t.Context()); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
