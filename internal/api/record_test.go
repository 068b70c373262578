package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate"
	"tenet/internal/evaluate/record"
	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// fakeSecret looks like a key of a cloud provider. It is put together here, so that nobody takes it for a real one.
func fakeSecret() string { return "AKIA" + "Q3EGRTYUIOPASDF7" }

// judgedRules make one rule that a check decides and two that the judge does.
func (n *node) judgedRules() {
	n.t.Helper()
	for _, r := range []fields{
		{"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "check": fields{"pattern": fields{"regex": `\beval\(`}}},
		{"slug": "J-1", "statement": "Names are honest.", "status": "EFFECTIVE", "severity": "HIGH"},
		{"slug": "J-2", "statement": "Nothing is quick and dirty.", "status": "EFFECTIVE", "severity": "HIGH"},
	} {
		n.call("POST", rulesPath, r).want(http.StatusCreated)
	}
}

// critic allows everything but what is quick and dirty.
func critic() *llmtest.Fake {
	return judgetest.Model(func(r judgetest.Rule, subject string) judgetest.Entry {
		if strings.Contains(r.Statement, "quick and dirty") && strings.Contains(subject, "quick and dirty") {
			return judgetest.Deny("# quick and dirty")
		}
		return judgetest.Allow()
	})
}

func (n *node) evaluates(body fields) rule.Evaluation {
	n.t.Helper()
	return into[rule.Evaluation](n.call("POST", evaluatePath, body).want(http.StatusOK))
}

func (n *node) replays(id string, body fields) wire.Replay {
	n.t.Helper()
	r := n.call("POST", evaluationsPath+"/"+id+"/replay", body)
	if r.status == 500 {
		n.t.Log(n.log.String())
	}
	return into[wire.Replay](r.want(http.StatusOK))
}

func outcomes(r wire.Replay) map[string]wire.ReplayOutcome {
	out := map[string]wire.ReplayOutcome{}
	for _, x := range r.Rules {
		out[x.RuleSlug] = x.Outcome
	}
	return out
}

func TestReplayAgreesWithoutAModel(t *testing.T) {
	t.Parallel()
	onBoth(t, testReplayAgrees)
}

func testReplayAgrees(t *testing.T, n *node) {
	n.judgedRules()
	model := critic()
	n.judging(model)
	e := n.evaluates(fields{"diff": badDiff})
	if got := verdicts(e); got["SEC-1"] != rule.Deny || got["J-1"] != rule.Allow || got["J-2"] != rule.Deny {
		t.Fatalf("verdicts %v", got)
	}
	// The rules change; the record speaks of what they were.
	for _, slug := range []string{"SEC-1", "J-1", "J-2"} {
		n.call("PATCH", rulesPath+"/"+slug, fields{"statement": "Something else."}).want(http.StatusOK)
	}
	calls := model.Calls()
	n.judging(nil) // a server without a model
	r := n.replays(e.EvaluationID, fields{})
	if !r.Agrees || r.Differing+r.Unreplayable != 0 || len(r.Rules) != 3 || r.Live {
		t.Errorf("replay %+v, want all three to come out the same", r)
	}
	if model.Calls() != calls {
		t.Error("the replay asked the model")
	}
}

// A record whose hash is from before modes of files were hashed is whole. The hash is one that the version before gave.
func TestReplayOfARecordFromBeforeModesWereHashed(t *testing.T) {
	t.Parallel()
	onBoth(t, testReplayBeforeModes)
}

func testReplayBeforeModes(t *testing.T, n *node) {
	n.call("POST", rulesPath, fields{"slug": "SH-1", "statement": "No sudo.", "status": "EFFECTIVE", "check": fields{"cel": "!files.exists(f, f.path == \"x\")"}}).want(http.StatusCreated)
	n.judging(nil)
	e := n.evaluates(fields{"diff": "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-a\n+b\n"})
	for hash, whole := range map[string]bool{
		"70f3890fa117304735a18189161605025063fe322aaedeff0d3b745b785a7c07": true,
		"70f3890fa117304735a18189161605025063fe322aaedeff0d3b745b785a7c08": false,
	} {
		older, err := n.cfg.answering.Get(t.Context(), rule.DefaultProject, e.EvaluationID)
		if err != nil {
			t.Fatal(err)
		}
		older.Evaluation.EvaluationID, older.Audit, older.SubjectHash = audit.NewID(), nil, hash
		if err := n.writer.Append(t.Context(), audit.Record{
			ProjectID: rule.DefaultProject, ID: older.Evaluation.EvaluationID, Kind: audit.KindEvaluation, At: time.Now(), Body: audit.JSON(older),
		}); err != nil {
			t.Fatal(err)
		}
		if r := n.replays(older.Evaluation.EvaluationID, fields{}); r.Agrees != whole || (r.Problem == "") != whole {
			t.Errorf("recorded hash %s: %+v, want it to agree: %t", hash, r, whole)
		}
	}
}

func TestReplayFindsAForgedAnswer(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judgedRules()
	n.judging(critic())
	e := n.evaluates(fields{"diff": badDiff})
	rec, err := n.cfg.answering.Get(t.Context(), rule.DefaultProject, e.EvaluationID)
	if err != nil {
		t.Fatal(err)
	}
	// A record that claims other verdicts than its subject and its answers give, in a chain of its own.
	forge := func(edit func(*wire.EvaluationRecord)) wire.Replay {
		t.Helper()
		forged, err := n.cfg.answering.Get(t.Context(), rule.DefaultProject, e.EvaluationID)
		if err != nil {
			t.Fatal(err)
		}
		forged.Evaluation.EvaluationID, forged.Audit = audit.NewID(), nil
		edit(forged)
		err = n.writer.Append(t.Context(), audit.Record{
			ProjectID: rule.DefaultProject, ID: forged.Evaluation.EvaluationID, Kind: audit.KindEvaluation, At: time.Now(), Body: audit.JSON(forged),
		})
		if err != nil {
			t.Fatal(err)
		}
		return n.replays(forged.Evaluation.EvaluationID, fields{})
	}
	if r := forge(func(*wire.EvaluationRecord) {}); !r.Agrees {
		t.Fatalf("an honest copy differs: %+v", r)
	}
	for i, v := range rec.Evaluation.RuleVerdicts {
		r := forge(func(f *wire.EvaluationRecord) {
			f.Evaluation.RuleVerdicts[i].Verdict = map[rule.Verdict]rule.Verdict{rule.Allow: rule.Deny, rule.Deny: rule.Allow}[v.Verdict]
		})
		if r.Agrees || r.Differing != 1 || outcomes(r)[v.RuleSlug] != wire.ReplayDiffers {
			t.Errorf("another verdict of %s: %+v", v.RuleSlug, r)
		}
	}
	if r := forge(func(f *wire.EvaluationRecord) {
		f.Subject.Diff = strings.Replace(f.Subject.Diff, "log(text)", "log(more)", 1)
	}); r.Agrees || r.Problem == "" {
		t.Errorf("another subject: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) { f.Calls[0].PromptHash = "0" }); r.Agrees || !strings.Contains(r.Problem, "asked") {
		t.Errorf("another prompt: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) { f.Rules[0].ContentHash = "0" }); r.Unreplayable != 1 {
		t.Errorf("another rule: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) {
		for i := range f.Calls {
			f.Calls[i].Raw = strings.ReplaceAll(f.Calls[i].Raw, "DENY", "ALLOW")
		}
	}); r.Agrees {
		t.Errorf("other answers of the model: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) { f.Evaluation.OverallVerdict = rule.Allow }); r.Agrees || !strings.Contains(r.Problem, "does not follow") {
		t.Errorf("another overall verdict: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) { f.Evaluation.RuleVerdicts = f.Evaluation.RuleVerdicts[1:] }); r.Agrees || !strings.Contains(r.Problem, "one verdict for each rule") {
		t.Errorf("a verdict less: %+v", r)
	}
}

func TestReplayLiveShowsWhatTheModelSaysNow(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judgedRules()
	n.judging(critic())
	e := n.evaluates(fields{"diff": badDiff})
	n.judging(judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Allow() }))
	r := n.replays(e.EvaluationID, fields{"live": true})
	if got := outcomes(r); r.Agrees || got["J-2"] != wire.ReplayDiffers || got["J-1"] != wire.ReplaySame || got["SEC-1"] != wire.ReplaySame || r.Cost.Calls == 0 {
		t.Errorf("replay %+v", r)
	}
	if list := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil)); list.Total != 1 {
		t.Errorf("%d records: a replay was recorded", list.Total)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath, fields{
		"slug": "SEC-3", "statement": "No keys in code.", "modality": "MUST_NOT", "status": "EFFECTIVE", "check": fields{"pattern": fields{"regex": "AKIA[A-Z0-9]{16}"}},
	}).want(http.StatusCreated)
	n.call("POST", rulesPath, fields{
		"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "check": fields{"pattern": fields{"regex": `\beval\(`}},
	}).want(http.StatusCreated)
	n.judging(nil)
	diff := strings.Replace(badDiff, "# quick and dirty", `key = "`+fakeSecret()+`"`, 1)
	e := n.evaluates(fields{"diff": diff})
	if len(e.Violations) != 2 {
		t.Fatalf("violations %+v", e.Violations)
	}
	entries, err := n.store.Audit.Entries(t.Context(), rule.DefaultProject, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		body, err := audit.Body(entry)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(body, []byte(fakeSecret())) {
			t.Errorf("entry %d of kind %s tells the secret", entry.Seq, entry.Kind)
		}
	}
	rec := into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+strings.ToUpper(e.EvaluationID), nil).want(http.StatusOK))
	if len(rec.Redactions) != 1 || rec.Redactions[0].Where != "diff" || rec.Kept != wire.KeepRedacted {
		t.Errorf("redactions %+v, kept %s", rec.Redactions, rec.Kept)
	}
	r := n.replays(e.EvaluationID, fields{})
	if got := outcomes(r); !r.Agrees || got["SEC-1"] != wire.ReplaySame || got["SEC-3"] != wire.ReplayImpossible || r.Rules[0].Reason+r.Rules[1].Reason != "redacted" {
		t.Errorf("replay %+v, want that the verdict on the secret says that it is redacted", r)
	}

	n.judging(nil, func(c *evaluate.Config) { c.Subjects = wire.KeepFull })
	e = n.evaluates(fields{"diff": diff})
	if r := n.replays(e.EvaluationID, fields{}); !r.Agrees || r.Unreplayable != 0 {
		t.Errorf("replay of a record that keeps all: %+v", r)
	}
	n.judging(nil, func(c *evaluate.Config) { c.Subjects = wire.KeepNone })
	e = n.evaluates(fields{"diff": diff, "repository": "acme/app"})
	rec = into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+e.EvaluationID, nil).want(http.StatusOK))
	if rec.Subject.Diff != "" || rec.Subject.Repository != "acme/app" {
		t.Errorf("the subject is kept: %+v", rec.Subject)
	}
	if r := n.replays(e.EvaluationID, fields{}); !r.Agrees || r.Unreplayable != 2 {
		t.Errorf("replay of a record without its subject: %+v", r)
	}
	n.call("POST", evaluationsPath+"/"+e.EvaluationID+"/test-cases", fields{"rule_id": "SEC-1"}).
		wantProblem(http.StatusConflict, rule.CodeConflict)
	id := into[rule.Rule](n.call("GET", rulesPath+"/SEC-1", nil).want(http.StatusOK)).ID
	if past, err := n.cfg.Evaluator.Past(t.Context(), rule.DefaultProject, id, 10); err != nil || len(past) != 1 || past[0].Subject.Diff != diff {
		t.Errorf("past subjects %+v, %v; want the one that is kept whole", past, err)
	}
}

