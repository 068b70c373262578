package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// watching is a node with a clock that tests set, and what it has published.
type watching struct {
	*node
	alerts    *health.Alerts
	monitor   *health.Monitor
	now       time.Time
	published []rule.Event
}

// watch gives a node alerts and a monitor that counts.
func watch(n *node, settings health.Settings) *watching { return watchWith(n, settings, false) }

func watchWith(n *node, settings health.Settings, manualResolve bool) *watching {
	w := &watching{node: n, now: time.Now().UTC()}
	clock := func() time.Time { return w.now }
	w.alerts = health.NewAlerts(health.AlertsConfig{
		Store: health.AlertStore{Updater: n.store, Alerts: n.store.Alerts, Projects: n.store.Projects, Rules: n.store.Rules}, Now: clock, ManualResolve: manualResolve,
		Publish: func(_ context.Context, _ store.Tx, e rule.Event) error {
			w.published = append(w.published, e)
			return nil
		},
	})
	w.monitor = health.New(health.Config{Store: health.Store{Updater: n.store, Alerts: n.store.Alerts, Audit: n.store.Audit, Counts: n.store.Counts, Feedback: n.store.Feedback, Health: n.store.Health, Projects: n.store.Projects, Rules: n.store.Rules, Releases: n.store.Releases, TestCases: n.store.TestCases, Waivers: n.store.Waivers}, Views: n.live, Alerts: w.alerts, Now: clock, Settings: settings, Denials: newIndex(n.store).Denials})
	n.cfg.Alerts, n.cfg.Health = w.alerts, w.monitor
	n.serve()
	return w
}

func (w *watching) sweep() {
	w.t.Helper()
	if err := w.monitor.Sweep(context.Background(), rule.DefaultProject); err != nil {
		w.t.Fatal(err)
	}
}

// list asks for alerts.
func (w *watching) list(query string) wire.Alerts {
	w.t.Helper()
	return into[wire.Alerts](w.call("GET", "/api/v1/alerts?"+query, nil).want(http.StatusOK))
}

// told are the types of the events published since it was last asked.
func (w *watching) told() string {
	var types []string
	for _, e := range w.published {
		types = append(types, string(e.Type))
	}
	w.published = nil
	return strings.Join(types, " ")
}

func (w *watching) evaluate(text string, times int) {
	w.t.Helper()
	for range times {
		w.call("POST", "/api/v1/evaluate", map[string]any{"files": []map[string]string{{"path": "a.py", "content": text}}}).want(http.StatusOK)
	}
}

func TestAHighDenyRateIsToldOnceAndEndsByItself(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{DenyMin: 4})
		n.evalRule("E-1", map[string]any{"severity": "HIGH", "scope": []string{"web"}})
		w.evaluate("eval(x)", 3)
		w.sweep()
		if got := w.list(""); got.Total != 0 || got.Alerts == nil {
			t.Fatalf("with too few verdicts: %+v", got)
		}
		w.evaluate("eval(x)", 1)
		w.evaluate("x = 1", 1)
		if err := w.monitor.CatchUp(t.Context(), rule.DefaultProject); err != nil { // no sweep: counting tells at once
			t.Fatal(err)
		}
		w.sweep() // tells nothing twice
		got := w.list("alert_type=HIGH_DENY_RATE&status=Active&rule_id=E-1")
		if got.Total != 1 || len(got.Alerts) != 1 || got.Counts != (wire.Counts{Active: 1}) {
			t.Fatalf("alerts: %+v", got)
		}
		a := got.Alerts[0]
		wantMetadata := map[string]any{"deny_rate": 0.8, "evaluation_count": 5.0, "period_days": 7.0}
		if fmt.Sprint(a.Metadata) != fmt.Sprint(wantMetadata) || !strings.Contains(a.Message, "E-1 has denied 4 of 5") || a.Status != rule.AlertActive {
			t.Errorf("alert: %+v", a)
		}
		if len(w.published) != 1 || w.published[0].Severity != rule.High || fmt.Sprint(w.published[0].Scope) != "[web]" ||
			!strings.Contains(string(w.published[0].Data), a.ID) {
			t.Errorf("published: %+v", w.published)
		}
		if told := w.told(); told != "alert.created" {
			t.Errorf("told %q", told)
		}

		w.evaluate("x = 1", 3) // now 4 of 8
		w.sweep()
		a = into[rule.Alert](w.call("GET", "/api/v1/alerts/"+a.ID, nil).want(http.StatusOK))
		if a.Status != rule.AlertDone || a.ResolvedBy != health.System || a.ResolvedAt == nil || a.ResolutionNote == "" || w.told() != "alert.resolved" {
			t.Errorf("when the rate has fallen: %+v", a)
		}
		w.evaluate("eval(x)", 1) // 5 of 9: a new condition, since nobody has resolved the last one by hand
		w.sweep()
		if got := w.list("status=active"); got.Total != 1 || got.Alerts[0].ID == a.ID {
			t.Errorf("when it has risen again: %+v", got)
		}
		w.now = w.now.Add(8 * 24 * time.Hour) // none of the verdicts lies in the window any more
		w.sweep()
		if got := w.list(""); got.Counts != (wire.Counts{Resolved: 2}) {
			t.Errorf("after the window: %+v", got.Counts)
		}
	})
}

