// Package promcheck reads the rules for alerts and the dashboard with the packages of promtool. It is a module of its own, so that these never
// meet those of the service.
package promcheck

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// Every rule is one that promtool accepts, and says what to do.
func TestAlerts(t *testing.T) {
	groups, errs := rulefmt.ParseFile("../../deploy/prometheus/alerts.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		return
	}
	n := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			n++
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, a summary or a description", r.Alert)
			}
			known(t, r.Expr)
		}
	}
	if n < 8 {
		t.Errorf("%d rules", n)
	}
}

// Every query of the dashboard is one of Prometheus.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/tenet.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			n++
			query := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(query); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
			known(t, query)
		}
	}
	if n < 10 {
		t.Errorf("%d queries", n)
	}
}

// known fails for a metric that docs/operations.md does not list.
func known(t *testing.T, query string) {
	t.Helper()
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`tenet_[a-z_]+`).FindAllString(query, -1) {
		name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if !strings.Contains(string(guide), "| `"+name+"` |") {
			t.Errorf("docs/operations.md does not list %s", name)
		}
	}
}