func TestOnlyReviewersReadWhatModelsSaid(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judgedRules()
	n.judging(critic())
	e := n.evaluates(fields{"diff": badDiff})
	for role, may := range map[auth.Role]bool{auth.Viewer: false, auth.Evaluator: false, auth.Reviewer: true, auth.Admin: true} {
		n.key = n.makeKey(role, rule.DefaultProject)
		rec := into[wire.EvaluationRecord](n.call("GET", evaluationsPath+"/"+e.EvaluationID, nil).want(http.StatusOK))
		if len(rec.Calls) == 0 || (rec.Calls[0].Raw != "") != may || rec.Calls[0].Model == "" || len(rec.Evaluation.RuleVerdicts) != 3 {
			t.Errorf("%s: calls %+v", role, rec.Calls)
		}
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	onBoth(t, testRetention)
}

func testRetention(t *testing.T, n *node) {
	seedEvaluation(n)
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()) }
	e := n.judging(nil, func(c *evaluate.Config) { c.Now = now })
	old := n.evaluates(fields{"facts": fields{"amount": 20000, "second_approver": ""}})
	named := n.call("POST", evaluatePath, fields{"facts": fields{"amount": 2}}, "Idempotency-Key", "k").want(http.StatusOK)
	clock.Add(int64(48 * time.Hour))
	young := n.evaluates(fields{"facts": fields{"amount": 3}})
	prune := func(keep record.Retention) {
		t.Helper()
		if err := e.Prune(keep)(context.Background(), wire.Job{}, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	verify := func(pruned int64) {
		t.Helper()
		r := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK))
		if len(r.Problems) != 0 || r.Pruned != pruned {
			t.Errorf("report %+v, want %d bodies pruned and no damage", r, pruned)
		}
	}
	prune(record.Retention{})
	verify(0)
	prune(record.Retention{Records: 24 * time.Hour, Submissions: 24 * time.Hour})
	verify(2)
	prune(record.Retention{Records: 24 * time.Hour, Submissions: 24 * time.Hour})
	verify(2)
	if got := n.call("GET", evaluationsPath+"/"+old.EvaluationID, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound); !strings.Contains(got.Detail, "retention") {
		t.Errorf("the answer does not say why: %s", got.Detail)
	}
	n.call("GET", evaluationsPath+"/"+young.EvaluationID, nil).want(http.StatusOK)
	past, err := e.Past(t.Context(), rule.DefaultProject, young.RuleVerdicts[0].RuleID, 10)
	if err != nil || len(past) != 1 || past[0].EvaluationID != young.EvaluationID {
		t.Errorf("past evaluations: %+v, %v", past, err)
	}
	list := into[wire.Page[wire.EvaluationSummary]](n.call("GET", evaluationsPath, nil).want(http.StatusOK))
	if list.Total != 3 || !list.Items[2].Pruned || list.Items[2].OverallVerdict != rule.Deny || list.Items[0].Pruned {
		t.Errorf("list %+v", list)
	}
	again := n.call("POST", evaluatePath, fields{"facts": fields{"amount": 2}}, "Idempotency-Key", "k").want(http.StatusOK)
	if string(again.body) == string(named.body) {
		t.Error("the key stands for its first request after its time")
	}
	// A body that is gone without a word in the chain is damage.
	err = n.store.Update(t.Context(), func(tx store.Tx) error {
		_, _, err := tx.Audit.DropBodies(t.Context(), rule.DefaultProject, audit.KindEvaluation, 0, 1<<40, 100, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK)); len(r.Problems) != 2 {
		t.Errorf("report %+v, want the two bodies that were taken out silently", r)
	}
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	onBoth(t, testFeedbackAPI)
}