func TestAlertsAreAcknowledgedAndResolved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{DenyMin: 1, DenyWindow: 30})
		n.evalRule("E-1", nil)
		w.evaluate("eval(x)", 1)
		w.sweep()
		a := w.list("").Alerts[0]
		path := "/api/v1/alerts/" + a.ID
		first := into[rule.Alert](w.call("POST", path+"/acknowledge", nil).want(http.StatusOK))
		again := into[rule.Alert](w.call("POST", path+"/acknowledge", nil).want(http.StatusOK))
		if first.Status != rule.AlertAcknowledged || first.AcknowledgedAt == nil || fmt.Sprint(first.AcknowledgedAt) != fmt.Sprint(again.AcknowledgedAt) {
			t.Errorf("acknowledged: %+v, again: %+v", first, again)
		}
		if got := w.list(""); got.Total != 1 || got.Counts != (wire.Counts{Acknowledged: 1}) {
			t.Errorf("an acknowledged alert is listed and not counted as active: %+v", got)
		}
		w.call("POST", path+"/resolve", map[string]any{"resolution_note": strings.Repeat("x", 4001)}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "resolution_note")
		w.call("POST", path+"/resolve", map[string]any{"note": "x"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "note")
		w.told()
		done := into[rule.Alert](w.call("POST", path+"/resolve", map[string]any{"resolution_note": "narrowed"}).want(http.StatusOK))
		again = into[rule.Alert](w.call("POST", path+"/resolve", nil).want(http.StatusOK))
		if done.Status != rule.AlertDone || done.ResolutionNote != "narrowed" || again.ResolutionNote != "narrowed" || again.ResolvedAt.IsZero() || w.told() != "alert.resolved" {
			t.Errorf("resolved: %+v, again: %+v", done, again)
		}
		w.call("POST", path+"/acknowledge", nil).wantProblem(http.StatusConflict, rule.CodeConflict)

		w.sweep() // the rate is still high, but a person has looked at it
		if got := w.list(""); got.Total != 1 {
			t.Errorf("told again at once: %+v", got)
		}
		w.now = w.now.Add(8 * 24 * time.Hour)
		w.sweep() // quiet is over, and the verdicts still lie in the window
		if got := w.list(""); got.Total != 2 || got.Counts != (wire.Counts{Active: 1, Resolved: 1}) {
			t.Errorf("after the quiet days: %+v", got)
		}
		entries, total, err := n.store.Audit.Find(t.Context(), store.AuditFilter{ProjectID: rule.DefaultProject, Kind: audit.KindAlert, Limit: 10})
		if err != nil || total != 2 {
			t.Errorf("the chain has %d entries about what people have done, want 2: %v, %v", total, entries, err)
		}
	})
}

