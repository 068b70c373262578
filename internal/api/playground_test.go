package api

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/check"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/judge/judgetest"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/store"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

const playground = "/api/v1/playground/evaluate"

// withModel lets a scripted model judge in the sandbox.
func withModel(decide func(judgetest.Rule, string) judgetest.Entry) func(*config) {
	return func(cfg *config) {
		cfg.Sandbox = sandbox.New(sandbox.Config{Store: sandbox.Store{Updater: cfg.store, Jobs: cfg.store.Jobs, Rules: cfg.store.Rules, Runs: cfg.store.Runs, TestCases: cfg.store.TestCases}, Recorded: cfg.Evaluator, Now: time.Now, Evaluator: evaluate.New(evaluate.Config{
			Judge: judge.New(judge.Config{Model: judgetest.Model(decide)}), Checks: check.NewCache(10), Now: time.Now,
		})})
	}
}

func TestPlaygroundByTheLetter(t *testing.T) {
	t.Parallel()
	n := newNode(t, withModel(func(_ judgetest.Rule, subject string) judgetest.Entry {
		if strings.Contains(subject, "eval(") {
			return judgetest.Deny("eval(x)")
		}
		if strings.Contains(subject, "bribe") {
			return judgetest.Deny("bribe")
		}
		return judgetest.Allow()
	}))
	const diff = "--- a/a.py\n+++ b/a.py\n@@ -7,2 +7,3 @@\n a = 1\n+y = eval(x)\n b = 2\n"
	for _, tt := range []struct {
		name string
		body map[string]any
		want rule.Verdict
		by   rule.DecidedBy
		line int
	}{
		{"a snippet", map[string]any{"sample_code": "x = 1\ny = eval(x)\n"}, rule.Deny, rule.ByModel, 2},
		{"a diff, by its content", map[string]any{"sample_code": diff}, rule.Deny, rule.ByModel, 8},
		{"a good snippet", map[string]any{"sample_code": "x = 1\n"}, rule.Allow, rule.ByModel, 0},
		{"code goes before facts", map[string]any{"sample_code": "x = 1\n", "sample_facts": map[string]any{"narrative": "He paid a bribe."}}, rule.Allow, rule.ByModel, 0},
		{"facts", map[string]any{"sample_facts": map[string]any{"amount": 5, "purpose": "a bribe"}}, rule.Deny, rule.ByModel, 0},
		{"a narrative", map[string]any{"sample_facts": map[string]any{"narrative": "He paid a bribe."}}, rule.Deny, rule.ByModel, 0},
		{"neither", map[string]any{}, rule.NeedsConfirmation, rule.ByNone, 0},
		{"nulls", map[string]any{"sample_code": nil, "sample_facts": nil, "rule_modality": nil}, rule.NeedsConfirmation, rule.ByNone, 0},
		{"SHOULD only asks", map[string]any{"sample_code": "eval(x)", "rule_modality": "should", "rule_severity": "low"}, rule.NeedsConfirmation, rule.ByModel, 1},
		{"an inline pattern", map[string]any{"sample_code": "a\neval(x)", "check": map[string]any{"pattern": map[string]any{"regex": `eval\(`}}}, rule.Deny, rule.ByCheck, 2},
		{"a pattern for other files", map[string]any{
			"sample_code": "eval(x)", "sample_path": "a.go",
			"check": map[string]any{"pattern": map[string]any{"regex": `eval\(`, "paths": []string{"**/*.{py,pyi}"}}},
		}, rule.Allow, rule.ByCheck, 0},
		{"a path that the pattern looks at", map[string]any{
			"sample_code": "eval(x)", "check": map[string]any{"pattern": map[string]any{"regex": `eval\(`, "paths": []string{"src/**/*.{py,pyi}"}}},
		}, rule.Deny, rule.ByCheck, 1},
		{"an expression on facts", map[string]any{"sample_facts": map[string]any{"amount": 500}, "check": map[string]any{"cel": "facts.amount <= 100"}}, rule.Deny, rule.ByCheck, 0},
	} {
		tt.body["rule_statement"] = "No bad things."
		got := into[wire.PlaygroundAnswer](n.call("POST", playground, tt.body).want(http.StatusOK))
		if got.Verdict != tt.want || got.DecidedBy != tt.by || got.Reasoning == "" {
			t.Errorf("%s: %s by %s (%s), want %s by %s", tt.name, got.Verdict, got.DecidedBy, got.Reasoning, tt.want, tt.by)
		}
		if tt.line > 0 && (len(got.Locations) != 1 || got.Locations[0].StartLine != tt.line || len(got.Evidence) == 0) {
			t.Errorf("%s: locations %+v, evidence %+v; want line %d", tt.name, got.Locations, got.Evidence, tt.line)
		}
		if (got.FixSuggestion == nil) != (tt.want == rule.Allow) || (got.IssueDescription == "") != (tt.want == rule.Allow) {
			t.Errorf("%s: issue %q, fix %v", tt.name, got.IssueDescription, got.FixSuggestion)
		}
	}
}