func testFeedbackAPI(t *testing.T, n *node) {
	n.judgedRules()
	n.judging(critic())
	admin := n.makeKey(auth.Admin, rule.DefaultProject)
	n.key = admin
	e := n.evaluates(fields{"diff": badDiff})
	path := evaluationsPath + "/" + e.EvaluationID + "/feedback"
	n.call("POST", path, fields{"rule_id": "J-9", "correct": true}).wantProblem(422, rule.CodeInvalid, "rule_id")
	n.call("POST", path, fields{"rule_id": "J-1"}).wantProblem(422, rule.CodeInvalid, "correct")
	n.call("POST", evaluationsPath+"/"+audit.NewID()+"/feedback", fields{"rule_id": "J-1", "correct": true}).wantProblem(404, rule.CodeNotFound)
	n.call("POST", path, fields{"rule_id": "J-2", "correct": false, "note": "It is a comment."}).want(http.StatusOK)
	n.call("POST", path, fields{"rule_id": ruleID(e, "SEC-1"), "correct": true}).want(http.StatusOK)
	n.call("POST", path, fields{"rule_id": "J-2", "correct": true, "note": "On second thought."}).want(http.StatusOK) // takes the place of the first
	list := into[wire.FeedbackList](n.call("GET", path, nil).want(http.StatusOK))
	if list.Total != 2 {
		t.Errorf("feedback %+v, want one for each rule", list)
	}
	n.key = n.makeKey(auth.Reviewer, rule.DefaultProject)
	n.call("POST", path, fields{"rule_id": "J-2", "correct": false}).want(http.StatusOK)
	q := into[wire.RuleQuality](n.call("GET", rulesPath+"/J-2/quality", nil).want(http.StatusOK))
	if q.Feedback.TruePositives != 1 || q.Feedback.FalsePositives != 1 || q.Feedback.Precision == nil || q.Feedback.Precision.Value != 0.5 ||
		q.Feedback.Precision.Low <= 0 || q.Feedback.Precision.High >= 1 || q.Confidence != nil || q.Judged != 2 {
		t.Errorf("quality %+v", q)
	}
	n.call("PATCH", rulesPath+"/J-2", fields{"statement": "Nothing is quick and dirty here."}).want(http.StatusOK)
	q = into[wire.RuleQuality](n.call("GET", rulesPath+"/J-2/quality", nil).want(http.StatusOK))
	if q.Judged != 0 || q.Feedback.Precision != nil {
		t.Errorf("quality of the changed rule %+v: what was said about the old one counts", q)
	}
}