func TestDormantRules(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{})
		n.judging(nil, func(c *evaluate.Config) { c.Now = func() time.Time { return w.now } })
		n.evalRule("E-1", map[string]any{"scope": []string{"a"}})
		n.evalRule("M-1", map[string]any{"modality": "MAY", "check": nil})
		n.evalRule("D-1", map[string]any{"status": "DRAFT"})
		n.evalRule("F-1", map[string]any{"effective_period": map[string]any{"from": w.now.Add(60 * day)}})
		w.now = w.now.Add(89 * day)
		w.sweep()
		if got := w.list(""); got.Total != 0 {
			t.Fatalf("after 89 days: %+v", got)
		}
		w.now = w.now.Add(2*day + time.Hour)
		w.sweep()
		w.sweep()
		got := w.list("")
		if got.Total != 1 || got.Alerts[0].Type != rule.DormantRule || !strings.Contains(got.Alerts[0].Message, "E-1 has never been evaluated") ||
			fmt.Sprint(got.Alerts[0].Metadata) != fmt.Sprint(map[string]any{"period_days": 90.0, "idle_days": 91.0, "last_evaluated_at": nil}) {
			t.Fatalf("after 91 days: %+v", got)
		}
		w.told()
		w.evaluate("x = 1", 1)
		if err := w.monitor.CatchUp(t.Context(), rule.DefaultProject); err != nil {
			t.Fatal(err)
		}
		if got := w.list(""); got.Counts != (wire.Counts{Resolved: 1}) || w.told() != "alert.resolved" {
			t.Errorf("once it has been evaluated: %+v", got)
		}
		w.now = w.now.Add(90 * day)
		w.sweep()
		if got := w.list("status=active"); got.Total != 2 { // E-1 again, and F-1, whose period began 121 days ago
			t.Errorf("90 days later: %+v", got)
		}
		w.call("POST", "/api/v1/rules/E-1/transitions", map[string]any{"to": "RETIRED"}).want(http.StatusOK)
		w.sweep()
		if got := w.list("status=active"); got.Total != 1 || !strings.Contains(got.Alerts[0].Message, "F-1") {
			t.Errorf("with E-1 retired: %+v", got)
		}
	})
}

func TestAlertsAreLeftToPeople(t *testing.T) {
	t.Parallel()
	w := watchWith(newNode(t), health.Settings{}, true)
	w.evalRule("E-1", nil)
	w.now = w.now.Add(91 * day)
	w.sweep()
	w.call("POST", "/api/v1/rules/E-1/transitions", map[string]any{"to": "RETIRED"}).want(http.StatusOK)
	w.sweep()
	if got := w.list("status=active"); got.Total != 1 {
		t.Errorf("resolved by itself against the setting: %+v", got)
	}
}

