package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/api/rest"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

const sampleYAML = `
pack: sample
defaults:
  severity: HIGH
  status: EFFECTIVE
  tags: [sample]
rules:
  - slug: SEC-1
    statement: Do not call eval.
    modality: MUST_NOT
    scope: [engineering/backend]
    source_refs:
      - kind: standard
        uri: CWE-95
    effective_period:
      from: 2026-01-01T00:00:00Z
    applies_to:
      paths: ["**/*.py"]
    check:
      pattern:
        regex: '\beval\('
      message: |
        eval runs text as code.
        Parse it instead.
      fix: Use ast.literal_eval.
  - slug: SEC-2
    statement: "Payments: above 10000 need a second approver."
    owner: treasury
    rationale: "# not a comment"
    check:
      cel: facts.amount <= 10000.0
      when: "'amount' in facts"
    relationships:
      - kind: REFINES
        to: SEC-1
        reason: an example
`

func TestImport(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, media := range rest.YAMLTypes {
		dry := into[rule.ImportResult](n.call("POST", rulesPath+"/import?dry_run=true", sampleYAML, "Content-Type", media).want(http.StatusOK))
		if dry.Created != 2 || !dry.DryRun || len(dry.Changes) != 2 {
			t.Errorf("dry run as %s: %+v", media, dry)
		}
	}
	if total := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil)).Total; total != 0 {
		t.Fatalf("a dry run made %d rules", total)
	}
	made := into[rule.ImportResult](n.call("POST", rulesPath+"/import", sampleYAML, "Content-Type", "application/yaml; charset=utf-8").want(http.StatusOK))
	if made.Created != 2 || made.DryRun {
		t.Errorf("import: %+v", made)
	}
	again := into[rule.ImportResult](n.call("POST", rulesPath+"/import", sampleYAML, "Content-Type", "application/yaml").want(http.StatusOK))
	if again.Unchanged != 2 || len(again.Changes) != 0 {
		t.Errorf("the same import again: %+v", again)
	}
	n.call("POST", rulesPath+"/import?mode=create", sampleYAML, "Content-Type", "application/yaml").
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rules[0]", "rules[1]")
	// In JSON, an update may name only what changes; defaults never have a statement.
	up := into[rule.ImportResult](n.call("POST", rulesPath+"/import?prune=true", `{"defaults":{"statement":"","owner":"sec"},"rules":[{"slug":"SEC-1"}]}`).want(http.StatusOK))
	if up.Updated != 1 || up.Retired != 1 || up.Changes[0].Fields[0].Field != "owner" {
		t.Errorf("prune: %+v", up)
	}
	for query, field := range map[string]string{"mode=replace": "mode", "dry_run=maybe": "dry_run", "dry_run": "dry_run", "dryrun=true": "dryrun"} {
		n.call("POST", rulesPath+"/import?"+query, `{"rules":[]}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
}

// All or nothing, and the problem says which rule and which field.
func TestImportIsAllOrNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, testImportIsAllOrNothing)
}

func testImportIsAllOrNothing(t *testing.T, n *node) {
	file := fields{"rules": []fields{
		{"slug": "OK-1", "statement": "Fine."},
		{"slug": "BAD-1", "statement": "Bad severity.", "severity": "SEVERE"},
		{"slug": "BAD-2", "statement": "Bad check.", "check": fields{"cel": "facts.x <"}},
		{"slug": "BAD-3"},
	}}
	body, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, media := range []string{jsonType, "application/yaml"} {
		p := n.call("POST", rulesPath+"/import", body, "Content-Type", media).
			wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rules[1].severity", "rules[2].check.cel", "rules[3].statement")
		for i, slug := range []string{"BAD-1", "BAD-2", "BAD-3"} {
			if !strings.Contains(p.Errors[i].Message, slug) {
				t.Errorf("%s: the problem does not name %s: %+v", media, slug, p.Errors[i])
			}
		}
	}
	if total := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil)).Total; total != 0 {
		t.Errorf("a refused import left %d rules", total)
	}
	for name, test := range map[string]struct {
		body, media string
		status      int
		fields      []string
	}{
		"wrong type in JSON":    {`{"rules":[{"slug":"A","statement":"x"},{"statement":3,"nope":1}]}`, jsonType, 422, []string{"rules[1].statement", "rules[1].nope"}},
		"rules missing in JSON": {`{"pack":"x"}`, jsonType, 422, []string{"rules"}},
		"not JSON":              {`rules: []`, jsonType, 400, nil},
		"name twice in JSON":    {`{"rules":[{"statement":"x","statement":"y"}]}`, jsonType, 400, []string{"rules[0].statement"}},
		"unknown key in YAML":   {"rules:\n- statement: x\n  severty: LOW\n", "application/yaml", 422, nil},
		"alias in YAML":         {"rules:\n- &a {statement: x}\n- *a\n", "application/yaml", 422, nil},
		"broken YAML":           {"rules: [", "application/yaml", 422, nil},
		"invalid UTF-8 in YAML": {"rules:\n- statement: \xff\n", "application/yaml", 422, nil},
		"empty YAML":            {"", "application/yaml", 422, nil},
		"other media type":      {sampleYAML, "text/plain", 415, []string{"Content-Type"}},
		"two with one slug":     {`{"rules":[{"slug":"A","statement":"x"},{"slug":"A","statement":"y"}]}`, jsonType, 422, []string{"rules[1]"}},
		"too many":              {`{"rules":[` + strings.Repeat(`{"statement":"x"},`, 20_000) + `{"statement":"x"}]}`, jsonType, 413, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n.t = t
			code := rule.CodeInvalid
			if test.status == http.StatusRequestEntityTooLarge {
				code = rule.CodeTooLarge
			}
			n.call("POST", rulesPath+"/import", test.body, "Content-Type", test.media).wantProblem(test.status, code, test.fields...)
		})
	}
}

// All that is wrong is reported at once: a rule's fields and its check, test cases of unknown rules, and rules with one name.
func TestImportReportsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		n.call("POST", rulesPath, fields{"slug": "OLD-1", "statement": "Stored."}).want(http.StatusCreated)
		facts := fields{"x": 1}
		body, err := json.Marshal(fields{
			"rules": []fields{
				{"slug": "BAD-1", "statement": "Bad.", "severity": "SEVERE", "check": fields{"cel": "facts.x = 1"}},
				{"slug": "GOOD-1", "statement": "Good."},
				{"slug": "GOOD-1", "statement": "Good, twice."},
			},
			"cases": []fields{
				{"rule": "GOOD-1", "name": "of the file", "facts": facts, "expect": "ALLOW"},
				{"rule": "OLD-1", "name": "of the project", "facts": facts, "expect": "ALLOW"},
				{"rule": "NONE-1", "name": "of nothing", "facts": facts, "expect": "ALLOW"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, media := range []string{jsonType, "application/yaml"} {
			n.call("POST", rulesPath+"/import", body, "Content-Type", media).
				wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rules[2]", "rules[0].severity", "rules[0].check.cel", "cases[2].rule")
		}
		n.call("POST", rulesPath, fields{"statement": "One rule.", "severity": "SEVERE", "check": fields{"cel": "facts.x = 1", "when": "fact.y"}}).
			wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "severity", "check.when", "check.cel")
	})
}

// What is exported, in either format, imports into another project unchanged.
func TestExportImportRoundTrip(t *testing.T) {
	t.Parallel()
	onBoth(t, testExportImportRoundTrip)
}

func testExportImportRoundTrip(t *testing.T, n *node) {
	n.makeProject("copy")
	n.call("POST", rulesPath+"/import", sampleYAML, "Content-Type", "application/yaml").want(http.StatusOK)
	n.call("POST", rulesPath, fields{"statement": "No slug, <b>angle</b> & ampersand; line one\nline two: 'quoted' \"twice\"\t\u00e9 \U0001F600", "tags": []string{"- x", "null", "1"}}).
		want(http.StatusCreated)
	n.call("POST", rulesPath, fields{"slug": "GONE-1", "statement": "Retired rules are not exported."}).want(http.StatusCreated)
	n.call("DELETE", rulesPath+"/GONE-1", nil).want(http.StatusNoContent)

	for format, media := range map[string]string{"yaml": "application/yaml", "json": jsonType} {
		out := n.call("GET", rulesPath+"/export?format="+format, nil).want(http.StatusOK)
		if got := out.header.Get("Content-Type"); got != media {
			t.Errorf("%s has Content-Type %q", format, got)
		}
		if want := fmt.Sprintf(`attachment; filename="default-rules.%s"`, format); out.header.Get("Content-Disposition") != want {
			t.Errorf("Content-Disposition %q", out.header.Get("Content-Disposition"))
		}
		same := into[rule.ImportResult](n.call("POST", rulesPath+"/import", out.body, "Content-Type", media).want(http.StatusOK))
		if same.Unchanged != 3 || len(same.Changes) != 0 {
			t.Errorf("%s back into its project: %+v", format, same)
		}
		n.call("POST", rulesPath+"/import?project_id=copy", out.body, "Content-Type", media).want(http.StatusOK)
		copied := n.call("GET", rulesPath+"/export?project_id=copy&format="+format, nil).want(http.StatusOK)
		if diff := cmp.Diff(string(out.body), string(copied.body)); diff != "" {
			t.Errorf("%s through another project (-exported +copied):\n%s", format, diff)
		}
	}
	part := n.call("GET", rulesPath+"/export?scope=engineering&severity=high", nil).want(http.StatusOK)
	if !strings.Contains(string(part.body), "SEC-1") || strings.Contains(string(part.body), "slug: SEC-2") {
		t.Errorf("export of a part:\n%s", part.body)
	}
	n.call("GET", rulesPath+"/export?format=xml", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "format")
}

// TestAnImportNamesWrongKeysAndUnknownCasesAtOnce has a file in the wrong form whose cases name rules of the file, of the project, and of neither.
func TestAnImportNamesWrongKeysAndUnknownCasesAtOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath+"/import", sampleYAML, "Content-Type", "application/yaml").want(http.StatusOK)
	const file = `
rules:
  - {slug: NEW-1, statement: No tabs., sevrity: HIGH}
cases:
  - {rule: new-1, name: own, action: read, expect: ALLOW}
  - {rule: SEC-1, name: stored, action: read, expect: ALLOW}
  - {rule: SEC-9, name: nobody's, action: read, expect: ALLOW}
`
	p := n.call("POST", rulesPath+"/import", file, "Content-Type", "application/yaml").wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rules[0].sevrity", "cases[2].rule")
	if all := fmt.Sprint(p.Errors); !strings.Contains(all, "SEC-9") || !strings.Contains(all, "line 7") || strings.Contains(all, "cases[1]") || strings.Contains(all, "cases[0]") {
		t.Errorf("it names %s", all)
	}
	// A rule without a name may be the one that a case means.
	p = n.call("POST", rulesPath+"/import", strings.Replace(file, "slug: NEW-1, ", "", 1), "Content-Type", "application/yaml").
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rules[0].sevrity")
	if all := fmt.Sprint(p.Errors); strings.Contains(all, "cases[") {
		t.Errorf("it names %s", all)
	}
	if total := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil)).Total; total != 2 {
		t.Errorf("the project has %d rules", total)
	}
}