func TestConfidenceFollowsFromFeedback(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.judgedRules()
	n.judging(critic())
	confidence := func(slug string) float64 {
		t.Helper()
		for _, v := range n.evaluates(fields{"diff": badDiff}).RuleVerdicts {
			if v.RuleSlug == slug {
				return v.Confidence
			}
		}
		t.Fatal("no verdict")
		return 0
	}
	before := confidence("J-2")
	for i := range 20 {
		if got := confidence("J-2"); got != before {
			t.Errorf("after %d pieces of feedback the confidence is %g, want %g as before", i, got, before)
		}
		e := n.evaluates(fields{"diff": badDiff})
		n.call("POST", evaluationsPath+"/"+e.EvaluationID+"/feedback", fields{"rule_id": "J-2", "correct": i%10 != 0}).want(http.StatusOK)
	}
	if got, want := confidence("J-2"), 19.0/22; got != want {
		t.Errorf("confidence %g, want %g: 18 right of 20", got, want)
	}
	if got := confidence("SEC-1"); got != 1 {
		t.Errorf("confidence of a check %g", got)
	}
	q := into[wire.RuleQuality](n.call("GET", rulesPath+"/J-2/quality", nil).want(http.StatusOK))
	if q.Confidence == nil || fmt.Sprint(q.Confidence.Deny, q.Confidence.Allow) != fmt.Sprint(19.0/22, 0.5) {
		t.Errorf("quality %+v", q)
	}
}