func TestLostRecordsMakeNoRuleDormant(t *testing.T) {
	t.Parallel()
	w := watch(newNode(t), health.Settings{})
	w.evalRule("E-1", nil)
	w.evaluate("x = 1", 1)
	if n, err := audit.Prune(t.Context(), w.store, w.store.Audit, audit.Pruning{ProjectID: rule.DefaultProject, Kind: audit.KindEvaluation, Before: w.now.Add(day), Now: w.now}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	w.now = w.now.Add(89 * day)
	r, err := w.store.Rules.Get(t.Context(), rule.DefaultProject, "E-1")
	if err != nil {
		t.Fatal(err)
	}
	r.Version, r.UpdatedAt = 2, w.now.Add(-120*day) // an old rule
	if err := w.store.Update(t.Context(), func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(t.Context(), rule.DefaultProject)
		if err != nil {
			return err
		}
		if err := tx.Rules.Update(t.Context(), cv, []rule.Rule{r}); err != nil {
			return err
		}
		return audit.Append(t.Context(), tx, rule.DefaultProject, audit.Record{Kind: audit.KindRule, At: w.now, Actor: "test", Body: []byte("{}")})
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.live.Refresh(t.Context(), rule.DefaultProject); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	if got := w.list(""); got.Total != 0 {
		t.Errorf("what had been removed before it was counted may have been about the rule: %+v", got)
	}
	w.now = w.now.Add(2 * day)
	w.sweep()
	if got := w.list(""); got.Total != 1 {
		t.Errorf("once all of the period is known: %+v", got)
	}
}

func TestADeclineOfHealthIsToldOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{Quiet: time.Hour})
		n.evalRule("E-1", map[string]any{"owner": "web", "rationale": "It runs anything.", "source_refs": []map[string]any{{"kind": "policy", "uri": "x"}}})
		const cases = "/api/v1/rules/E-1/test-cases"
		for _, sample := range []string{"eval(1)", "eval(2)"} {
			w.call("POST", cases, map[string]any{"name": sample, "sample_input": sample, "expected_verdict": "DENY"}).want(http.StatusCreated)
		}
		measure := func() int {
			t.Helper()
			w.call("POST", cases+"/run", nil).want(http.StatusOK)
			if err := w.monitor.Measure(t.Context(), rule.DefaultProject); err != nil {
				t.Fatal(err)
			}
			w.sweep()
			return into[wire.Health](w.call("GET", "/api/v1/rules/E-1/health", nil).want(http.StatusOK)).Score
		}
		if got := measure(); got != 100 {
			t.Fatalf("score %d, want 100", got)
		}
		change := func(statement, regex string) {
			w.call("PATCH", "/api/v1/rules/E-1", map[string]any{"statement": statement, "check": map[string]any{"pattern": map[string]any{"regex": regex}}}).want(http.StatusOK)
		}
		w.now = w.now.Add(day)
		change("No eval.", "nothing of this kind")
		low := measure()
		got := w.list("")
		if got.Total != 1 || got.Alerts[0].Type != rule.HealthDecline ||
			fmt.Sprint(got.Alerts[0].Metadata) != fmt.Sprint(map[string]any{"score": float64(low), "previous_score": 100.0, "drop": float64(100 - low)}) {
			t.Fatalf("with a score of %d: %+v", low, got)
		}
		w.call("POST", "/api/v1/alerts/"+got.Alerts[0].ID+"/resolve", nil).want(http.StatusOK)
		w.now = w.now.Add(day)
		if again := measure(); again != low || w.list("").Total != 1 {
			t.Errorf("a score that stays at %d (was %d) is told again: %+v", again, low, w.list(""))
		}
		w.now = w.now.Add(day)
		change("No eval.", `\beval\(`)
		measure()
		w.now = w.now.Add(day)
		change("No eval.", "nothing of this kind")
		measure()
		if got := w.list("status=active"); got.Total != 1 {
			t.Errorf("when it has fallen again: %+v", got)
		}
		w.now = w.now.Add(day)
		change("No eval.", `\beval\(`)
		measure()
		if got := w.list(""); got.Counts != (wire.Counts{Resolved: 2}) {
			t.Errorf("when it has recovered: %+v", got)
		}
		h := into[wire.Health](w.call("GET", "/api/v1/rules/E-1/health", nil).want(http.StatusOK))
		if len(h.History) != 5 || h.History[0].Score != 100 || h.History[1].Score != low {
			t.Errorf("history: %+v", h.History)
		}
	})
}

func TestAnAlertIsResolvedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{DenyMin: 1})
		n.evalRule("E-1", nil)
		w.evaluate("eval(x)", 1)
		w.sweep()
		var told atomic.Int64
		racing := health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: n.store, Alerts: n.store.Alerts, Projects: n.store.Projects, Rules: n.store.Rules}, Publish: func(context.Context, store.Tx, rule.Event) error { return nil }})
		id := w.list("").Alerts[0].ID
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				text := fmt.Sprint(i)
				a, err := racing.Resolve(context.Background(), rule.DefaultProject, id, text)
				if err != nil {
					t.Error(err)
				}
				if a.ResolutionNote == text {
					told.Add(1)
				}
			})
		}
		wg.Wait()
		_, total, err := n.store.Audit.Find(t.Context(), store.AuditFilter{ProjectID: rule.DefaultProject, Kind: audit.KindAlert, Limit: 1})
		if told.Load() != 1 || total != 1 || err != nil {
			t.Errorf("%d of 64 have resolved it, %d entries in the chain (%v); want 1", told.Load(), total, err)
		}
	})
}

const day = 24 * time.Hour

