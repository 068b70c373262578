package api

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// tampering is a database with a node on it, and the means to change its rows behind the node's back and to start another node.
type tampering struct {
	*node
	driver, source string
	open           func() (store.Store, error)

	rule, snapshot string
	admin, bot     string // secrets
	waived         string // fingerprint of the violation
}

func (w *tampering) tamper(statements ...string) {
	w.t.Helper()
	db, err := sql.Open(w.driver, w.source)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(w.t.Context(), statement); err != nil {
			w.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// another is a node that starts now on the same database.
func (w *tampering) another() *node {
	w.t.Helper()
	s, err := w.open()
	if err != nil {
		w.t.Fatal(err)
	}
	n := newNodeOn(w.t, s)
	n.tampered, n.key = true, w.key
	return n
}

// onBothTampering runs a test on both databases with something of each kind in force: eval is denied, in production too.
func onBothTampering(t *testing.T, test func(t *testing.T, w *tampering)) {
	t.Helper()
	for name, make := range map[string]func(t *testing.T) *tampering{
		"sqlite": func(t *testing.T) *tampering {
			dir := litetest.Dir(t)
			return &tampering{driver: "sqlite", source: filepath.Join(dir, sqlstore.FileName), open: func() (store.Store, error) {
				return sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
			}}
		},
		"postgres": func(t *testing.T) *tampering {
			dsn := pgtest.DSN(t)
			return &tampering{driver: "pgx", source: dsn, open: func() (store.Store, error) { return sqlstore.OpenPostgres(t.Context(), dsn, sqlstore.Options{}) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := make(t)
			s, err := w.open()
			if err != nil {
				t.Fatal(err)
			}
			w.node = newNodeOn(t, s)
			w.tampered = true
			w.prepare()
			test(t, w)
		})
	}
}

func (w *tampering) prepare() {
	w.admin = w.makeKey(auth.Admin, store.AllProjects)
	w.key = w.admin
	w.rule = into[rule.Rule](w.call("POST", rulesPath, fields{
		"slug": "SEC-1", "statement": "Do not call eval.", "modality": "MUST_NOT", "status": "EFFECTIVE", "severity": "HIGH", "check": fields{"pattern": fields{"regex": `\beval\(`}},
	}).want(http.StatusCreated)).ID
	w.makeRule("SEC-2")
	w.bot = w.newKey(fields{"name": "bot", "role": "evaluator", "owner": "corp:ann", "agent": "bot", "project_id": "default"}).Secret
	w.waived = w.evaluates(evalFile(1, "eval(y)")).RuleVerdicts[0].Fingerprint
	made := into[rule.Waiver](w.call("POST", waiversPath, waiver(w.waived, nil)).want(http.StatusCreated))
	w.call("DELETE", waiversPath+"/"+made.ID, nil).want(http.StatusOK)
	team := into[fields](w.call("POST", federationPath, fields{"name": "team", "level": "organization", "repositories": []string{"acme/*"}}).want(http.StatusCreated))["id"].(string)
	w.attach(team, "SEC-1")
	w.call("POST", suspensionsPath, fields{"agent": "mallory", "reason": "It deleted a table."}).want(http.StatusCreated)
	w.snapshot = into[wire.Snapshot](w.call("POST", snapshotsPath, fields{"name": "first"}).want(http.StatusCreated)).ID
	w.call("POST", snapshotsPath+"/"+w.snapshot+"/deploy", fields{"environment": "production"}).want(http.StatusOK)
	w.call("PATCH", rulesPath+"/SEC-1", fields{"statement": "Never call eval."}).want(http.StatusOK) // the snapshot has the version before
}

// forTheTally hides a change of rules from the count of the rules.
const forTheTally = "DELETE FROM corpus_tallies"

// What somebody changes who has the database, and knows this program. None of it decides an evaluation on a node that starts then; the
// verification names it, and all is well once it has been accepted.
var unrecorded = map[string]struct {
	statements []string
	names      string // what the report says
	request    fields // that is refused
	refused    int
	sweeps     bool // a sweep has to come first
}{
	"a rule is weakened": {
		[]string{`UPDATE rules SET body = REPLACE(body, 'MUST_NOT', 'MAY') WHERE slug = 'SEC-1'`, forTheTally}, "in force: the rule ", evalFile(1, "eval(y)"), 503, false,
	},
	"a rule is replaced by its version before": {
		[]string{`UPDATE rules SET version = 1, body = (SELECT body FROM rule_versions v WHERE v.rule_id = rules.id AND v.version = 1) WHERE slug = 'SEC-1'`, forTheTally},
		"in force: the rule ", evalFile(1, "eval(y)"), 503, false,
	},
	"a rule is deleted": {
		[]string{`DELETE FROM node_rules`, `DELETE FROM rule_versions`, `DELETE FROM rules WHERE slug = 'SEC-1'`, forTheTally}, "is missing", evalFile(1, "eval(y)"), 503, false,
	},
	"a rule is inserted": {
		[]string{`INSERT INTO rules (project_id, id, slug, version, status, corpus_version, body) SELECT project_id, '0199f0a0-0000-7000-8000-00000000ffff', 'X', version, status, corpus_version,
			REPLACE(body, id, '0199f0a0-0000-7000-8000-00000000ffff') FROM rules WHERE slug = 'SEC-1'`, forTheTally},
		"no entry explains the rule 0199f0a0-0000-7000-8000-00000000ffff", evalFile(1, "eval(y)"), 503, false,
	},
	"a rule silences another": {
		[]string{`INSERT INTO relationships (project_id, id, from_id, to_id, kind, reason, allow_weakening, created_at, created_by) SELECT a.project_id, 'forged', b.id, a.id, 'OVERRIDES', '', true, 1, 'ann'
			FROM rules a, rules b WHERE a.slug = 'SEC-1' AND b.slug = 'SEC-2'`}, "no entry explains the relationship forged", evalFile(1, "eval(y)"), 503, false,
	},
	"a waiver comes to life again": {[]string{`UPDATE waivers SET revoked_at = NULL, revoked_by = ''`}, "in force: the waiver ", evalFile(1, "eval(y)"), 503, false},
	"a binding is changed":         {[]string{`UPDATE nodes SET body = REPLACE(body, 'acme/*', 'other/*')`}, "in force: the node ", evalFile(1, "eval(y)"), 503, false},
	"a rule leaves a node":         {[]string{`UPDATE node_rules SET removed = true`}, "in force: the attachment ", evalFile(1, "eval(y)"), 503, false},
	"a policy is weakened":         {[]string{`UPDATE projects SET two_person = NOT two_person`}, "in force: the project default", evalFile(1, "eval(y)"), 503, false},
	"an agent acts again":          {[]string{`DELETE FROM suspensions`}, "in force: the suspension ", evalFile(1, "eval(y)"), 503, true},
	"gates are opened": {
		[]string{`INSERT INTO release_gates (project_id, environment, body) VALUES ('default', 'production', '{}')`}, "no entry explains the gates production", evalFile(1, "eval(y)"), 503, true,
	},
	"another snapshot is deployed": {
		[]string{`INSERT INTO deployments (project_id, environment, seq, action, snapshot_id, at, actor, request_key, request) SELECT project_id, environment, 2, action, snapshot_id, at, actor, 'k', request
			FROM deployments`}, "no entry explains the deployment production/2", inProduction(), 503, false,
	},
}

func inProduction() fields {
	f := evalFile(1, "eval(y)")
	f["environment"] = "production"
	return f
}

func TestWhatNoEntryExplainsDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, a := range unrecorded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothTampering(t, func(t *testing.T, w *tampering) {
				if report := into[wire.AuditReport](w.call("GET", auditPath+"/verify", nil).want(http.StatusOK)); !report.OK() {
					t.Fatalf("before: %+v", report.Problems)
				}
				w.call("POST", evaluatePath, a.request).want(http.StatusOK)
				w.tamper(a.statements...)
				n := w.another()
				if a.sweeps {
					if err := n.logged.Sweep(t.Context(), []string{rule.DefaultProject}); err != nil {
						t.Fatal(err)
					}
				}
				if got := n.call("POST", evaluatePath, a.request).want(a.refused); !strings.Contains(string(got.body), "without an entry in its audit log") ||
					!strings.Contains(string(got.body), "accept-corpus") {
					t.Errorf("refused with %s", got.body)
				}
				report := into[wire.AuditReport](n.call("GET", auditPath+"/verify", nil).want(http.StatusOK))
				if len(report.Problems) == 0 || !strings.Contains(report.Problems[0].Message, a.names) {
					t.Errorf("the verification says %+v, want %q", report.Problems, a.names)
				}
				n.call("POST", auditPath+"/corpus/accept", fields{"reason": "there is no backup"}).want(http.StatusOK)
				if report := into[wire.AuditReport](n.call("GET", auditPath+"/verify", nil).want(http.StatusOK)); !report.OK() {
					t.Errorf("accepted: %+v", report.Problems)
				}
				if err := n.logged.Sweep(t.Context(), []string{rule.DefaultProject}); err != nil || n.logged.Problem(rule.DefaultProject) != nil {
					t.Errorf("accepted: %v, %v", err, n.logged.Problem(rule.DefaultProject))
				}
				again := w.another()
				again.call("POST", evaluatePath, a.request).want(http.StatusOK)
			})
		})
	}
}