func ruleID(e rule.Evaluation, slug string) string {
	for _, v := range e.RuleVerdicts {
		if v.RuleSlug == slug {
			return v.RuleID
		}
	}
	return ""
}

// manyRules make 60 rules that the judge decides, of which triage names the tenth part where the subject is quick and dirty.
func (n *node) manyRules() *llmtest.Fake {
	n.t.Helper()
	var rules []fields
	for i := range 60 {
		rules = append(rules, fields{"slug": fmt.Sprintf("M-%d", i), "statement": fmt.Sprintf("Statement %d holds.", i), "status": "EFFECTIVE", "severity": "MEDIUM"})
	}
	n.call("POST", rulesPath+"/import", fields{"rules": rules}).want(http.StatusOK)
	return judgetest.Triager(
		func(r judgetest.Rule, text string) bool {
			return strings.Contains(r.Statement, "7 holds") && strings.Contains(text, "quick and dirty")
		},
		func(r judgetest.Rule, _ string) judgetest.Entry {
			if strings.Contains(r.Statement, " 57 ") {
				return judgetest.Deny("# quick and dirty")
			}
			return judgetest.Allow()
		})
}

func TestReplayVerifiesTriage(t *testing.T) {
	t.Parallel()
	onBoth(t, testReplayVerifiesTriage)
}

