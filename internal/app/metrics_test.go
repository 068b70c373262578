package app

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/config"
	"tenet/internal/llm"
	"tenet/internal/wire"
)

// answering is a model that answers each request with some tokens.
type answering struct{ llm.Model }

// ID implements [llm.Model].
func (answering) ID() string { return "openai:tiny" }

// Complete implements [llm.Model].
func (answering) Complete(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response{Text: "{}", InputTokens: 1_000_000, OutputTokens: 500_000, CachedTokens: 400_000}, nil
}

// Calls to a model cost what the setting says, cached tokens less; a model without a price has no cost.
func TestCostOfModels(t *testing.T) {
	cfg := config.Config{ModelPrices: "openai:tiny=2/10/0.5", PriceCurrency: "EUR"}
	prices, err := cfg.Prices()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		prices map[string]config.Price
		want   float64
	}{{prices, 0.6*2 + 0.4*0.5 + 0.5*10}, {nil, 0}} {
		registry := prometheus.NewRegistry()
		g := gauged{purpose: judging, model: answering{}, meter: &llm.Meter{}}
		gauges{g}.observe(registry, test.prices, cfg.PriceCurrency)
		if _, err := g.meter.Model(answering{}).Complete(t.Context(), llm.Request{}); err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got, tokens := 0.0, 0.0
		for _, f := range families {
			switch f.GetName() {
			case "tenet_model_cost_total":
				m := f.GetMetric()[0]
				if got = m.GetCounter().GetValue(); m.GetLabel()[0].GetValue() != "EUR" || m.GetLabel()[1].GetValue() != "openai:tiny" {
					t.Errorf("%v", m)
				}
			case "tenet_model_tokens_total":
				for _, m := range f.GetMetric() {
					tokens += m.GetCounter().GetValue()
				}
			}
		}
		if d := got - test.want; d > 1e-9 || d < -1e-9 || tokens != 1_500_000 {
			t.Errorf("with prices %v the cost is %g, want %g; %g tokens", test.prices, got, test.want, tokens)
		}
	}
}

// An evaluation that an agent asked for shows in the metrics: its stages and their time, the agent, and how old the checkpoints are.
func TestMetricsOfAnEvaluation(t *testing.T) {
	a, err := create(t, map[string]string{"audit_folder": t.TempDir(), "listen": "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(t.Context()) }()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func(agent string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/evaluate", strings.NewReader(`{"facts": {"amount": 3}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(wire.AgentHeader, agent)
		w := httptest.NewRecorder()
		if a.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
	}
	ask("cursor")
	ask("somebody's own agent")
	ask("another one")
	a.parts.book.SealAll(t.Context())
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/metrics", http.NoBody))
	for _, want := range []string{
		`tenet_agent_evaluations_total{agent="cursor",verdict="NEEDS_CONFIRMATION"} 1`, `tenet_agent_evaluations_total{agent="other",verdict="NEEDS_CONFIRMATION"} 2`,
		`tenet_evaluation_stage_duration_seconds_count{stage="check"} 3`, `tenet_evaluation_stage_duration_seconds_count{stage="parse"} 3`,
		`tenet_evaluation_stage_duration_seconds_count{stage="record"} 3`, "tenet_audit_checkpoint_age_seconds 0",
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if t.Failed() {
		for l := range strings.Lines(w.Body.String()) {
			if strings.HasPrefix(l, "tenet_agent") || strings.HasPrefix(l, "tenet_audit") || strings.Contains(l, "stage_duration_seconds_count") {
				t.Log(l)
			}
		}
	}
}

// The guide lists each metric that the code makes, and no other. Alerts and dashboards name only metrics of the guide (tools/promcheck).
func TestTheGuideListsTheMetrics(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, made := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(tenet_[a-z_]+)` \\|").FindAllSubmatch(guide, -1) {
		listed[string(m[1])] = true
	}
	metric := regexp.MustCompile(`(?:Name: |vector\(|Seconds\(registry, )"(tenet_[a-z_]+)"`)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		if !bytes.Contains(code, []byte(`"tenet_`)) {
			return err
		}
		for _, m := range metric.FindAllSubmatch(code, -1) {
			made[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(listed, made) {
		t.Errorf("docs/operations.md lists\n%v, the code makes\n%v", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(made)))
	}
}