// A running node that follows the change is not deceived either.
func TestAChangeWithoutAnEntryStopsARunningNode(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		w.tamper(`UPDATE rules SET body = REPLACE(body, 'MUST_NOT', 'MAY'), corpus_version = corpus_version + 1 WHERE slug = 'SEC-1'`, `UPDATE projects SET corpus_version = corpus_version + 1`)
		if _, err := w.live.Refresh(t.Context(), rule.DefaultProject); err == nil {
			t.Error("the change was followed")
		}
		w.call("POST", evaluatePath, evalFile(1, "eval(y)")).want(http.StatusServiceUnavailable)
	})
}

// Versions of the past that a deployed snapshot names are those that were released.
func TestAnOldVersionOfASnapshotIsNotReplaced(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		w.call("POST", evaluatePath, inProduction()).want(http.StatusOK)
		w.tamper(`UPDATE rule_versions SET body = REPLACE(body, 'MUST_NOT', 'MAY')`)
		n := w.another()
		n.call("POST", evaluatePath, inProduction()).want(http.StatusServiceUnavailable)
		n.call("POST", evaluatePath, evalFile(1, "eval(y)")).want(http.StatusOK)
	})
}

// A key that no entry explains opens nothing, and the server stays closed without keys.
func TestAKeyThatNoEntryExplainsOpensNothing(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"a key gets another role":   `UPDATE api_keys SET role = 'admin' WHERE name = 'bot'`,
		"a key gets another secret": `UPDATE api_keys SET hash = '` + auth.HashSecret("tnt_"+strings.Repeat("a", 43)) + `' WHERE name = 'bot'`,
		"a key is inserted": `INSERT INTO api_keys (project_id, id, name, role, hash, created_at, created_by) VALUES ('*', 'forged', 'x', 'admin', '` +
			auth.HashSecret("tnt_"+strings.Repeat("a", 43)) + `', 1, 'ann')`,
		"all keys are deleted": `DELETE FROM api_keys`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothTampering(t, func(t *testing.T, w *tampering) {
				w.tamper(statement)
				n := w.another()
				for _, key := range []string{"tnt_" + strings.Repeat("a", 43), ""} {
					n.key = key
					n.call("POST", evaluatePath, evalFile(1, "eval(y)")).want(http.StatusUnauthorized)
				}
				if strings.HasPrefix(name, "a key gets another role") {
					n.key = w.bot
					n.call("POST", evaluatePath, evalFile(1, "eval(y)")).want(http.StatusUnauthorized)
				}
				if name != "all keys are deleted" {
					n.key = w.admin
					n.call("GET", rulesPath, nil).want(http.StatusOK)
				}
			})
		})
	}
}