func testReplayVerifiesTriage(t *testing.T, n *node) {
	model := n.manyRules()
	n.judging(model)
	e := n.evaluates(fields{"diff": badDiff})
	if c := e.Coverage; e.OverallVerdict != rule.Deny || c.RulesTriagedOut != 54 || c.RulesConcerned != 6 || len(e.RuleVerdicts) != 20 || e.Cost.TriageCalls != 1 || e.Cost.Calls != 2 {
		t.Fatalf("overall %s, coverage %+v, cost %+v", e.OverallVerdict, c, e.Cost)
	}
	n.call("PATCH", rulesPath+"/M-3", fields{"statement": "Something else."}).want(http.StatusOK)
	n.judging(nil)
	if r := n.replays(e.EvaluationID, fields{}); !r.Agrees || r.Differing+r.Unreplayable != 0 || len(r.Rules) != 20 || r.Triaged != 60 {
		t.Errorf("replay %+v", r)
	}
	n.judging(model)
	if r := n.replays(e.EvaluationID, fields{"live": true}); !r.Agrees || r.Cost.TriageCalls != 1 {
		t.Errorf("live %+v", r)
	}
	// A record that claims another triage than its answers give.
	forge := func(edit func(*wire.EvaluationRecord)) wire.Replay {
		t.Helper()
		forged, err := n.cfg.answering.Get(t.Context(), rule.DefaultProject, e.EvaluationID)
		if err != nil {
			t.Fatal(err)
		}
		forged.Evaluation.EvaluationID, forged.Audit = audit.NewID(), nil
		edit(forged)
		err = n.writer.Append(t.Context(), audit.Record{
			ProjectID: rule.DefaultProject, ID: forged.Evaluation.EvaluationID, Kind: audit.KindEvaluation, At: time.Now(), Body: audit.JSON(forged),
		})
		if err != nil {
			t.Fatal(err)
		}
		return n.replays(forged.Evaluation.EvaluationID, fields{})
	}
	if r := forge(func(*wire.EvaluationRecord) {}); !r.Agrees {
		t.Fatalf("an honest copy differs: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) {
		for i := range f.Triage.Rules {
			f.Triage.Rules[i].Outcome = wire.TriageRuledOut
		}
	}); r.Agrees || !strings.Contains(r.Problem, "Triage comes out differently for 6 rules") {
		t.Errorf("other outcomes: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) { f.Calls[0].Raw = strings.Replace(f.Calls[0].Raw, `"R`, `"R9`, 1) }); r.Agrees {
		t.Errorf("another answer: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) { f.Calls[0].PromptHash = "0" }); r.Agrees || !strings.Contains(r.Problem, "asked") {
		t.Errorf("another prompt: %+v", r)
	}
	if r := forge(func(f *wire.EvaluationRecord) { f.Triage.Rules[5].ContentHash = "0" }); r.Differing != 0 || r.Unreplayable != 14 {
		t.Errorf("a rule that is gone: %+v", r)
	}
}

// TestReplayOfWhatWasNotAsked has more rules than the judge takes, and a triage that gives nothing.
func TestReplayOfWhatWasNotAsked(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.manyRules()
	n.judging(&llmtest.Fake{Respond: func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if judgetest.IsTriage(req) {
			return llm.Response{Text: "No."}, nil
		}
		return critic().Complete(ctx, req)
	}})
	e := n.evaluates(fields{"diff": badDiff})
	if e.OverallVerdict != rule.NeedsConfirmation || e.Coverage.RulesNotAsked != 40 || len(e.Notices) != 1 || e.Cost.TriageCalls != 2 {
		t.Fatalf("overall %s, coverage %+v, notices %q, cost %+v", e.OverallVerdict, e.Coverage, e.Notices, e.Cost)
	}
	if r := n.replays(e.EvaluationID, fields{}); !r.Agrees || r.Differing+r.Unreplayable != 0 {
		t.Errorf("replay %+v", r)
	}
}

// TestPastEvaluationsTakeTheirTriage decides a recorded evaluation under the same rules, and under many more.
func TestPastEvaluationsTakeTheirTriage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	model := n.manyRules()
	j := judge.New(judge.Config{Model: model})
	e := n.judging(model, func(c *evaluate.Config) { c.Judge, c.Estimate, c.EstimateTriage = j, j.Estimate, j.EstimateTriage })
	n.evaluates(fields{"diff": badDiff})
	under := func(asks bool) (*rule.Evaluation, rule.Estimate) {
		t.Helper()
		past, err := e.Recent(t.Context(), rule.DefaultProject, rule.Deny, 1)
		if err != nil || len(past) != 1 {
			t.Fatalf("%d recent, %v", len(past), err)
		}
		view, err := n.live.View(t.Context(), rule.DefaultProject)
		if err != nil {
			t.Fatal(err)
		}
		again, open, err := past[0].Under(t.Context(), view, asks)
		if err != nil {
			t.Fatal(err)
		}
		return again, open
	}
	byTriage := func(e *rule.Evaluation) (n int) {
		for _, v := range e.RuleVerdicts {
			if v.DecidedBy == rule.ByTriage && v.Verdict == rule.Allow && !v.Concerned {
				n++
			}
		}
		return n
	}
	calls := model.Calls()
	if again, open := under(false); again.OverallVerdict != rule.Deny || len(again.RuleVerdicts) != 60 || byTriage(again) != 54 || open.Verdicts != 0 || model.Calls() != calls {
		t.Errorf("overall %s, %d verdicts, %d by triage, open %+v", again.OverallVerdict, len(again.RuleVerdicts), byTriage(again), open)
	}
	var rules []fields
	for i := range 40 {
		rules = append(rules, fields{"slug": fmt.Sprintf("N-%d", i), "statement": fmt.Sprintf("Another %d holds.", i), "status": "EFFECTIVE", "severity": "HIGH"})
	}
	n.call("POST", rulesPath+"/import", fields{"rules": rules}).want(http.StatusOK)
	if _, open := under(false); open.Verdicts == 0 || open.Calls != 3 || model.Calls() != calls {
		t.Errorf("open %+v, %d calls", open, model.Calls()-calls)
	}
	if again, _ := under(true); again.OverallVerdict != rule.Deny || len(again.RuleVerdicts) != 100 || byTriage(again) != 54+36 || again.Cost.TriageCalls != 1 {
		t.Errorf("overall %s, %d verdicts, %d by triage, cost %+v", again.OverallVerdict, len(again.RuleVerdicts), byTriage(again), again.Cost)
	}
}

// Feedback has stored verdicts read again only where it deleted some.
func TestFeedbackThatDeletesNoVerdictHasNoneReadAgain(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath, fields{"slug": "J-1", "statement": "Be kind.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	dropped := 0
	m := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Allow() })
	cache := judge.NewCache(judge.CacheConfig{Store: n.store, Verdicts: n.store.Verdicts})
	t.Cleanup(cache.Close)
	n.judging(m, func(c *evaluate.Config) {
		c.Judge = judge.New(judge.Config{Model: m, Cache: cache})
		c.Records.Dropped = func(string) { dropped++ }
	})
	e := n.evaluates(fields{"diff": goodDiff})
	for i, correct := range []bool{true, false} {
		n.call("POST", evaluationsPath+"/"+e.EvaluationID+"/feedback", fields{"rule_id": "J-1", "correct": correct}).want(http.StatusOK)
		if dropped != i {
			t.Errorf("after feedback that the verdict is correct: %t, verdicts were read again %d times, want %d", correct, dropped, i)
		}
	}
}
