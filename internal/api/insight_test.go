package api

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/health"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// overview asks for the insights of a period.
func (w *watching) overview(query string) wire.Overview {
	w.t.Helper()
	return into[wire.Overview](w.call("GET", "/api/v1/insights?"+query, nil).want(http.StatusOK))
}

// recordedFigures adds up what the records of all evaluations say.
func (w *watching) recordedFigures() (total wire.Verdicts, rules wire.RuleVerdicts, models map[string]wire.ModelCost) {
	w.t.Helper()
	models = map[string]wire.ModelCost{}
	for _, summary := range into[wire.Page[wire.EvaluationSummary]](w.call("GET", evaluationsPath+"?page_size=100", nil).want(http.StatusOK)).Items {
		rec := into[wire.EvaluationRecord](w.call("GET", evaluationsPath+"/"+summary.EvaluationID, nil).want(http.StatusOK))
		add(&total, rec.Evaluation.OverallVerdict)
		for _, v := range rec.Evaluation.RuleVerdicts {
			add(&rules.Verdicts, v.Verdict)
			switch v.DecidedBy {
			case rule.ByCheck:
				rules.DecidedBy.Check++
			case rule.ByModel:
				rules.DecidedBy.Model++
			case rule.ByCache:
				rules.DecidedBy.Cache++
			case rule.ByTriage:
				rules.DecidedBy.Triage++
			case rule.ByNone:
				rules.DecidedBy.None++
			case rule.ByApproval:
				w.t.Error("nobody approves here")
			}
		}
		for _, k := range rec.Calls {
			m := models[k.Model]
			m.Model, m.Calls, m.InputTokens, m.OutputTokens = k.Model, m.Calls+1, m.InputTokens+int64(k.InputTokens), m.OutputTokens+int64(k.OutputTokens)
			models[k.Model] = m
		}
	}
	return total, rules, models
}

func add(v *wire.Verdicts, verdict rule.Verdict) {
	v.Total++
	switch verdict {
	case rule.Allow:
		v.Allow++
	case rule.Deny:
		v.Deny++
	case rule.NeedsConfirmation:
		v.Unsure++
	}
}

func TestInsightsAreWhatTheRecordsSay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{})
		if o := w.overview(""); o.AsOf == nil || o.Totals.Total != 0 || len(o.Days) != 30 || o.MostDenied == nil || o.Dormant.Rules == nil {
			t.Errorf("before the first evaluation: %+v", o)
		}
		n.judging(critic())
		n.evalRule("E-1", nil)
		n.call("POST", "/api/v1/rules", map[string]any{"slug": "Q-1", "statement": "Code must not be quick and dirty.", "modality": "MUST_NOT", "status": "EFFECTIVE"}).want(http.StatusCreated)
		w.evaluate("eval(x)", 3)
		w.evaluate("# quick and dirty", 2)
		w.evaluate("x = 1", 1)
		n.call("POST", "/api/v1/evaluate", map[string]any{"files": []map[string]string{{"path": "a.py", "content": "eval(9)"}}, "mode": "posthoc"}).want(http.StatusOK)

		o := w.overview("period_days=7")
		total, rules, models := w.recordedFigures()
		if total.Total != 7 || total.Deny != 6 || rules.DecidedBy.Model == 0 || rules.DecidedBy.Check != 7 || len(models) != 1 {
			t.Fatalf("the records say %+v, %+v, %+v", total, rules, models)
		}
		got, gotRules := o.Totals, o.Verdicts
		if got.DenyRate != 0.8571 || o.Incidents != 1 || o.PeriodDays != 7 || len(o.Days) != 7 || o.Days[6].Verdicts != got || o.Uncounted != 0 {
			t.Errorf("overview: %+v", o)
		}
		for _, v := range []*wire.Verdicts{&got, &gotRules.Verdicts} {
			v.AllowRate, v.DenyRate, v.UnsureRate = 0, 0, 0
		}
		if diff := cmp.Diff(total, got) + cmp.Diff(rules, gotRules); diff != "" {
			t.Errorf("counts (-recorded +counted):\n%s", diff)
		}
		m := o.Models[0]
		m.MeanMS, m.CachedTokens = 0, 0
		if diff := cmp.Diff(models[m.Model], m); diff != "" {
			t.Errorf("models (-recorded +counted):\n%s", diff)
		}
		if len(o.MostDenied) != 2 || o.MostDenied[0].Slug != "E-1" || o.MostDenied[0].Denied != 4 || o.MostDenied[0].Verdicts != 7 || o.MostDenied[1].Denied != 2 {
			t.Errorf("most denied: %+v", o.MostDenied)
		}
		calls := int64(0)
		for _, k := range models {
			calls += k.Calls
		}
		list, err := n.store.Counts.Rules(t.Context(), store.RuleCountFilter{ProjectID: rule.DefaultProject})
		if err != nil || len(list) != 2 || list[1].Calls != calls || list[0].Calls != 0 {
			t.Errorf("calls of rules: %+v, %v; want %d of the second", list, err, calls)
		}

		// Removing records takes nothing from what was counted.
		if pruned, err := audit.Prune(t.Context(), n.store, n.store.Audit, audit.Pruning{ProjectID: rule.DefaultProject, Kind: audit.KindEvaluation, Before: time.Now().Add(time.Hour), Now: time.Now()}); pruned != 7 || err != nil {
			t.Fatal(pruned, err)
		}
		if later := w.overview("period_days=7"); later.Totals != o.Totals || later.Verdicts != o.Verdicts {
			t.Errorf("after the records were removed: %+v", later)
		}
		n.call("GET", "/api/v1/insights?project_id=none", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		for _, days := range []string{"0", "401", "x"} {
			n.call("GET", "/api/v1/insights?period_days="+days, nil).want(http.StatusUnprocessableEntity)
		}
	})
}

