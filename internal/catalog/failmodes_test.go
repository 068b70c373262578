package catalog_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// No project is looser than its server; what was stored before the server came to demand more may stay.
func TestNoPolicyIsLooserThanTheServer(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	s, err := sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	projects := catalog.NewProjects(s, s.Projects, change.New(s, corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: quiet}), nil, quiet, time.Now), time.Now)
	demands := func(modes rule.FailModes) catalog.ProjectInput {
		return catalog.ProjectInput{Policy: &wire.ProjectPolicyInput{FailModes: wire.Some(modes)}}
	}
	if _, err := projects.Create(t.Context(), "early", demands(rule.FailModes{rule.Critical: rule.FailOpen})); err != nil {
		t.Fatal(err)
	}
	projects.FailModes = rule.FailModes{rule.Critical: rule.FailClosed, rule.Low: rule.FailAsk}
	_, err = projects.Create(t.Context(), "late", demands(rule.FailModes{rule.Critical: rule.FailAsk, rule.Low: rule.FailClosed}))
	if rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "policy.fail_modes.CRITICAL") || strings.Contains(err.Error(), "fail_modes.LOW") {
		t.Errorf("looser than the server: %v", err)
	}
	if _, err := projects.Create(t.Context(), "strict", demands(rule.FailModes{rule.Critical: rule.FailClosed, rule.High: rule.FailOpen})); err != nil {
		t.Errorf("as strict as the server: %v", err)
	}
	other := catalog.ProjectInput{Policy: &wire.ProjectPolicyInput{Uncovered: map[string]rule.Uncovered{"facts": rule.UncoveredDeny}}}
	if p, err := projects.Update(t.Context(), "early", other); err != nil || p.Policy.FailModes[rule.Critical] != rule.FailOpen {
		t.Errorf("another part of an older policy: %+v, %v", p.Policy, err)
	}
}