// A key that was revoked does not work again.
func TestARevokedKeyStaysRevoked(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		made := w.newKey(fields{"name": "late", "role": "evaluator", "project_id": "default"})
		w.call("DELETE", keysPath+"/"+made.ID, nil).want(http.StatusNoContent)
		w.tamper(`UPDATE api_keys SET revoked_at = NULL`)
		n := w.another()
		n.key = made.Secret
		n.call("POST", evaluatePath, evalFile(1, "eval(y)")).want(http.StatusUnauthorized)
		n.key = w.bot
		n.call("POST", evaluatePath, evalFile(1, "eval(y)")).want(http.StatusOK)
	})
}

// A project that was put into the database has no entries, and decides nothing.
func TestAProjectWithoutEntriesDecidesNothing(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		w.tamper(`INSERT INTO projects (project_id, name, description, two_person, tests_required, policy, corpus_version, created_at, updated_at)
			SELECT 'forged', name, description, two_person, tests_required, policy, corpus_version, created_at, updated_at FROM projects`,
			`INSERT INTO audit_heads (project_id, seq, hash) VALUES ('forged', 0, '')`)
		w.another().call("POST", evaluatePath+"?project_id=forged", evalFile(1, "eval(y)")).want(http.StatusServiceUnavailable)
	})
}

