package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

type fields = map[string]any

func TestRuleLife(t *testing.T) {
	t.Parallel()
	onBoth(t, testRuleLife)
}

func testRuleLife(t *testing.T, n *node) {
	made := n.call("POST", rulesPath, fields{
		"slug": "PAY-1", "statement": "Payments above 10000 need a second approver.", "severity": "high", "tags": []string{"finance"},
		"check": fields{"cel": "facts.amount <= 10000"}, "effective_period": fields{"from": "2026-01-01T01:00:00+01:00"},
	}).want(http.StatusCreated)
	r := into[rule.Rule](made)
	if got := made.header.Get("Location"); got != rulesPath+"/"+r.ID {
		t.Errorf("Location %q", got)
	}
	if got := made.header.Get("ETag"); got != `"1"` {
		t.Errorf("ETag %q", got)
	}
	if r.Severity != rule.High || r.Modality != rule.Must || r.Status != rule.Draft || r.ProjectID != "default" || r.CreatedBy != "local" {
		t.Errorf("made %+v", r)
	}
	if got := r.EffectivePeriod.From.Format("2006-01-02T15:04:05Z07:00"); got != "2026-01-01T00:00:00Z" {
		t.Errorf("effective from %s", got)
	}

	for _, ref := range []string{r.ID, strings.ToUpper(r.ID), "PAY-1"} {
		got := into[rule.Rule](n.call("GET", rulesPath+"/"+ref, nil).want(http.StatusOK))
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("by %s (-made +got):\n%s", ref, diff)
		}
	}
	n.call("GET", rulesPath+"/PAY-1", nil, "If-None-Match", `"7", W/"1"`).want(http.StatusNotModified)
	n.call("GET", rulesPath+"/PAY-1", nil, "If-None-Match", `"2"`).want(http.StatusOK)
	n.call("HEAD", rulesPath+"/PAY-1", nil).want(http.StatusOK)

	// A revision names only what changes; null clears.
	revised := n.call("PATCH", rulesPath+"/PAY-1", `{"severity":"critical","check":null,"effective_period":null,"owner":"treasury","change_note":"audit"}`,
		"If-Match", `"1"`).want(http.StatusOK)
	got := into[rule.Rule](revised)
	if revised.header.Get("ETag") != `"2"` || got.Version != 2 || got.Severity != rule.Critical || got.Check != nil ||
		got.EffectivePeriod.From != nil || got.Owner != "treasury" || got.Statement != r.Statement || len(got.Tags) != 1 || got.ChangeNote != "audit" {
		t.Errorf("revised %+v", got)
	}
	n.call("PATCH", rulesPath+"/PAY-1", `{"owner":"x"}`, "If-Match", `"1"`).wantProblem(http.StatusPreconditionFailed, rule.CodePrecondition)
	n.call("PATCH", rulesPath+"/PAY-1", `{"owner":"x"}`, "If-Match", `abc`).wantProblem(http.StatusPreconditionFailed, rule.CodePrecondition)
	n.call("PATCH", rulesPath+"/PAY-1", `{"owner":"x"}`, "If-Match", `"1", "2"`).wantProblem(http.StatusPreconditionFailed, rule.CodePrecondition)
	same := n.call("PATCH", rulesPath+"/PAY-1", `{"owner":"treasury"}`, "If-Match", "*").want(http.StatusOK)
	if v := into[rule.Rule](same).Version; v != 2 {
		t.Errorf("a revision that changes nothing made version %d", v)
	}
	n.call("PATCH", rulesPath+"/PAY-1", `{"statement":null,"severity":null}`).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "statement", "severity")

	n.call("POST", rulesPath+"/PAY-1/transitions", fields{"to": "effective"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	for i, to := range []string{"review", "APPROVED", "Effective"} {
		moved := n.call("POST", rulesPath+"/PAY-1/transitions", fields{"to": to, "note": "step"}, "If-Match", fmt.Sprintf(`"%d"`, i+2)).want(http.StatusOK)
		if got := into[rule.Rule](moved); !strings.EqualFold(string(got.Status), to) || got.Version != i+3 {
			t.Errorf("moved to %s: %s, version %d", to, got.Status, got.Version)
		}
	}
	n.call("POST", rulesPath+"/PAY-1/transitions", fields{"to": "GONE"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "to")

	versions := into[wire.Page[rule.Rule]](n.call("GET", rulesPath+"/PAY-1/versions?page_size=2&page=2", nil).want(http.StatusOK))
	if versions.Total != 5 || versions.Page != 2 || versions.PageSize != 2 || len(versions.Items) != 2 || versions.Items[0].Version != 3 {
		t.Errorf("versions %+v", versions)
	}
	first := into[rule.Rule](n.call("GET", rulesPath+"/PAY-1/versions/1", nil).want(http.StatusOK))
	r.Tests, r.Findings = nil, nil // they are of the rule, not of a version
	if diff := cmp.Diff(r, first); diff != "" {
		t.Errorf("version 1 (-made +got):\n%s", diff)
	}
	n.call("GET", rulesPath+"/PAY-1/versions/99", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	for _, v := range []string{"0", "-1", "x", "99999999999", "99999999999999999999"} {
		n.call("GET", rulesPath+"/PAY-1/versions/"+v, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "n")
	}

	n.call("DELETE", rulesPath+"/PAY-1", nil, "If-Match", `"3"`).wantProblem(http.StatusPreconditionFailed, rule.CodePrecondition)
	gone := n.call("DELETE", rulesPath+"/PAY-1", nil, "If-Match", `"5"`).want(http.StatusNoContent)
	if len(gone.body) != 0 {
		t.Errorf("204 with a body: %s", gone.body)
	}
	n.call("GET", rulesPath+"/PAY-1", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	if got := into[rule.Rule](n.call("GET", rulesPath+"/"+r.ID, nil).want(http.StatusOK)); got.Status != rule.Retired {
		t.Errorf("retired rule is %s", got.Status)
	}
	n.call("PATCH", rulesPath+"/"+r.ID, `{"statement":"x"}`).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", rulesPath, fields{"slug": "PAY-1", "statement": "The slug is free again."}).want(http.StatusCreated)
	n.call("POST", rulesPath, fields{"slug": "PAY-1", "statement": "Now it is taken."}).wantProblem(http.StatusConflict, rule.CodeConflict)
}

// A reference means the same to every operation.
func TestRuleReferenceInAnyForm(t *testing.T) {
	t.Parallel()
	onBoth(t, testRuleReferenceInAnyForm)
}

func testRuleReferenceInAnyForm(t *testing.T, n *node) {
	r := into[rule.Rule](n.call("POST", rulesPath, fields{"slug": "A-1", "statement": "One."}).want(http.StatusCreated))
	other := into[rule.Rule](n.call("POST", rulesPath, fields{"slug": "A-2", "statement": "Two."}).want(http.StatusCreated))
	ref := rulesPath + "/" + strings.ToUpper(r.ID)
	n.call("GET", ref+"/versions", nil).want(http.StatusOK)
	n.call("GET", ref+"/versions/1", nil).want(http.StatusOK)
	n.call("GET", ref+"/relationships", nil).want(http.StatusOK)
	n.call("PATCH", ref, fields{"owner": "me"}).want(http.StatusOK)
	n.call("POST", ref+"/transitions", fields{"to": "REVIEW"}).want(http.StatusOK)
	rel := into[rule.Relationship](n.call("POST", ref+"/relationships", fields{"kind": "refines", "to": strings.ToUpper(other.ID)}).want(http.StatusCreated))
	n.call("DELETE", ref+"/relationships/"+rel.ID, nil).want(http.StatusNoContent)
	n.call("DELETE", ref, nil).want(http.StatusNoContent)
	for _, bad := range []string{"no-such-rule", "00000000-0000-0000-0000-000000000000", "%20", "a%2Fb", strings.Repeat("x", 3000)} {
		for _, rest := range []string{"", "/versions", "/versions/1", "/relationships"} {
			n.call("GET", rulesPath+"/"+bad+rest, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		}
		n.call("PATCH", rulesPath+"/"+bad, fields{"owner": "x"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("DELETE", rulesPath+"/"+bad, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("POST", rulesPath+"/"+bad+"/transitions", fields{"to": "REVIEW"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	for _, bad := range []string{"%00", "a%FFb", "%ff"} {
		n.call("GET", rulesPath+"/"+bad, nil).wantProblem(http.StatusBadRequest, rule.CodeInvalid, "path")
	}
}

func TestRuleRelationships(t *testing.T) {
	t.Parallel()
	onBoth(t, testRuleRelationships)
}

func testRuleRelationships(t *testing.T, n *node) {
	for _, slug := range []string{"A-1", "A-2", "A-3"} {
		n.call("POST", rulesPath, fields{"slug": slug, "statement": "Rule " + slug + "."}).want(http.StatusCreated)
	}
	made := into[rule.Relationship](n.call("POST", rulesPath+"/A-1/relationships", fields{"kind": "overrides", "to": "A-2", "reason": "newer"}).want(http.StatusCreated))
	if made.Kind != rule.Overrides || made.Reason != "newer" {
		t.Errorf("made %+v", made)
	}
	for _, ref := range []string{"A-1", "A-2"} {
		list := into[wire.Page[rule.Relationship]](n.call("GET", rulesPath+"/"+ref+"/relationships", nil).want(http.StatusOK))
		if list.Total != 1 || list.Items[0].ID != made.ID {
			t.Errorf("relationships of %s: %+v", ref, list)
		}
	}
	n.call("POST", rulesPath+"/A-1/relationships", fields{"kind": "OVERRIDES", "to": "A-2"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", rulesPath+"/A-2/relationships", fields{"kind": "OVERRIDES", "to": "A-1"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("POST", rulesPath+"/A-1/relationships", fields{"kind": "LIKES", "to": "nobody"}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "kind", "to")
	n.call("POST", rulesPath+"/A-1/relationships", `{}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "kind", "to")
	n.call("DELETE", rulesPath+"/A-3/relationships/"+made.ID, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("DELETE", rulesPath+"/A-1/relationships/nothing", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("DELETE", rulesPath+"/A-2/relationships/"+made.ID, nil).want(http.StatusNoContent)
	n.call("DELETE", rulesPath+"/A-2/relationships/"+made.ID, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

func TestRuleList(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, r := range []fields{
		{"slug": "A-1", "statement": "Alpha rule.", "severity": "LOW", "scope": []string{"finance"}, "tags": []string{"x", "y"}, "owner": "ann", "check": fields{"cel": "true"}},
		{"slug": "A-2", "statement": "Beta rule.", "severity": "HIGH", "scope": []string{"finance/payments"}, "tags": []string{"x"}, "modality": "SHOULD"},
		{"slug": "A-3", "statement": "Gamma.", "rationale": "because of ALPHA", "severity": "HIGH", "scope": []string{"hr"}, "tags": []string{"y"}, "enforcement": "warn"},
		{"slug": "A-4", "statement": "Delta.", "severity": "CRITICAL", "status": "EFFECTIVE"},
	} {
		n.call("POST", rulesPath, r).want(http.StatusCreated)
	}
	for query, want := range map[string]string{
		"":                              "A-1 A-2 A-3 A-4",
		"severity=high":                 "A-2 A-3",
		"severity=HIGH&modality=should": "A-2",
		"status=effective":              "A-4",
		"enforcement=WARN":              "A-3",
		"owner=ann":                     "A-1",
		"scope=finance":                 "A-1 A-2",
		"scope=/finance/payments/":      "A-2",
		"tags=x":                        "A-1 A-2",
		"tags=x&tags=y":                 "A-1",
		"tags=x,%20Y":                   "A-1",
		"q=alpha":                       "A-1 A-3",
		"q=a-4":                         "A-4",
		"has_check=true":                "A-1",
		"has_check=false":               "A-2 A-3 A-4",
		"page_size=3":                   "A-1 A-2 A-3",
		"page_size=3&page=2":            "A-4",
		"page=1000000000":               "",
		"project_id=default":            "A-1 A-2 A-3 A-4",
		"severity=LOW&q=delta":          "",
	} {
		page := into[wire.Page[rule.Rule]](n.call("GET", rulesPath+"?"+query, nil).want(http.StatusOK))
		var got []string
		for _, r := range page.Items {
			got = append(got, r.Slug)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("?%s gives %q, want %q", query, got, want)
		}
		if page.Items == nil {
			t.Errorf("?%s: items is null", query)
		}
	}
	for query, field := range map[string]string{
		"severity=SEVERE": "severity", "status=on": "status", "modality=x": "modality", "enforcement=x": "enforcement",
		"page=0": "page", "page=-1": "page", "page=x": "page", "page=1000000001": "page", "page=99999999999999999999": "page",
		"page_size=0": "page_size", "page_size=101": "page_size", "has_check=perhaps": "has_check", "color=red": "color",
		"severity=": "severity", "has_check": "has_check", "owner=a&owner=b": "owner", "owner=a%00b": "owner", "q=%ff": "q",
		"tags=&tags=x": "tags", "project_id=No+Such": "project_id",
	} {
		n.call("GET", rulesPath+"?"+query, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
	n.call("GET", rulesPath+"?q=%zz", nil).wantProblem(http.StatusBadRequest, rule.CodeInvalid, "query")
	n.call("GET", rulesPath+"?a;b=1", nil).wantProblem(http.StatusBadRequest, rule.CodeInvalid, "query")
	n.call("GET", rulesPath+"?project_id=nowhere", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("GET", rulesPath+"?severity=x&page=0", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "page")
}

// JSON has no such numbers, so a problem cannot repeat them as numbers.
func TestNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, query := range []string{
		rulesPath + "?page_size=NaN", rulesPath + "?page=-Inf", rulesPath + "?has_check=nan",
		scansPath + "/" + audit.NewID() + "/candidates?min_confidence=Inf",
	} {
		p := n.call("GET", query, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
		if _, isText := p.Errors[0].Value.(string); !isText {
			t.Errorf("%s repeats the value %v", query, p.Errors[0].Value)
		}
	}
}

func TestRuleProject(t *testing.T) {
	t.Parallel()
	onBoth(t, testRuleProject)
}

func testRuleProject(t *testing.T, n *node) {
	n.makeProject("pay")
	made := n.call("POST", rulesPath, fields{"slug": "P-1", "statement": "In pay.", "project_id": "pay"}).want(http.StatusCreated)
	if r := into[rule.Rule](made); r.ProjectID != "pay" {
		t.Errorf("made in %s", r.ProjectID)
	}
	n.call("GET", made.header.Get("Location"), nil).want(http.StatusOK)
	n.call("POST", rulesPath+"?project_id=pay", fields{"statement": "In pay too.", "project_id": "pay"}).want(http.StatusCreated)
	n.call("POST", rulesPath+"?project_id=default", fields{"statement": "Where?", "project_id": "pay"}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "project_id")
	n.call("POST", rulesPath, fields{"statement": "Nowhere.", "project_id": "nowhere"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	n.call("POST", rulesPath, fields{"statement": "All.", "project_id": "*"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "project_id")
	n.call("GET", rulesPath+"/P-1", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	if total := into[wire.Page[rule.Rule]](n.call("GET", rulesPath+"?project_id=pay", nil).want(http.StatusOK)).Total; total != 2 {
		t.Errorf("%d rules in pay", total)
	}
	if total := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil).want(http.StatusOK)).Total; total != 0 {
		t.Errorf("%d rules in default", total)
	}
}

func TestRuleProblemsNameTheField(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := n.call("POST", rulesPath, fields{"statement": "", "severity": "SEVERE", "scope": []string{""}, "check": fields{"cel": "facts.amount <"}}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid)
	named := map[string]bool{}
	for _, f := range p.Errors {
		named[f.Field] = true
	}
	for _, want := range []string{"statement", "severity", "scope[0]"} {
		if !named[want] {
			t.Errorf("%s is not named in %+v", want, p.Errors)
		}
	}
	n.call("POST", rulesPath, fields{"statement": "x", "check": fields{"cel": "facts.amount <"}}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "check.cel")
	huge := strings.Repeat("A", 1<<20)
	answer := n.call("POST", rulesPath, fields{"statement": "x", "severity": huge}).want(http.StatusUnprocessableEntity)
	if len(answer.body) > 2000 {
		t.Errorf("the problem repeats a giant value: %d bytes", len(answer.body))
	}
}