// Whoever counts, and however often it fails in the middle, each evaluation is counted once.
func TestEvaluationsAreCountedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{})
		n.evalRule("E-1", nil)
		w.evaluate("eval(x)", 10)
		failures := 0
		alerts := health.NewAlerts(health.AlertsConfig{Store: health.AlertStore{Updater: n.store, Alerts: n.store.Alerts, Projects: n.store.Projects, Rules: n.store.Rules}, Publish: func(context.Context, store.Tx, rule.Event) error {
			failures++
			return errors.New("the node is lost") // as if it had been killed before the transaction was committed
		}})
		failing := health.New(health.Config{Store: health.Store{Updater: n.store, Alerts: n.store.Alerts, Audit: n.store.Audit, Counts: n.store.Counts, Feedback: n.store.Feedback, Health: n.store.Health, Projects: n.store.Projects, Rules: n.store.Rules, Releases: n.store.Releases, TestCases: n.store.TestCases, Waivers: n.store.Waivers}, Views: n.live, Alerts: alerts, Settings: health.Settings{DenyMin: 1}})
		for range 3 {
			if err := failing.CatchUp(t.Context(), rule.DefaultProject); err == nil {
				t.Error("no error")
			}
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				other := health.New(health.Config{Store: health.Store{Updater: n.store, Alerts: n.store.Alerts, Audit: n.store.Audit, Counts: n.store.Counts, Feedback: n.store.Feedback, Health: n.store.Health, Projects: n.store.Projects, Rules: n.store.Rules, Releases: n.store.Releases, TestCases: n.store.TestCases, Waivers: n.store.Waivers}, Views: n.live, Alerts: w.alerts})
				if err := other.CatchUp(t.Context(), rule.DefaultProject); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if o := w.overview(""); o.Totals.Total != 10 || o.MostDenied[0].Denied != 10 || failures != 3 {
			t.Errorf("10 evaluations are counted as %+v, %+v", o.Totals, o.MostDenied)
		}
	})
}

func TestADamagedRecordHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := watch(newNode(t), health.Settings{})
	w.evalRule("E-1", nil)
	err := w.store.Update(t.Context(), func(tx store.Tx) error {
		for _, body := range []string{"{", `{"evaluation": null}`, `{"evaluation": {"rule_verdicts": 3}}`} {
			r := audit.Record{Kind: audit.KindEvaluation, At: w.now, Verdict: string(rule.Deny), Body: []byte(body)}
			if err := audit.Append(t.Context(), tx, rule.DefaultProject, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.evaluate("x = 1", 1)
	if o := w.overview(""); o.Totals.Total != 4 || o.Totals.Deny != 3 || o.Verdicts.Total != 1 || o.Uncounted != 0 {
		t.Errorf("insights: %+v", o)
	}
}

func TestTheOverviewTellsHealthAndDormantRules(t *testing.T) {
	t.Parallel()
	w := watch(newNode(t), health.Settings{})
	for i := range 12 {
		fields := map[string]any{}
		if i >= 3 {
			fields = map[string]any{"owner": "web", "rationale": "It runs anything.", "scope": []string{"web"}}
		}
		w.evalRule(fmt.Sprintf("E-%d", i), fields)
	}
	w.call("POST", "/api/v1/rules/E-11/transitions", map[string]any{"to": "RETIRED"}).want(http.StatusOK)
	w.now = w.now.Add(91 * day)
	if err := w.monitor.Measure(t.Context(), rule.DefaultProject); err != nil {
		t.Fatal(err)
	}
	o := w.overview("")
	health := into[wire.Health](w.call("GET", "/api/v1/rules/E-0/health", nil).want(http.StatusOK))
	if h := o.Health; h.Measured != 11 || len(h.Lowest) != 10 || h.Lowest[0].Slug != "E-0" || h.Lowest[0].Score != health.Score ||
		h.Lowest[3].Score <= h.Lowest[2].Score || len(h.Buckets) != 5 {
		t.Errorf("health: %+v; E-0: %+v", h, health)
	}
	inBuckets := 0
	for _, b := range o.Health.Buckets {
		inBuckets += b.Rules
	}
	if inBuckets != 11 {
		t.Errorf("%d rules in the buckets: %+v", inBuckets, o.Health.Buckets)
	}
	if d := o.Dormant; d.Total == nil || *d.Total != 11 || o.NeverAsked.Total == nil || *o.NeverAsked.Total != 11 || len(d.Rules) != 10 || d.AfterDays != 90 || d.Rules[0].IdleDays < 90 || d.Rules[0].LastAt != nil {
		t.Errorf("dormant: %+v", d)
	}
	if len(health.Parts) != 6 || !strings.Contains(health.Parts[0].Detail, "an owner") || len(health.History) != 1 {
		t.Errorf("health of E-0: %+v", health)
	}
	w.call("GET", "/api/v1/rules/none/health", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

// Nodes, teams, reasons and repositories have the counts that evaluations give them, and what was not measured says so.
func TestGroupsAreWhatTheRecordsSay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{})
		before := w.overview("")
		if h := before.Health; h.MeasuredAt != nil || h.Mean != nil || before.Dormant.Total != nil || before.NeverAsked.Total != nil {
			t.Errorf("before it is measured: %+v, %+v", h, before.Dormant)
		}
		n.call("POST", "/api/v1/rules", map[string]any{
			"slug": "PAY-1", "statement": "Payments above 100 must be approved.", "status": "EFFECTIVE", "owner": "payments", "applies_to": map[string]any{"kinds": []string{"facts"}},
			"check": map[string]any{"cel": "facts.amount <= 100"},
		}).want(http.StatusCreated)
		n.call("POST", "/api/v1/rules", map[string]any{
			"slug": "WEB-1", "statement": "Code should not call eval.", "status": "EFFECTIVE", "modality": "SHOULD", "owner": "web", "applies_to": map[string]any{"kinds": []string{"code_change"}},
			"check": map[string]any{"pattern": map[string]any{"regex": `eval\(`}},
		}).want(http.StatusCreated)
		n.call("POST", "/api/v1/rules", map[string]any{
			"slug": "ASK-1", "statement": "Actions must be announced.", "status": "EFFECTIVE", "applies_to": map[string]any{"kinds": []string{"action"}},
		}).want(http.StatusCreated)
		site := into[wire.ChangedNode](n.call("POST", "/api/v1/federations", map[string]any{"name": "site", "level": "organization", "repositories": []string{"acme/site"}}).want(http.StatusCreated))
		n.call("POST", "/api/v1/federations/"+site.ID+"/rules", map[string]any{"rule_id": "WEB-1"}).want(http.StatusCreated)
		evaluate := func(body map[string]any) {
			t.Helper()
			n.call("POST", "/api/v1/evaluate", body).want(http.StatusOK)
		}
		file := []map[string]string{{"path": "a.js", "content": "eval(x)"}}
		evaluate(map[string]any{"facts": map[string]any{"amount": 500}})
		evaluate(map[string]any{"facts": map[string]any{"amount": 5}})
		evaluate(map[string]any{"facts": map[string]any{"sum": 5}})
		evaluate(map[string]any{"files": file, "repository": "acme/site"})
		evaluate(map[string]any{"files": file, "repository": "github.com/Acme/Other.git"})
		evaluate(map[string]any{"facts": map[string]any{"x": 1}, "scope": "elsewhere", "severity_min": "CRITICAL"})
		n.call("POST", "/api/v1/evaluate/quick", map[string]any{"action": "restart the server"}).want(http.StatusOK)

		o := w.overview("period_days=1")
		reasons := map[rule.UndecidedReason]int64{}
		for _, r := range o.Undecided {
			if r.Meaning == "" {
				t.Errorf("%s means nothing", r.Reason)
			}
			reasons[r.Reason] = r.Count
		}
		want := map[rule.UndecidedReason]int64{rule.UndecidedSoftened: 2, rule.UndecidedCheck: 1, rule.UndecidedUncovered: 1, rule.UndecidedNoModel: 1}
		if diff := cmp.Diff(want, reasons); diff != "" {
			t.Errorf("reasons (-want +got):\n%s", diff)
		}
		// Each reason leads to the evaluations that have it.
		for reason, count := range reasons {
			list := into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?undecided="+string(reason), nil).want(http.StatusOK))
			if int64(list.Total) != count || list.Items[0].OverallVerdict != rule.NeedsConfirmation {
				t.Errorf("%s: %d evaluations, want %d", reason, list.Total, count)
			}
		}
		n.call("GET", evaluationsPath+"?undecided=mood", nil).want(http.StatusUnprocessableEntity)

		teams := map[string]string{}
		for _, f := range o.Teams {
			teams[f.Team] = fmt.Sprintf("%d/%d/%d", f.Allow, f.Deny, f.Unsure)
		}
		if diff := cmp.Diff(map[string]string{"payments": "1/1/1", "web": "0/0/2", "": "0/0/1"}, teams); diff != "" {
			t.Errorf("teams (-want +got):\n%s", diff)
		}
		if len(o.Nodes) != 2 || o.Nodes[0].NodeID != "" || o.Nodes[1].Name != "site" || o.Nodes[1].Total != 1 {
			t.Errorf("nodes: %+v", o.Nodes)
		}
		team := w.overview("period_days=1&team=web")
		if team.Counting != wire.CountsVerdicts || team.Totals.Unsure != 2 || team.Days[0].Unsure != 2 || len(team.Undecided) != 1 || len(team.Nodes) != 0 || len(team.Teams) != 1 {
			t.Errorf("of a team: %+v", team)
		}
		at := w.overview("period_days=1&node_id=SITE")
		if at.Counting != wire.CountsEvaluations || at.Totals.Total != 1 || len(at.Undecided) != 1 || at.Repositories.Total != 1 || at.NodeID != site.ID || at.NodePath != "site" {
			t.Errorf("at a node: %+v", at)
		}
		if none := w.overview("period_days=1&node_id=-"); none.Totals.Total != 6 || len(none.MostDenied) != 1 || none.MostDenied[0].Slug != "PAY-1" || none.MostDenied[0].Denied != 1 {
			t.Errorf("at no node: %+v", none)
		}
		for _, wrong := range []string{"?team=web&node_id=x", "?node_id=elsewhere", "/repositories?node_id=elsewhere", "/repositories/unjudged?node_id=elsewhere"} {
			n.call("GET", "/api/v1/insights"+wrong, nil).want(http.StatusUnprocessableEntity)
		}

		if r := o.Repositories; r.Total != 2 || r.WithoutNode != 1 || r.Silent != 0 || len(r.Latest) != 2 || r.Latest[0].Repository != "github.com/acme/other" {
			t.Errorf("repositories: %+v", r)
		}
		page := into[wire.Page[wire.RepositoryFigure]](n.call("GET", "/api/v1/insights/repositories?node_id="+site.ID, nil).want(http.StatusOK))
		if page.Total != 1 || page.Items[0].Repository != "acme/site" || page.Items[0].NodeName != "site" || page.Items[0].LastVerdict != rule.NeedsConfirmation || page.Items[0].Unsure != 1 {
			t.Errorf("repositories of a node: %+v", page)
		}

		// A node is bound to a repository and to a pattern that nobody has had judged, beside the one that was.
		site.Repositories = append(site.Repositories, "acme/ledger-api", "acme/pay-*")
		n.call("PATCH", "/api/v1/federations/"+site.ID, map[string]any{"repositories": site.Repositories}).want(http.StatusOK)
		o = w.overview("period_days=1")
		if r := o.Repositories; r.NeverJudged != 2 || len(r.Unjudged) != 2 || r.Unjudged[0].Repository != "acme/ledger-api" || r.Unjudged[0].Pattern || !r.Unjudged[1].Pattern || r.Unjudged[0].NodeName != "site" {
			t.Errorf("never judged: %+v", r)
		}
		unjudged := func(query string) wire.Page[wire.UnjudgedRepository] {
			return into[wire.Page[wire.UnjudgedRepository]](n.call("GET", "/api/v1/insights/repositories/unjudged?"+query, nil).want(http.StatusOK))
		}
		if page := unjudged("q=PAY&node_id=" + site.ID); page.Total != 1 || page.Items[0].Repository != "acme/pay-*" {
			t.Errorf("by words: %+v", page)
		}
		if page := unjudged("page_size=1&page=2"); page.Total != 2 || len(page.Items) != 1 || page.Items[0].Repository != "acme/pay-*" {
			t.Errorf("the second page: %+v", page)
		}
		n.call("POST", evaluatePath, map[string]any{"facts": map[string]any{"a": 1}, "repository": "acme/pay-out"}).want(http.StatusOK)
		if page := unjudged(""); page.Total != 1 || page.Items[0].Repository != "acme/ledger-api" {
			t.Errorf("after an evaluation: %+v", page)
		}

		measured := into[wire.MeasuredNow](n.call("POST", "/api/v1/insights/measure", nil).want(http.StatusOK))
		o = w.overview("period_days=1")
		if measured.Rules != 3 || o.Health.Measured != 3 || o.Health.Mean == nil || *o.Health.Mean <= 0 || *o.NeverAsked.Total != 0 || *o.Dormant.Total != 0 {
			t.Errorf("measured %+v: %+v, %+v", measured, o.Health, o.NeverAsked)
		}
		n.call("POST", "/api/v1/rules", map[string]any{"slug": "NEW-1", "statement": "Backups must be tested.", "status": "EFFECTIVE", "owner": "web"}).want(http.StatusCreated)
		n.call("POST", "/api/v1/insights/measure", nil).want(http.StatusOK)
		list := into[wire.MeasuredPage](n.call("GET", "/api/v1/insights/rules?standing=never_asked&team=web", nil).want(http.StatusOK))
		if list.Total != 1 || list.Items[0].Slug != "NEW-1" || !list.Items[0].NeverAsked || list.Items[0].Dormant || list.MeasuredAt == nil || list.Items[0].IdleSince == nil {
			t.Errorf("never asked: %+v", list)
		}
		if all := into[wire.MeasuredPage](n.call("GET", "/api/v1/insights/rules?page_size=2", nil).want(http.StatusOK)); all.Total != 4 || len(all.Items) != 2 || all.Items[0].Score > all.Items[1].Score {
			t.Errorf("measured rules: %+v", all)
		}
		projects := into[wire.Page[wire.ProjectFigure]](n.call("GET", "/api/v1/insights/projects", nil).want(http.StatusOK))
		if f := projects.Items[0]; projects.Total != 1 || f.Total != 8 || f.Health == nil || *f.NeverAsked != 1 || f.Repositories != 3 {
			t.Errorf("projects: %+v", projects)
		}
	})
}

// Agents and people have the counts that evaluations give them, also those from before they were counted, and filters lead to the same evaluations.
func TestActorsAreWhatTheRecordsSay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{})
		n.evalRule("E-1", nil)
		evaluate := func(content, agent, person string) {
			t.Helper()
			n.call("POST", "/api/v1/evaluate", map[string]any{"files": []map[string]string{{"path": "a.js", "content": content}}, "agent": agent, "on_behalf_of": person}).want(http.StatusOK)
		}
		evaluate("eval(x)", "claude-code", "corp:ann@example.com")
		evaluate("eval(x)", "Claude-Code", "corp:bo@example.com")
		evaluate("x = 1", "cursor", "corp:Ann@example.com")
		evaluate("x = 1", "", "")
		n.call("POST", "/api/v1/evaluate/quick", map[string]any{"action": "restart the server", "agent": "cursor"}).want(http.StatusOK)
		figures := func(list []wire.ActorFigure) string {
			all := ""
			for _, f := range list {
				all += fmt.Sprintf("%s %d/%d/%d ", f.Name, f.Allow, f.Deny, f.Unsure)
			}
			return all
		}
		check := func() {
			t.Helper()
			o := w.overview("period_days=1")
			if got := figures(o.Agents); got != "claude-code 0/2/0 cursor 1/0/1 " {
				t.Errorf("agents: %s", got)
			}
			if got := figures(o.People); got != "corp:ann@example.com 1/1/0 corp:bo@example.com 0/1/0 " {
				t.Errorf("people: %s", got)
			}
			for query, want := range map[string]string{
				"agent=CLAUDE-code": "0/2/0 E-1 2", "agent=cursor": "1/0/1", "person=corp:ann@example.com": "1/1/0 E-1 1", "agent=none": "0/0/0", "person=x": "0/0/0",
			} {
				o := w.overview("period_days=1&" + query)
				got := fmt.Sprintf("%d/%d/%d", o.Totals.Allow, o.Totals.Deny, o.Totals.Unsure)
				for _, f := range o.MostDenied {
					got += fmt.Sprintf(" %s %d", f.Slug, f.Denied)
				}
				list := into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?"+query, nil).want(http.StatusOK))
				if got != want || int64(list.Total) != o.Totals.Total || o.Days[0].Total != o.Totals.Total || len(o.Agents)+len(o.People)+len(o.Teams)+len(o.Nodes)+len(o.Models) != 0 {
					t.Errorf("%s: %s, want %s; %d evaluations; %+v", query, got, want, list.Total, o)
				}
				if reasons := o.Undecided; (query == "agent=cursor") != (len(reasons) == 1) {
					t.Errorf("%s: %+v", query, reasons)
				}
			}
		}
		check()
		for _, query := range []string{"team=web&agent=x", "agent=x&person=y", "node_id=x&person=y"} {
			n.call("GET", "/api/v1/insights?"+query, nil).want(http.StatusUnprocessableEntity)
		}
	})
}

