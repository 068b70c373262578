package health_test

import (
	"context"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// oneAlert is a database with one alert. The rest of the database panics.
type oneAlert struct {
	alert   rule.Alert
	entries []store.AuditEntry
}

func (s *oneAlert) Update(_ context.Context, fn func(store.Tx) error) error {
	return fn(store.Tx{Alerts: alertFake{db: s}, Audit: auditFake{db: s}})
}

type alertFake struct {
	store.AlertTx
	db *oneAlert
}

func (f alertFake) Get(_ context.Context, projectID, id string) (rule.Alert, error) {
	if projectID != f.db.alert.ProjectID || id != f.db.alert.ID {
		return rule.Alert{}, rule.NotFound("alert", id)
	}
	return f.db.alert, nil
}

func (f alertFake) Update(_ context.Context, a rule.Alert) error {
	f.db.alert = a
	return nil
}

type auditFake struct {
	store.AuditTx
	db *oneAlert
}

func (f auditFake) LockMany(_ context.Context, ids []string) (map[string]store.AuditEnd, error) {
	return map[string]store.AuditEnd{ids[0]: {}}, nil
}

func (f auditFake) Append(_ context.Context, list []store.AuditEntry, _ map[string]string) error {
	f.db.entries = append(f.db.entries, list...)
	return nil
}

func TestAnAlertIsAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	db := &oneAlert{alert: rule.Alert{ID: audit.NewID(), ProjectID: "p", Type: rule.HighDenyRate, Status: rule.AlertActive}}
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	alerts := health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: db}, Now: func() time.Time { return now }})
	for _, name := range []string{"ann", "ben"} {
		a, err := alerts.Acknowledge(auth.WithActor(t.Context(), auth.Local(name)), "p", db.alert.ID)
		if err != nil || a.Status != rule.AlertAcknowledged || a.AcknowledgedBy != "ann" || !a.AcknowledgedAt.Equal(now) {
			t.Errorf("%s acknowledges: %+v, %v", name, a, err)
		}
	}
	if len(db.entries) != 1 || db.entries[0].Actor != "ann" || db.entries[0].Seq != 1 {
		t.Errorf("audit entries %+v, want one of ann", db.entries)
	}
	if _, err := alerts.Acknowledge(t.Context(), "p", audit.NewID()); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("another alert: %v, want not_found", err)
	}
	db.alert.Status = rule.AlertDone
	if _, err := alerts.Acknowledge(t.Context(), "p", db.alert.ID); rule.CodeOf(err) != rule.CodeConflict {
		t.Errorf("a resolved alert: %v, want a conflict", err)
	}
}