func TestPlaygroundOfAStoredRuleWithEdits(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	slug := "SEC-9"
	n.call("POST", "/api/v1/rules", map[string]any{
		"slug": slug, "statement": "No eval.", "status": "EFFECTIVE", "check": map[string]any{"pattern": map[string]any{"regex": "eval"}},
	}).want(http.StatusCreated)
	try := func(body map[string]any) wire.PlaygroundAnswer {
		t.Helper()
		body["rule_id"], body["sample_code"] = slug, "eval(x) exec(y)"
		return into[wire.PlaygroundAnswer](n.call("POST", playground, body).want(http.StatusOK))
	}
	if got := try(map[string]any{}); got.Verdict != rule.Deny {
		t.Errorf("as it is stored: %+v", got)
	}
	if got := try(map[string]any{"rule_modality": "SHOULD"}); got.Verdict != rule.NeedsConfirmation || got.DecidedBy != rule.ByCheck {
		t.Errorf("as a SHOULD: %+v", got)
	}
	if got := try(map[string]any{"check": map[string]any{"pattern": map[string]any{"regex": "never"}}}); got.Verdict != rule.Allow {
		t.Errorf("with another check: %+v", got)
	}
	if got := try(map[string]any{"check": nil}); got.DecidedBy != rule.ByNone || !strings.Contains(got.Reasoning, "TENET_JUDGE_MODEL") {
		t.Errorf("without its check: %+v", got)
	}
	stored := into[rule.Rule](n.call("GET", "/api/v1/rules/"+slug, nil).want(http.StatusOK))
	if stored.Version != 1 || stored.Check == nil || stored.Modality != rule.Must {
		t.Errorf("the stored rule has changed: %+v", stored)
	}
	n.call("POST", playground, map[string]any{"rule_id": "none"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

func TestPlaygroundRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, tt := range map[string]struct {
		body  map[string]any
		field string
	}{
		"no rule":            {map[string]any{"sample_code": "x"}, "rule_statement"},
		"a blank rule":       {map[string]any{"rule_statement": " "}, "rule_statement"},
		"an unknown word":    {map[string]any{"rule_statement": "x", "rule_modality": "NEVER"}, "rule_modality"},
		"a broken check":     {map[string]any{"rule_statement": "x", "check": map[string]any{"cel": "facts."}}, "check.cel"},
		"a broken diff":      {map[string]any{"rule_statement": "x", "sample_code": "@@ -1 +1,9 @@\n+a\n"}, "sample_code"},
		"a sample of 1 MB":   {map[string]any{"rule_statement": "x", "sample_code": strings.Repeat("x", 1<<20)}, "sample_code"},
		"a NUL":              {map[string]any{"rule_statement": "x", "sample_code": "a\x00b"}, "sample_code"},
		"a long narrative":   {map[string]any{"rule_statement": "x", "sample_facts": map[string]any{"narrative": strings.Repeat("x", 1<<20)}}, "sample_facts"},
		"an unknown field":   {map[string]any{"rule_statement": "x", "sample": "y"}, "sample"},
		"facts of no object": {map[string]any{"rule_statement": "x", "sample_facts": "y"}, "sample_facts"},
	} {
		t.Run(name, func(t *testing.T) {
			r := n.call("POST", playground, tt.body)
			r.t = t
			r.wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, tt.field)
		})
	}
}

// Whatever is tried, the database stays as it is, row by row.
func TestPlaygroundKeepsNothing(t *testing.T) {
	t.Parallel()
	for driver, target := range map[string]string{"sqlite": t.TempDir(), "pgx": pgtest.DSN(t)} {
		t.Run(driver, func(t *testing.T) {
			var s store.Store
			var err error
			name := target
			if driver == "sqlite" {
				name = filepath.Join(target, sqlstore.FileName)
				s, err = sqlstore.OpenSQLite(t.Context(), target, sqlstore.Options{})
			} else {
				s, err = sqlstore.OpenPostgres(t.Context(), target, sqlstore.Options{})
			}
			if err != nil {
				t.Fatal(err)
			}
			n := newNodeOn(t, s, withModel(func(judgetest.Rule, string) judgetest.Entry { return judgetest.Allow() }))
			n.call("POST", "/api/v1/rules", map[string]any{
				"slug": "A-1", "statement": "No eval.", "check": map[string]any{"pattern": map[string]any{"regex": "eval"}},
			}).want(http.StatusCreated)
			before := dump(t, driver, name)
			if !strings.Contains(before, "No eval.") {
				t.Fatalf("the dump shows nothing: %s", before)
			}
			for _, body := range []map[string]any{
				{"rule_statement": "No eval.", "sample_code": "eval(x)"},
				{"rule_statement": "No eval.", "sample_code": "eval(x)", "check": map[string]any{"pattern": map[string]any{"regex": "eval"}}},
				{"rule_id": "A-1", "sample_code": "eval(x)"},
				{"rule_statement": "No eval.", "sample_facts": map[string]any{"a": 1}},
				{"rule_statement": "No eval."},
			} {
				n.call("POST", playground, body).want(http.StatusOK)
			}
			if after := dump(t, driver, name); after != before {
				t.Errorf("the playground has changed the database from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// dump prints every row of every table.
func dump(t *testing.T, driver, name string) string {
	t.Helper()
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // it was only read
	list := "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
	if driver == "pgx" {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"
	}
	var out strings.Builder
	for table := range strings.FieldsSeq(rowsOf(t, db, list)) {
		rows := strings.Split(rowsOf(t, db, "SELECT * FROM "+table), "\n")
		slices.Sort(rows)
		out.WriteString(table + strings.Join(rows, "\n"))
	}
	return out.String()
}

func rowsOf(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for rows.Next() {
		row, places := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			places[i] = &row[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		for _, v := range row {
			out.WriteString(v.String + " ")
		}
		out.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