// Evaluations that an earlier version has counted are counted by agent and person, and by nothing else once more.
func TestActorsOfEarlierEvaluations(t *testing.T) {
	t.Parallel()
	dir := litetest.Dir(t)
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(newNodeOn(t, s), health.Settings{})
	w.evalRule("E-1", nil)
	for range 3 {
		w.call("POST", "/api/v1/evaluate/quick", map[string]any{"action": "eval(x)", "agent": "cursor", "on_behalf_of": "ann"}).want(http.StatusOK)
	}
	before := w.overview("period_days=1")
	raw, err := sql.Open("sqlite", filepath.Join(dir, sqlstore.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close() //nolint:errcheck // the test is over
	for _, statement := range []string{
		"DELETE FROM group_counts WHERE dimension IN ('agent', 'person')", "DELETE FROM part_counts WHERE dimension IN ('agent', 'person', 'agent_rule', 'person_rule')",
		"DELETE FROM packed_counts WHERE kind IN ('agent', 'person')", "UPDATE count_marks SET filled = 0, fill_until = seq, fill_actors = TRUE", // as the migration does
	} {
		if _, err := raw.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.monitor.CatchUp(t.Context(), rule.DefaultProject); err != nil {
		t.Fatal(err)
	}
	after := w.overview("period_days=1")
	before.AsOf, after.AsOf = nil, nil
	if diff := cmp.Diff(before, after); diff != "" || len(after.Agents) != 1 || after.Agents[0].Total != 3 || len(after.People) != 1 {
		t.Errorf("%+v (-before +after):\n%s", after.Agents, diff)
	}
}

func TestTheReportOfAMonth(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		w := watch(n, health.Settings{})
		n.evalRule("E-1", nil)
		w.evaluate("eval(x)", 3)
		w.evaluate("x = 1", 1)
		snapshot := into[wire.Snapshot](n.call("POST", "/api/v1/snapshots", map[string]any{"name": "first"}).want(http.StatusCreated))
		n.call("POST", "/api/v1/snapshots/"+snapshot.ID+"/deploy", map[string]any{"environment": "staging"}).want(http.StatusOK)
		this := time.Now().UTC().Format("2006-01")
		w.now = time.Now().UTC()
		r := into[wire.MonthReport](n.call("GET", "/api/v1/insights/report?verify=true&month="+this, nil).want(http.StatusOK))
		if r.Complete || r.Evaluations.Total != 4 || r.Evaluations.Deny != 3 || r.EvaluationsThen.Total != 0 || r.Verdicts.DecidedBy.Check != 4 {
			t.Errorf("this month: %+v", r)
		}
		if len(r.Denied) != 1 || r.Denied[0].Slug != "E-1" || r.Denied[0].Denied != 3 || r.Denied[0].Verdicts != 4 || r.Denied[0].Before != 0 {
			t.Errorf("denied: %+v", r.Denied)
		}
		if r.Audit == nil || !r.Audit.Verified || r.Audit.Entries == 0 || r.Audit.Problems != 0 {
			t.Errorf("audit: %+v", r.Audit)
		}
		if len(r.Releases) != 1 || r.Releases[0].SnapshotName != "first" || r.Releases[0].Environment != wire.Staging || r.Releases[0].Action != "deploy" {
			t.Errorf("releases: %+v", r.Releases)
		}
		changes := map[string]int64{}
		for _, c := range r.Changes {
			changes[c.Kind+" "+c.Action] = c.Count
		}
		if changes["release snapshot"] != 1 || changes["release deploy"] != 1 || changes["rule create"]+changes["rule created"] != 1 {
			t.Errorf("changes: %v", changes)
		}
		// A month later, it is the month before.
		w.now = time.Date(w.now.Year(), w.now.Month()+1, 2, 0, 0, 0, 0, time.UTC)
		later := into[wire.MonthReport](n.call("GET", "/api/v1/insights/report?month="+w.now.Format("2006-01"), nil).want(http.StatusOK))
		if later.Evaluations.Total != 0 || later.EvaluationsThen.Total != 4 || later.VerdictsThen.Deny != 3 || later.Audit != nil || len(later.Denied) != 0 {
			t.Errorf("a month later: %+v", later)
		}
		if last := into[wire.MonthReport](n.call("GET", "/api/v1/insights/report", nil).want(http.StatusOK)); last.Month != this || !last.Complete {
			t.Errorf("without a month: %+v", last)
		}
		for _, month := range []string{"2026-13", "x", "2020-01", "2999-01"} {
			n.call("GET", "/api/v1/insights/report?month="+month, nil).want(http.StatusUnprocessableEntity)
		}
	})
}