func TestAlertsThatAreNotThere(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeProject("pay")
	w := watch(n, health.Settings{DenyMin: 1})
	n.evalRule("E-1", nil)
	w.evaluate("eval(x)", 1)
	w.sweep()
	path := "/api/v1/alerts/" + w.list("").Alerts[0].ID
	for _, target := range []string{path + "?project_id=pay", path + "?project_id=none", "/api/v1/alerts/x", "/api/v1/alerts/" + audit.NewID()} {
		w.call("GET", target, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	for _, end := range []string{"/acknowledge", "/resolve"} {
		w.call("POST", path+end+"?project_id=pay", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	w.call("GET", "/api/v1/alerts?project_id=none", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	w.call("GET", "/api/v1/alerts?rule_id=none", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	w.call("GET", "/api/v1/alerts?status=open&alert_type=other", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "status", "alert_type")
	for _, query := range []string{"limit=101", "limit=0", "offset=-1"} {
		w.call("GET", "/api/v1/alerts?"+query, nil).want(http.StatusUnprocessableEntity)
	}
	n.makeKey(auth.Admin, store.AllProjects)
	n.key = n.makeKey(auth.Admin, "pay")
	w.call("GET", path, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

// An alert about denials names who asked for them: in the list, in its own answer, in the event and in the audit log; and is found by them.
func TestAnAlertNamesWhoActed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{DenyMin: 4, DenyWindow: 2, Quiet: time.Microsecond})
		n.evalRule("E-1", nil)
		n.key = n.makeKey(auth.Admin, store.AllProjects)
		bot := into[wire.CreatedKey](n.call("POST", keysPath, fields{"name": "bot", "role": "evaluator", "project_id": "default", "owner": "corp:Ann@example.com", "agent": "release-bot"}).want(http.StatusCreated))
		ask := func(key string, times int, extra fields) {
			for range times {
				body := fields{"files": []fields{{"path": "a.py", "content": "eval(x)"}}}
				maps.Copy(body, extra)
				n.call("POST", evaluatePath, body, "Authorization", "Bearer "+key).want(http.StatusOK)
			}
		}
		ask(bot.Secret, 2, fields{"session": "s1"})
		ask(n.key, 1, fields{"agent": "Cursor", "on_behalf_of": "bo"})
		ask(bot.Secret, 1, fields{"session": "s2"})
		if err := w.monitor.CatchUp(t.Context(), rule.DefaultProject); err != nil { // no sweep: counting raises it
			t.Fatal(err)
		}
		list := w.list("agent=RELEASE-bot&person=ann@example.com&session=s2")
		if list.Total != 1 || len(list.Alerts) != 1 || len(list.Alerts[0].Acted) != 2 {
			t.Fatalf("alerts: %+v", list)
		}
		a := list.Alerts[0]
		first, second := a.Acted[0], a.Acted[1]
		want := rule.Identity{Agent: "release-bot", Person: "corp:Ann@example.com", Session: "s2", Claimed: []string{"session"}}
		if diff := cmp.Diff(want, first.Identity); diff != "" || first.Actor != "key:bot" || first.Evaluations != 3 || first.EvaluationID == "" || first.At.IsZero() {
			t.Errorf("the first: %+v\n%s", first, diff)
		}
		want = rule.Identity{Agent: "Cursor", Person: "bo", Claimed: []string{"person", "agent"}}
		if diff := cmp.Diff(want, second.Identity); diff != "" || second.Evaluations != 1 {
			t.Errorf("the second: %+v\n%s", second, diff)
		}
		for query, total := range map[string]int{"agent=cursor": 1, "person=BO": 1, "agent=codex": 0, "person=cursor": 0, "session=s1": 0, "agent=cursor&status=resolved": 0} {
			if got := w.list(query); got.Total != total {
				t.Errorf("?%s finds %d alerts, want %d", query, got.Total, total)
			}
		}
		if len(w.published) != 1 || !strings.Contains(string(w.published[0].Data), `"agent":"release-bot","session":"s2","claimed":["session"],"evaluations":3`) {
			t.Errorf("published: %s", w.published[0].Data)
		}
		n.call("POST", "/api/v1/alerts/"+a.ID+"/acknowledge", nil).want(http.StatusOK)
		if bodies, _ := n.auditBodies(audit.KindAlert); len(bodies) != 1 || !strings.Contains(bodies[0], "release-bot") {
			t.Errorf("audit entries: %q", bodies)
		}
		n.call("POST", "/api/v1/alerts/"+a.ID+"/resolve", nil).want(http.StatusOK)
		w.now = w.now.Add(time.Minute)
		w.sweep() // names them, too
		if got := w.list("agent=release-bot&status=active"); got.Total != 1 || len(got.Alerts[0].Acted) != 2 {
			t.Errorf("raised by a sweep: %+v", got)
		}
	})
}