// Many changes while others load the rules are no damage.
func TestChangesWhileRulesAreLoadedAreExplained(t *testing.T) {
	t.Parallel()
	onBothTampering(t, func(t *testing.T, w *tampering) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for i := range 30 {
				w.call("PATCH", rulesPath+"/SEC-2", fields{"statement": strings.Repeat("again ", i+1)}).want(http.StatusOK)
			}
		}()
		s, err := w.open()
		if err != nil {
			t.Fatal(err)
		}
		n := newNodeOn(t, s)
		n.tampered, n.key = true, w.key
		for until := time.Now().Add(time.Second); time.Now().Before(until); {
			n.call("GET", rulesPath, nil).want(http.StatusOK)
			if _, err := n.live.Refresh(t.Context(), rule.DefaultProject); err != nil {
				t.Fatal(err)
			}
			if problems, err := n.logged.Problems(t.Context(), rule.DefaultProject); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
		}
		<-ended
	})
}

// Nobody is let through by an approval that was granted, or given back, in the database alone.
func TestAnApprovalThatNoEntryExplainsServesNothing(t *testing.T) {
	t.Parallel()
	granted := `REPLACE(REPLACE(REPLACE(body, '"state":"pending"', '"state":"approved","valid_until":"2100-01-01T00:00:00Z"'), '"state":"used"', '"state":"approved"'), '"used_count":1', '"used_count":0')`
	for name, a := range map[string]struct {
		used      bool
		statement string
	}{
		"one that waits is granted":     {false, `UPDATE approvals SET state = 'approved', body = ` + granted},
		"one that was used comes again": {true, `UPDATE approvals SET state = 'approved', ends_at = ends_at * 2, body = ` + granted},
		"one is inserted": {true, `INSERT INTO approvals (project_id, id, revision, link_key, body, state, requester, subject_hash, evaluation_id, repository, agent, scope, severity, created_at, ends_at, due_at)
			SELECT project_id, '0199f0a0-0000-7000-8000-00000000ffff', revision, 'k', REPLACE(` + granted + `, id, '0199f0a0-0000-7000-8000-00000000ffff'), 'approved', requester, subject_hash,
			evaluation_id, repository, agent, scope, severity, created_at, ends_at * 2, due_at FROM approvals`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothTampering(t, func(t *testing.T, w *tampering) {
				ask := newAsking(w.node, rule.High)
				id := ask.asks("drop table a")
				if a.used {
					ask.decide(ask.ann, id, "approve", "It is a copy.").want(http.StatusOK)
					if e := ask.evaluate(ask.ci, "drop table a", false); e.OverallVerdict != rule.Allow {
						t.Fatalf("the approved action is %s", e.OverallVerdict)
					}
				}
				w.tamper(a.statement)
				for _, n := range []*node{w.node, w.another()} {
					got := n.call("POST", "/api/v1/evaluate/quick", fields{"action": "drop table a"}, ask.ci...).want(http.StatusServiceUnavailable)
					if !strings.Contains(string(got.body), "the approval ") || !strings.Contains(string(got.body), "without an entry in its audit log") {
						t.Errorf("refused with %s", got.body)
					}
				}
				if report := into[wire.AuditReport](w.call("GET", auditPath+"/verify", nil).want(http.StatusOK)); report.OK() {
					t.Error("the verification finds nothing")
				}
			})
		})
	}
}
