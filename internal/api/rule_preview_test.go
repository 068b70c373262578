package api

import (
	"net/http"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/wire"
)

// TestPreviewOfARevision tries a change on recorded evaluations, and stores nothing.
func TestPreviewOfARevision(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		limit := func(amount string) fields {
			return fields{"cel": "facts.amount <= " + amount, "when": "'amount' in facts"}
		}
		n.call("POST", rulesPath, fields{"slug": "PAY-1", "statement": "Payments must not exceed the limit.", "severity": "HIGH", "status": "EFFECTIVE", "check": limit("100")}).want(http.StatusCreated)
		n.call("POST", rulesPath, fields{"slug": "HR-1", "statement": "Be kind to people.", "status": "DRAFT"}).want(http.StatusCreated)
		small, large := n.evaluates(fields{"facts": fields{"amount": 50}}), n.evaluates(fields{"facts": fields{"amount": 500}})
		preview := func(ref string, change fields, replay int) wire.RevisionPreview {
			t.Helper()
			return into[wire.RevisionPreview](n.call("POST", rulesPath+"/"+ref+"/preview", fields{"change": change, "replay": replay}).want(http.StatusOK))
		}
		looser := preview("PAY-1", fields{"check": limit("1000"), "severity": "MEDIUM"}, 20)
		if looser.Rule.Check.CEL != "facts.amount <= 1000" || len(looser.Changes) != 2 || len(looser.Weakens) != 1 || looser.Waits || looser.Rule.Findings == nil {
			t.Errorf("the preview %+v", looser)
		}
		r := looser.Replay
		if r.Evaluations != 2 || r.Replayed != 2 || r.NeedModel != 0 || r.Partial || len(r.NotReplayed) != 0 || len(r.Flips) != 1 {
			t.Fatalf("the replay %+v", r)
		}
		if f := r.Flips[0]; f.EvaluationID != large.EvaluationID || f.Before != rule.Deny || f.After != rule.Allow || f.OverallBefore != rule.Deny || f.OverallAfter != rule.Allow || f.Why == "" {
			t.Errorf("the flip %+v", f)
		}
		if stricter := preview("PAY-1", fields{"check": limit("10")}, 1).Replay; stricter.Evaluations != 1 || len(stricter.Flips) != 0 {
			t.Errorf("only the newest evaluation, which is denied already: %+v", stricter)
		}
		if stricter := preview("PAY-1", fields{"check": limit("10")}, 100).Replay; len(stricter.Flips) != 1 || stricter.Flips[0].EvaluationID != small.EvaluationID || stricter.Flips[0].After != rule.Deny {
			t.Errorf("a stricter check: %+v", stricter)
		}
		if open := preview("PAY-1", fields{"check": nil}, 100).Replay; open.NeedModel != 2 || open.Replayed != 0 {
			t.Errorf("without its check: %+v", open)
		}
		// A draft is tried as if it were in force, and a change of words only replays nothing unless asked.
		if draft := preview("HR-1", fields{"check": limit("1")}, 100).Replay; len(draft.Flips) != 2 || draft.Flips[0].Before != "" || draft.Flips[0].After != rule.Deny {
			t.Errorf("a draft: %+v", draft)
		}
		if words := preview("HR-1", fields{"statement": "Be kind, as appropriate."}, 0); words.Replay != nil || len(words.Rule.Findings) == 0 || words.Weakens != nil {
			t.Errorf("words only: %+v", words)
		}
		view, err := n.live.View(t.Context(), rule.DefaultProject)
		if err != nil {
			t.Fatal(err)
		}
		late, err := evaluate.Effects{Evaluator: n.cfg.Evaluator}.Effect(t.Context(), rule.DefaultProject, looser.Rule.ID, view, view, 10, 0)
		if err != nil || !late.Partial || late.Evaluations != 2 || late.Replayed != 0 {
			t.Errorf("without time: %+v, %v", late, err)
		}
		if stored := into[rule.Rule](n.call("GET", rulesPath+"/PAY-1", nil).want(http.StatusOK)); stored.Version != 1 || stored.Check.CEL != "facts.amount <= 100" || stored.Severity != rule.High {
			t.Errorf("the preview changed the rule: %+v", stored)
		}
		path := rulesPath + "/PAY-1/preview"
		n.call("POST", path, fields{"change": fields{"check": fields{"cel": "facts.amount <="}}}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "check.cel")
		n.call("POST", path, fields{"change": fields{}, "replay": 101}).want(http.StatusUnprocessableEntity)
		n.call("POST", path, fields{"change": fields{"statment": "x"}}).want(http.StatusUnprocessableEntity)
		n.call("POST", rulesPath+"/NO-1/preview", fields{"change": fields{}}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("PATCH", projectsPath+"/default", `{"two_person_approval":true}`).want(http.StatusOK)
		if !preview("PAY-1", fields{"severity": "LOW"}, 0).Waits || preview("PAY-1", fields{"owner": "ann"}, 0).Waits {
			t.Error("a change of severity waits for a second person, one of the owner does not")
		}
	})
}

// TestPlaygroundOfARevision tries the fields of a revision, and asks no model where only checks are wanted.
func TestPlaygroundOfARevision(t *testing.T) {
	t.Parallel()
	model := judgetest.Model(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Allow() })
	n := newNode(t, func(cfg *config) {
		cfg.Sandbox = sandbox.New(sandbox.Config{Store: sandbox.Store{Updater: cfg.store, Jobs: cfg.store.Jobs, Rules: cfg.store.Rules, Runs: cfg.store.Runs, TestCases: cfg.store.TestCases}, Recorded: cfg.Evaluator, Now: time.Now, Evaluator: evaluate.New(evaluate.Config{
			Judge: judge.New(judge.Config{Model: model}), Checks: check.NewCache(10), Now: time.Now,
		})})
	})
	n.call("POST", rulesPath, fields{"slug": "PY-1", "statement": "No text is run as code.", "check": fields{"pattern": fields{"regex": `\beval\(`}}}).want(http.StatusCreated)
	play := func(body fields) wire.PlaygroundAnswer {
		t.Helper()
		body["rule_id"], body["sample_code"] = "PY-1", "x = exec(y)\n"
		return into[wire.PlaygroundAnswer](n.call("POST", playground, body).want(http.StatusOK))
	}
	if a := play(fields{"revision": fields{"check": fields{"pattern": fields{"regex": `\bexec\(`}}}}); a.Verdict != rule.Deny || a.DecidedBy != rule.ByCheck {
		t.Errorf("the revised check: %+v", a)
	}
	if a := play(fields{"revision": fields{"check": nil}, "checks_only": true}); a.Verdict != rule.NeedsConfirmation || a.DecidedBy != rule.ByNone || a.Cost.Calls != 0 ||
		a.Reasoning != "No check decides this, and no model was asked." || model.Calls() != 0 {
		t.Errorf("checks only: %+v, %d calls", a, model.Calls())
	}
	if a := play(fields{"revision": fields{"check": nil}}); a.DecidedBy != rule.ByModel || model.Calls() == 0 {
		t.Errorf("with the model: %+v", a)
	}
	n.call("POST", playground, fields{"rule_statement": "x", "revision": fields{}, "sample_code": "x"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rule_id")
	if r := into[rule.Rule](n.call("GET", rulesPath+"/PY-1", nil).want(http.StatusOK)); r.Check == nil || r.Check.Pattern.Regex != `\beval\(` {
		t.Errorf("the playground changed the rule: %+v", r.Check)
	}
}
