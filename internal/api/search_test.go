package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/llm"
	"tenet/internal/llm/llmtest"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/wire"
)

// equip gives a node an embedding service and a model for search; either may be nil.
func (n *node) equip(e llm.Embedder, m llm.Model) {
	n.cfg.Search = search.New(search.Config{Views: n.live, Embedder: e, Model: m, Logger: n.cfg.Logger})
	n.serve()
}

// embed gives all rules of a project their vectors, as the job in the background does.
func (n *node) embed(projectID string, e llm.Embedder) {
	n.t.Helper()
	err := search.NewEmbeddings(n.store, n.store.Embeddings, n.live, e, n.cfg.Logger).EmbedRules(n.t.Context(), projectID, func(int, int) {})
	if err != nil {
		n.t.Fatal(err)
	}
}

// find searches and returns the envelope.
func (n *node) find(name string, body any) wire.RuleSearchPage {
	n.t.Helper()
	return into[wire.RuleSearchPage](n.call("POST", searchPath+"/"+name, body).want(http.StatusOK))
}

// slugs lists what was found, in order.
func slugs(r wire.RuleSearchPage) string {
	list := make([]string, len(r.Items))
	for i, item := range r.Items {
		list[i] = item.Rule.Slug
	}
	return strings.Join(list, " ")
}

// searchRules are the rules that the searches are tried on.
var searchRules = []fields{
	{
		"slug": "DATA-1", "statement": "Customer data must be encrypted at rest.", "severity": "HIGH", "scope": []string{"engineering/emea"},
		"tags": []string{"Privacy", "storage"}, "status": "EFFECTIVE", "rationale": "Lost disks must not become lost data.",
		"source_refs": []fields{{"kind": "law", "uri": "https://www.example.com/gdpr/", "section": "Art. 32", "quote": "the encryption of personal data"}},
	},
	{
		"slug": "DATA-2", "statement": "Backups of customer data are kept for ninety days.", "severity": "MEDIUM", "modality": "SHOULD",
		"scope": []string{"engineering"}, "tags": []string{"storage"}, "status": "APPROVED",
		"effective_period": fields{"from": "2026-01-01T00:00:00Z", "until": "2026-07-01T00:00:00Z"},
		"source_refs":      []fields{{"kind": "url", "uri": "http://example.com/gdpr#retention"}},
	},
	{
		"slug": "HR-1", "statement": "Managers approve the leave of their team.", "scope": []string{"role:manager/germany/*", "people"},
		"severity": "LOW", "status": "EFFECTIVE",
	},
	{"slug": "HR-2", "statement": "Contractors sign a confidentiality agreement.", "scope": []string{"Full-Time/emea/germany/legal"}, "status": "DRAFT"},
	{"slug": "ALL-1", "statement": "Nobody shares passwords.", "scope": []string{"*"}, "severity": "CRITICAL", "modality": "MUST_NOT"},
	{"slug": "OLD-1", "statement": "Customer data is printed and filed.", "status": "EFFECTIVE", "tags": []string{"storage"}},
}

func seedSearch(n *node) {
	n.t.Helper()
	for _, r := range searchRules {
		n.call("POST", rulesPath, r).want(http.StatusCreated)
	}
	n.call("POST", rulesPath+"/OLD-1/transitions", fields{"to": "SUPERSEDED"}).want(http.StatusOK)
}

// The searches that change nothing and need no service are tried on one corpus.
func TestSearch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, n *node) {
		seedSearch(n)
		for name, test := range map[string]func(*testing.T, *node){
			"words": testSearchByWords, "category": testSearchByCategory, "time": testSearchByTime, "citation": testSearchByCitation,
			"subject": testSearchBySubject, "one box": testSearchBox,
		} {
			t.Run(name, func(t *testing.T) {
				defer func(before testing.TB) { n.t = before }(n.t)
				n.t = t
				test(t, n)
			})
		}
	})
}

func testSearchByWords(t *testing.T, n *node) {
	for _, test := range []struct {
		body fields
		want string
	}{
		{fields{"query": "passwords"}, "ALL-1"},
		{fields{"query": "ENCRYPTED"}, "DATA-1"},
		{fields{"query": "disks"}, "DATA-1"}, // in the rationale
		{fields{"query": "customer", "severity": "high"}, "DATA-1"},
		{fields{"query": "customer", "modality": "Should"}, "DATA-2"},
		{fields{"query": "customer", "scope": "engineering/emea"}, "DATA-1"},
		{fields{"query": "customer", "scope": " /engineering/emea/ "}, "DATA-1"},
		{fields{"query": "customer", "scope": "engineering/em"}, ""},
		{fields{"query": "customer", "tags": []string{"PRIVACY", "storage"}}, "DATA-1"},
		{fields{"query": "customer", "status": "superseded"}, "OLD-1"},
		{fields{"query": "customer", "status": "APPROVED"}, "DATA-2"},
		{fields{"query": "zebra"}, ""},
		{fields{"query": "🔒🔒 \"((" + strings.Repeat("*", 1000)}, ""},
	} {
		got := n.find("fulltext", test.body)
		if slugs(got) != test.want || got.Total != len(got.Items) || got.Query != test.body["query"] || got.Mode != wire.Keyword || got.Degraded != nil {
			t.Errorf("%v finds %q in %+v, want %q", test.body, slugs(got), got, test.want)
		}
	}
	both := n.find("fulltext", fields{"query": "customer data", "scope": "engineering"})
	if both.Total != 2 || both.Page != 1 || both.PageSize != 20 || both.Items[0].Score < both.Items[1].Score || both.Items[1].Score <= 0 {
		t.Errorf("customer data in engineering: %+v", both)
	}
	item := n.find("fulltext", fields{"query": "encrypted"}).Items[0]
	if len(item.Highlights) != 1 || item.Highlights[0].Field != "statement" {
		t.Fatalf("highlights %+v", item.Highlights)
	}
	if h := item.Highlights[0]; item.Rule.Statement[h.Start:h.End] != "encrypted" {
		t.Errorf("highlighted is %q", item.Rule.Statement[h.Start:h.End])
	}
}

func TestSearchByMeaning(t *testing.T) {
	t.Parallel()
	onBoth(t, testSearchByMeaning)
}

func testSearchByMeaning(t *testing.T, n *node) {
	seedSearch(n)
	p := n.call("POST", searchPath+"/vector", fields{"query": "secrets"}).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
	if !strings.Contains(p.Detail, "TENET_EMBEDDING_MODEL") {
		t.Errorf("without an embedding service the detail does not say how to set one: %q", p.Detail)
	}
	e := &llmtest.Embedder{}
	n.equip(e, nil)
	got := n.find("vector", fields{"query": "backups of customer data"})
	if got.Total != 0 || got.Degraded == nil || !strings.Contains(got.Degraded.Reason, "6 of 6 rules have no vector") {
		t.Errorf("before rules have vectors: %+v", got)
	}
	n.embed(rule.DefaultProject, e)
	got = n.find("vector", fields{"query": "backups of customer data"})
	if got.Total != 5 || got.Items[0].Rule.Slug != "DATA-2" || got.Mode != wire.Vector || got.Degraded != nil || got.Items[0].Score <= got.Items[1].Score {
		t.Errorf("backups of customer data: %+v", got)
	}
	if got := slugs(n.find("vector", fields{"query": "customer data", "severity": "HIGH"})); got != "DATA-1" {
		t.Errorf("with a filter: %q", got)
	}
	calls := len(e.Calls())
	n.find("vector", fields{"query": "customer data", "page_size": 1})
	if len(e.Calls()) != calls {
		t.Error("the same query is embedded twice")
	}

	// A vector in place of words needs no call at all, whatever its length is.
	vectors, err := e.Embed(t.Context(), []string{"Nobody shares passwords."})
	if err != nil {
		t.Fatal(err)
	}
	long := make([]float64, llm.Dimensions)
	for i, x := range vectors[0] {
		long[i] = float64(x) * 1e200
	}
	calls = len(e.Calls())
	for _, name := range []string{"vector", "hybrid"} {
		got = n.find(name, fields{"query": "passwords", "vector": long})
		if got.Items[0].Rule.Slug != "ALL-1" || string(got.Mode) != name || len(e.Calls()) != calls {
			t.Errorf("%s by a vector: %+v", name, got)
		}
	}
	if got = n.find("vector", fields{"vector": long}); got.Items[0].Rule.Slug != "ALL-1" || got.Items[0].Score < 0.99 || got.Items[0].Score > 1.01 {
		t.Errorf("by a vector alone: %+v", got)
	}
	for _, bad := range [][]float64{{}, {1, 2, 3}, make([]float64, llm.Dimensions), make([]float64, llm.Dimensions+1)} {
		for _, name := range []string{"vector", "hybrid"} {
			n.call("POST", searchPath+"/"+name, fields{"query": "x", "vector": bad}).
				wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "vector")
		}
	}
}

func TestSearchByBoth(t *testing.T) {
	t.Parallel()
	onBoth(t, testSearchByBoth)
}

func testSearchByBoth(t *testing.T, n *node) {
	seedSearch(n)
	got := n.find("hybrid", fields{"query": "customer backups"})
	if got.Mode != wire.Keyword || got.Degraded == nil || !strings.Contains(got.Degraded.Reason, "no embedding service") || got.Items[0].Rule.Slug != "DATA-2" {
		t.Errorf("without an embedding service: %+v", got)
	}
	e := &llmtest.Embedder{}
	n.equip(e, nil)
	if got := n.find("hybrid", fields{"query": "customer backups"}); got.Mode != wire.Keyword || got.Degraded == nil || got.Total != 2 {
		t.Errorf("before rules have vectors: %+v", got)
	}
	if len(e.Calls()) != 0 {
		t.Error("the query is embedded although there is nothing to compare it with")
	}
	n.embed(rule.DefaultProject, e)
	if got := n.find("hybrid", fields{"query": "customer backups"}); got.Mode != wire.Hybrid || got.Degraded != nil || got.Items[0].Rule.Slug != "DATA-2" {
		t.Errorf("with vectors: %+v", got)
	}
	n.call("POST", rulesPath, fields{"slug": "NEW-1", "statement": "Customer gifts are declared."}).want(http.StatusCreated)
	if got := n.find("hybrid", fields{"query": "customer gifts"}); got.Mode != wire.Hybrid || got.Degraded == nil ||
		!strings.Contains(got.Degraded.Reason, "1 of 7 rules have no vector") || !strings.Contains(slugs(got), "NEW-1") {
		t.Errorf("a rule without a vector is found by its words: %+v", got)
	}
	e.Respond = func(context.Context, []string) error {
		return rule.Errorf(rule.CodeUnavailable, "no answer from 10.1.2.3: %w", errors.New("key sk-1 refused"))
	}
	got = n.find("hybrid", fields{"query": "leave of the team"})
	if got.Mode != wire.Keyword || got.Degraded == nil || slugs(got) != "HR-1" {
		t.Errorf("while the service fails: %+v", got)
	}
	if strings.Contains(got.Degraded.Reason, "10.1.2.3") || strings.Contains(got.Degraded.Reason, "sk-1") {
		t.Errorf("the reason tells of the inside: %q", got.Degraded.Reason)
	}
	p := n.call("POST", searchPath+"/vector", fields{"query": "something new"}).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
	if strings.Contains(p.Detail, "10.1.2.3") {
		t.Errorf("the problem tells of the inside: %q", p.Detail)
	}
}

func testSearchByCategory(t *testing.T, n *node) {
	for _, test := range []struct {
		body fields
		want string
	}{
		{fields{}, "DATA-1 DATA-2 HR-1 HR-2 ALL-1"},
		{fields{"severity": nil, "tags": nil, "page": nil}, "DATA-1 DATA-2 HR-1 HR-2 ALL-1"},
		{fields{"severity": "MEDIUM"}, "DATA-2 HR-2"},
		{fields{"modality": "must_not"}, "ALL-1"},
		{fields{"scope": "engineering"}, "DATA-1 DATA-2"},
		{fields{"tags": []string{"storage"}}, "DATA-1 DATA-2"},
		{fields{"tags": []string{"storage"}, "status": "SUPERSEDED"}, "OLD-1"},
		{fields{"status": "DRAFT"}, "HR-2 ALL-1"},
		{fields{"status": "RETIRED"}, ""},
	} {
		got := n.find("category", test.body)
		if slugs(got) != test.want || got.Mode != "" || got.Query != "" || got.Total != len(got.Items) {
			t.Errorf("%v finds %q, want %q", test.body, slugs(got), test.want)
		}
	}
}

func testSearchByTime(t *testing.T, n *node) {
	for query, want := range map[string]string{
		"as_of=2026-03-01":                                          "DATA-1 DATA-2 HR-1",
		"as_of=2025-12-31":                                          "DATA-1 HR-1",
		"as_of=2025-12-31T23:59:59Z":                                "DATA-1 HR-1",
		"as_of=2026-01-01T00:00:00Z":                                "DATA-1 DATA-2 HR-1",
		"as_of=2026-01-01T00:30:00%2B01:00":                         "DATA-1 HR-1",
		"as_of=2026-01-01T00:30:00+01:00":                           "DATA-1 HR-1",
		"as_of=2026-01-01T00:00":                                    "DATA-1 DATA-2 HR-1",
		"as_of=2026-06-30T23:59:59.999999Z":                         "DATA-1 DATA-2 HR-1",
		"as_of=2026-07-01T00:00:00Z":                                "DATA-1 HR-1",
		"as_of=20260301":                                            "DATA-1 DATA-2 HR-1",
		"as_of=2026-03-01&q=backups":                                "DATA-2",
		"as_of=2026-08-01&q=backups":                                "",
		"as_of=2026-03-01&page=2&page_size=2":                       "HR-1",
		"as_of=2026-03-01&page=99":                                  "",
		"as_of=2026-03-01&page=1000000000&page_size=100":            "",
		"as_of=2026-03-01&q=%22customer+data%22&project_id=default": "DATA-1 DATA-2",
	} {
		got := into[wire.RuleSearchPage](n.call("POST", searchPath+"/temporal?"+query, nil).want(http.StatusOK))
		if have := slugs(got); have != want && strings.Join(slices.Sorted(slices.Values(strings.Fields(have))), " ") != want {
			t.Errorf("%s finds %q, want %q", query, have, want)
		}
	}
	for query, field := range map[string]string{
		"": "as_of", "as_of=yesterday": "as_of", "as_of=2026-02-30": "as_of", "as_of=2026-13-01": "as_of", "as_of=1700000000": "as_of",
		"as_of=2026-01-01T25:00:00Z": "as_of", "as_of=": "as_of", "as_of=0000-01-01": "as_of", "as_of=2026-01-01&page=0": "page",
		"as_of=2026-01-01&page_size=101": "page_size", "as_of=2026-01-01&page_size=0": "page_size", "as_of=2026-01-01&page=x": "page",
		"as_of=2026-01-01&q=+++": "q", "as_of=2026-01-01&as_of=2026-01-02": "as_of", "as_of=2026-01-01&limit=5": "limit",
	} {
		n.call("POST", searchPath+"/temporal?"+query, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
}

func testSearchByCitation(t *testing.T, n *node) {
	for source, want := range map[string]string{
		"https://example.com/gdpr":          "DATA-1 DATA-2", // exactly, then below
		"HTTP://WWW.Example.com/gdpr/":      "DATA-1 DATA-2",
		"example.com":                       "DATA-1 DATA-2",
		"gdpr#retention":                    "DATA-2",
		"art. 32":                           "DATA-1",
		"Art.  32":                          "DATA-1",
		"https://example.com/gdpr/ Art. 32": "DATA-1",
		"law":                               "DATA-1",
		"encryption of PERSONAL data":       "DATA-1",
		"ISO 27001":                         "",
	} {
		got := into[wire.RuleSearchPage](n.call("POST", searchPath+"/citation?source="+url.QueryEscape(source), nil).want(http.StatusOK))
		if slugs(got) != want || got.Query != source || got.Total != len(got.Items) {
			t.Errorf("%s finds %q, want %q", source, slugs(got), want)
		}
	}
	exact := into[wire.RuleSearchPage](n.call("POST", searchPath+"/citation?source=example.com/gdpr", nil).want(http.StatusOK))
	if exact.Items[0].Score != 1 || exact.Items[1].Score >= 1 || exact.Items[1].Score <= 0 {
		t.Errorf("scores %v and %v", exact.Items[0].Score, exact.Items[1].Score)
	}
	for query, field := range map[string]string{"": "source", "source=": "source", "source=%20": "source", "source=http://": "source", "source=" + strings.Repeat("x", 4001): "source"} {
		n.call("POST", searchPath+"/citation?"+query, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
}

func testSearchBySubject(t *testing.T, n *node) {
	for query, want := range map[string]string{
		"role=manager":                                    "HR-1 ALL-1",
		"role=Manager&location=GERMANY":                   "HR-1 ALL-1",
		"location=germany":                                "HR-1 HR-2 ALL-1",
		"location=emea/germany":                           "HR-2",
		"employment_type=full+time&department=legal":      "HR-2 HR-1 ALL-1",
		"employment_type=full_time":                       "HR-2 HR-1 ALL-1",
		"department=people":                               "HR-1 ALL-1",
		"department=people&location=germany":              "HR-1 ALL-1",
		"department=engin":                                "HR-1 ALL-1", // by their wildcards only
		"":                                                "DATA-1 DATA-2 HR-1 HR-2 ALL-1",
		"role=manager&page_size=1&page=2":                 "ALL-1",
		"location=germany&role=manager&department=people": "HR-1 ALL-1",
	} {
		got := into[wire.RuleSearchPage](n.call("POST", searchPath+"/subject?"+query, nil).want(http.StatusOK))
		if slugs(got) != want {
			t.Errorf("?%s finds %q, want %q", query, slugs(got), want)
		}
	}
	if got := into[wire.RuleSearchPage](n.call("POST", searchPath+"/subject?role=manager&location=germany", nil)); got.Query != "role=manager location=germany" || got.Items[0].Score != 1 {
		t.Errorf("envelope %+v", got)
	}
	n.call("POST", searchPath+"/subject?role=/&location=+", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "role", "location")
	n.call("POST", searchPath+"/subject?age=40", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "age")
}

func TestSearchByConflict(t *testing.T) {
	t.Parallel()
	onBoth(t, testSearchByConflict)
}

func testSearchByConflict(t *testing.T, n *node) {
	seedSearch(n)
	relate := func(from, kind, to, reason string) {
		n.call("POST", rulesPath+"/"+from+"/relationships", fields{"kind": kind, "to": to, "reason": reason}).want(http.StatusCreated)
	}
	relate("DATA-1", "CONFLICTS_WITH", "DATA-2", "rest or backup")
	relate("HR-1", "CONFLICTS_WITH", "DATA-1", "")
	relate("DATA-1", "CONFLICTS_WITH", "HR-1", "seen from here")
	relate("DATA-1", "REFINES", "HR-2", "")
	relate("DATA-1", "CONFLICTS_WITH", "OLD-1", "superseded since")
	id := into[rule.Rule](n.call("GET", rulesPath+"/DATA-1", nil)).ID
	for _, ref := range []string{id, strings.ToUpper(id), "DATA-1"} {
		got := into[wire.RuleConflicts](n.call("POST", searchPath+"/conflict?rule_id="+ref, nil).want(http.StatusOK))
		if got.RuleID != id || got.Total != 2 || len(got.Conflicts) != 2 {
			t.Fatalf("conflicts of %s: %+v", ref, got)
		}
		first, second := got.Conflicts[0], got.Conflicts[1]
		if first.Rule.Slug != "DATA-2" || first.Reason != "rest or backup" || first.Relationship != rule.ConflictsWith || time.Since(first.DetectedAt) > time.Hour {
			t.Errorf("first conflict %+v", first)
		}
		if second.Rule.Slug != "HR-1" || second.Reason != "seen from here" || second.DetectedAt.Before(first.DetectedAt) {
			t.Errorf("second conflict %+v", second)
		}
	}
	if got := into[wire.RuleConflicts](n.call("POST", searchPath+"/conflict?rule_id=DATA-2", nil).want(http.StatusOK)); got.Total != 1 || got.Conflicts[0].Rule.Slug != "DATA-1" {
		t.Errorf("in the other direction: %+v", got)
	}
	got := n.call("POST", searchPath+"/conflict?rule_id=ALL-1", nil).want(http.StatusOK)
	if !strings.Contains(string(got.body), `"conflicts":[],"total":0`) {
		t.Errorf("without conflicts: %s", got.body)
	}
	for _, unknown := range []string{"NO-1", "00000000-0000-0000-0000-000000000000", strings.Repeat("x", 3000), "%20"} {
		n.call("POST", searchPath+"/conflict?rule_id="+unknown, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	n.call("POST", searchPath+"/conflict", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "rule_id")
}

func TestSearchBySituation(t *testing.T) {
	t.Parallel()
	onBoth(t, testSearchBySituation)
}

func testSearchBySituation(t *testing.T, n *node) {
	seedSearch(n)
	const facts = "Somebody copies customer data to a laptop."
	got := n.find("context", fields{"facts": facts})
	if got.Degraded == nil || !strings.Contains(got.Degraded.Reason, "TENET_JUDGE_MODEL") || got.Mode != wire.Keyword || got.Total != 2 || got.Query != facts {
		t.Errorf("without a model: %+v", got)
	}
	m := &llmtest.Fake{}
	n.equip(nil, m)
	m.Push(`{"queries":["encryption at rest","passwords"]}`)
	m.Respond = func(_ context.Context, req llm.Request) (llm.Response, error) {
		answer := `{"rules":[`
		for i, r := range []string{"R1", "R2", "R3"} {
			relevance := "related"
			if strings.Contains(req.Prompt, `"`+r+`","modality":"MUST_NOT"`) {
				relevance = "direct"
			}
			if i > 0 {
				answer += ","
			}
			answer += fmt.Sprintf(`{"rule_ref":%q,"reason":"because of %s","relevance":%q}`, r, r, relevance)
		}
		return llm.Response{Text: answer + `]}`}, nil
	}
	got = n.find("context", fields{"facts": facts})
	if got.Total != 3 || got.Items[0].Rule.Slug != "ALL-1" || got.Items[0].Score != 1 || !strings.HasPrefix(got.Items[0].Reason, "because of R") || got.Items[2].Score >= 1 {
		t.Errorf("with a model: %+v", got)
	}
	calls := m.Calls()
	second := n.find("context", fields{"facts": facts, "page": 2, "page_size": 2})
	if slugs(second) != got.Items[2].Rule.Slug || second.Total != 3 || m.Calls() != calls {
		t.Errorf("the second page is %q after %d more calls to the model", slugs(second), m.Calls()-calls)
	}
	for body, field := range map[string]string{`{}`: "facts", `{"facts":" "}`: "facts", `{"facts":"` + strings.Repeat("x", 20_001) + `"}`: "facts", `{"facts":"x","query":"y"}`: "query", `{"facts":{"a":1}}`: "facts"} {
		n.call("POST", searchPath+"/context", body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
}

// A scope finds the rules of a situation: those of the scope, above it, below it and everywhere.
func TestSearchBySituationInScope(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for slug, scope := range map[string][]string{"A": {"fin"}, "B": {"fin/pay"}, "C": {"fin/pay/emea"}, "D": {"fin/tax"}, "E": {}} {
		n.call("POST", rulesPath, fields{"slug": slug, "statement": "Payments are logged.", "scope": scope}).want(http.StatusCreated)
	}
	got := strings.Fields(slugs(n.find("context", fields{"facts": "payments", "scope": "fin/pay"})))
	slices.Sort(got)
	if strings.Join(got, " ") != "A B C E" {
		t.Errorf("found %v", got)
	}
}

func TestSearchRefusesBadBodies(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedSearch(n)
	for _, name := range []string{"fulltext", "vector", "hybrid", "category"} {
		for body, field := range map[string]string{
			`{"query":"x","severity":"SEVERE"}`: "severity", `{"query":"x","modality":"x"}`: "modality", `{"query":"x","status":"on"}`: "status",
			`{"query":"x","page":0}`: "page", `{"query":"x","page":-1}`: "page", `{"query":"x","page":1.5}`: "page", `{"query":"x","page":"1"}`: "page",
			`{"query":"x","page_size":0}`: "page_size", `{"query":"x","page_size":101}`: "page_size", `{"query":"x","tags":"a"}`: "tags",
			`{"query":"x","tags":[" "]}`: "tags[0]", `{"query":"x","tags":[1]}`: "tags[0]", `{"query":"x","scope":["a"]}`: "scope", `{"query":"x","colour":"red"}`: "colour",
		} {
			if name == "category" {
				body = strings.Replace(body, `"query":"x",`, "", 1)
			}
			n.call("POST", searchPath+"/"+name, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
		}
		n.call("POST", searchPath+"/"+name, "").wantProblem(http.StatusBadRequest, rule.CodeInvalid)
		good := fields{"query": "x"}
		if name == "category" {
			good = fields{}
		}
		n.call("POST", searchPath+"/"+name+"?project_id=nowhere", good).wantProblem(http.StatusNotFound, rule.CodeNotFound)
		n.call("GET", searchPath+"/"+name, nil).wantProblem(http.StatusMethodNotAllowed, rule.CodeInvalid)
	}
	for _, name := range []string{"fulltext", "vector", "hybrid"} {
		for _, body := range []any{`{"query":""}`, `{"query":" \t\n "}`, fields{"query": strings.Repeat("é", 10_001)}} {
			p := n.call("POST", searchPath+"/"+name, body).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "query")
			if name == "fulltext" && body == `{"query":""}` && !strings.Contains(p.Errors[0].Message, "/search/category") {
				t.Errorf("an empty query is not told what to do instead: %+v", p.Errors)
			}
		}
	}
	n.call("POST", searchPath+"/fulltext", `{}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "query")
	n.call("POST", searchPath+"/fulltext", `{"query":"x","vector":[1]}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "vector")
	n.call("POST", searchPath+"/category", `{"query":"x"}`).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "query")
	if got := n.find("fulltext", fields{"query": "customer", "page": 1_000_000_000, "page_size": 100}); got.Total != 2 || len(got.Items) != 0 || got.Items == nil {
		t.Errorf("a page beyond the end: %+v", got)
	}
}

// Pages put together are the list, whatever their size, and the list is the same each time.
func TestSearchPaging(t *testing.T) {
	t.Parallel()
	onBoth(t, testSearchPaging)
}

func testSearchPaging(t *testing.T, n *node) {
	words := []string{"payment", "approval", "record", "vendor", "audit"}
	for i := range 37 {
		n.call("POST", rulesPath, fields{
			"slug": fmt.Sprintf("R-%d", i), "statement": fmt.Sprintf("A %s needs a %s.", words[i%5], words[i/2%5]), "status": "EFFECTIVE",
			"scope": []string{"fin/emea"}, "source_refs": []fields{{"kind": "policy", "uri": words[i%3]}},
		}).want(http.StatusCreated)
	}
	e := &llmtest.Embedder{}
	n.equip(e, nil)
	n.embed(rule.DefaultProject, e)
	searches := map[string]func(q url.Values) wire.RuleSearchPage{}
	for name, body := range map[string]fields{
		"fulltext": {"query": "payment audit"}, "vector": {"query": "payment audit"}, "hybrid": {"query": "payment audit"}, "category": {}, "context": {"facts": "a payment"},
	} {
		searches[name] = func(q url.Values) wire.RuleSearchPage {
			body := maps.Clone(body)
			for key := range q {
				body[key] = json.Number(q.Get(key))
			}
			return n.find(name, body)
		}
	}
	for name, query := range map[string]string{"temporal": "as_of=2026-03-01", "citation": "source=e", "subject": "department=fin"} {
		searches[name] = func(q url.Values) wire.RuleSearchPage { return n.find(name+"?"+query+"&"+q.Encode(), nil) }
	}
	for name, find := range searches {
		whole := find(url.Values{"page_size": {"100"}})
		if whole.Total != len(whole.Items) || whole.Total < 10 {
			t.Errorf("%s: %d items, total %d", name, len(whole.Items), whole.Total)
		}
		if diff := cmp.Diff(whole, find(url.Values{"page_size": {"100"}})); diff != "" {
			t.Errorf("%s differs the second time:\n%s", name, diff)
		}
		for _, size := range []int{1, 3, 7, 36, 37, 38} {
			var joined []wire.RuleSearchItem
			for page := 1; ; page++ {
				got := find(url.Values{"page_size": {fmt.Sprint(size)}, "page": {fmt.Sprint(page)}})
				if got.Total != whole.Total || got.Page != page || got.PageSize != size {
					t.Fatalf("%s, page %d of size %d: %+v", name, page, size, got)
				}
				joined = append(joined, got.Items...)
				if len(got.Items) < size {
					break
				}
			}
			if diff := cmp.Diff(whole.Items, joined); diff != "" {
				t.Errorf("%s: pages of %d do not make up the whole:\n%s", name, size, diff)
			}
		}
	}
}

// No search shows a rule of another project.
func TestSearchStaysInItsProject(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeProject("pay")
	seedSearch(n)
	for target, body := range map[string]any{
		"fulltext?": fields{"query": "customer data"}, "hybrid?": fields{"query": "customer data"}, "category?": fields{}, "context?": fields{"facts": "customer data"},
		"temporal?as_of=2026-03-01&": nil, "citation?source=law&": nil, "subject?location=germany&": nil,
	} {
		if got := n.find(target+"project_id=default", body); got.Total == 0 {
			t.Errorf("%s finds nothing in default", target)
		}
		if got := n.find(target+"project_id=pay", body); got.Total != 0 {
			t.Errorf("%s finds %s in pay", target, slugs(got))
		}
	}
	n.call("POST", searchPath+"/conflict?project_id=pay&rule_id=DATA-1", nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
}

// box searches in one box.
func (n *node) box(q string, more ...string) wire.FoundRules {
	n.t.Helper()
	query := url.Values{}
	if q != "" {
		query.Set("q", q)
	}
	for i := 0; i+1 < len(more); i += 2 {
		query.Add(more[i], more[i+1])
	}
	return into[wire.FoundRules](n.call("GET", searchPath+"?"+query.Encode(), nil).want(http.StatusOK))
}

func testSearchBox(t *testing.T, n *node) {
	for _, test := range []struct {
		q, want, reading, matched string // of the first
		more                      []string
	}{
		{q: "customer data", want: "DATA-2 DATA-1", reading: "words=customer data", matched: "words: has the words customer, data, DATA-2"},
		{q: "customer", want: "DATA-2", reading: "words=customer", matched: "words: has the words customer", more: []string{"status", "approved"}},
		{q: "storage", want: "DATA-2 DATA-1", reading: "words=storage", matched: "words: has the words storage"},
		{q: "Art. 32", want: "DATA-1", reading: "citation=Art. 32", matched: "citation: refers to https://www.example.com/gdpr/ Art. 32"},
		{q: "Article 32 encrypted", want: "DATA-1", reading: "citation=Article 32 words=encrypted", matched: "citation: refers to https://www.example.com/gdpr/ Art. 32"},
		{q: "Art. 3", want: "", reading: "citation=Art. 3"},
		{q: "https://example.com/gdpr", want: "DATA-1 DATA-2", reading: "citation=https://example.com/gdpr", matched: "citation: refers to https://www.example.com/gdpr/ Art. 32"},
		{q: "hr-2", want: "HR-2", reading: "rule=hr-2", matched: "rule: is the rule HR-2"},
		{q: "HR-2 passwords", want: "HR-2 ALL-1", reading: "rule=HR-2 words=passwords", matched: "rule: is the rule HR-2"},
		{q: "in force on 2026-03-01", want: "DATA-1 DATA-2 HR-1", reading: "in_force=2026-03-01", matched: "in_force: is in force without an end"},
		{q: "customer in force on 2026-08-01", want: "DATA-1", reading: "words=customer in_force=2026-08-01", matched: "in_force: is in force without an end"},
		{q: "customer changed since 2000", want: "DATA-2 DATA-1", reading: "words=customer changed_since=2000", matched: "changed: was last changed on " + n.today()},
		{q: "made before 2000", want: "", reading: "made_before=2000"},
		{q: "", want: "DATA-1 DATA-2", more: []string{"tags", "storage"}},
		{q: "", want: "DATA-1", more: []string{"source_kind", "LAW"}},
		{q: "Art. 32", want: "", reading: "words=Art. 32", more: []string{"plain", "true"}},
	} {
		got := n.box(test.q, test.more...)
		var reading []string
		for _, r := range got.Reading {
			reading = append(reading, string(r.Kind)+"="+r.Value)
		}
		if slugs(got.RuleSearchPage) != test.want || got.Total != len(got.Items) || strings.Join(reading, " ") != test.reading {
			t.Errorf("%q %v finds %q read as %q, want %q, %q", test.q, test.more, slugs(got.RuleSearchPage), reading, test.want, test.reading)
			continue
		}
		if len(got.Items) > 0 && test.matched != "" {
			if m := got.Items[0].Matched; len(m) == 0 || m[0].Kind+": "+m[0].Text != test.matched {
				t.Errorf("%q: matched %+v, want %s", test.q, m, test.matched)
			}
		}
		counted := 0
		for _, c := range got.Facets.Status {
			counted += c.Rules
		}
		if counted != got.Total {
			t.Errorf("%q: facets count %d of %d", test.q, counted, got.Total)
		}
		for _, item := range got.Items {
			if (test.q != "") != (len(item.Matched) > 0) {
				t.Errorf("%q: %s matched %+v", test.q, item.Rule.Slug, item.Matched)
			}
			for _, h := range item.Highlights {
				if of := []rune(textOf(&item.Rule, h)); h.Start < 0 || h.Start >= h.End || h.End > len(of) {
					t.Errorf("%q: highlight %+v of %q", test.q, h, string(of))
				}
			}
		}
	}
	marked := n.box("Art. 32 encrypted privacy")
	var marks []string
	for _, h := range marked.Items[0].Highlights {
		marks = append(marks, h.Field+"="+string([]rune(textOf(&marked.Items[0].Rule, h))[h.Start:h.End]))
	}
	if diff := cmp.Diff([]string{"statement=encrypted", "source_refs.section=Art. 32", "tags=Privacy"}, marks); diff != "" {
		t.Error(diff)
	}
	if got := n.box("customer", "page", "2", "page_size", "1"); slugs(got.RuleSearchPage) != "DATA-1" || got.Total != 2 || got.Page != 2 || len(got.Facets.Tags) != 2 {
		t.Errorf("page 2: %+v", got)
	}
	if got := n.box("customer", "mode", "keyword"); got.Degraded != nil || got.Mode != wire.Keyword {
		t.Errorf("by words: %+v", got.Degraded)
	}
	if got := n.box("customer"); got.Mode != wire.Keyword || got.Degraded == nil || !strings.Contains(got.Degraded.Reason, "no embedding service") {
		t.Errorf("without an embedding service: %s, %+v", got.Mode, got.Degraded)
	}
	n.call("GET", searchPath+"?q=x&mode=vector", nil).wantProblem(http.StatusServiceUnavailable, rule.CodeUnavailable)
	n.call("GET", searchPath+"?q=in-force:soon", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "q")
	n.call("GET", searchPath+"?q=x&severity=dire", nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "severity")
	n.call("GET", searchPath+"?q=x&environment=production", nil).wantProblem(http.StatusConflict, rule.CodeConflict)
}

// today is the day of the server, in UTC.
func (n *node) today() string { return time.Now().UTC().Format(time.DateOnly) }

// A search by meaning finds what has none of the words, and says so.
func TestSearchBoxByMeaning(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedSearch(n)
	e := &llmtest.Embedder{}
	n.equip(e, nil)
	n.embed(rule.DefaultProject, e)
	got := n.box("customer")
	if got.Mode != wire.Hybrid || got.Degraded != nil || got.Total < 3 || got.Items[0].Matched[0].Kind != "words" {
		t.Fatalf("%s, %+v, %d found: %s", got.Mode, got.Degraded, got.Total, slugs(got.RuleSearchPage))
	}
	if last := got.Items[len(got.Items)-1]; last.Matched[0].Kind != "meaning" {
		t.Errorf("%s matched %+v", last.Rule.Slug, last.Matched)
	}
	if near := n.box("customer", "mode", "vector"); near.Mode != wire.Vector || near.Total != 5 {
		t.Errorf("%s finds %d", near.Mode, near.Total)
	}
}

// What is shown in /docs works as it stands there.
func TestSearchExamples(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.equip(&llmtest.Embedder{}, nil)
	var described struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   struct{ Examples []any }
			}
		}
	}
	if err := json.Unmarshal(n.call("GET", "/openapi.json", nil).body, &described); err != nil {
		t.Fatal(err)
	}
	for name, e := range searchExamples {
		if e.answer == nil {
			t.Errorf("%s has no example of an answer", name)
		}
		op := described.Paths[searchPath+"/"+name]["post"]
		if e.request != nil {
			n.find(name, e.request)
			continue
		}
		q := url.Values{}
		for _, p := range op.Parameters {
			if p.In == "query" && len(p.Schema.Examples) > 0 && p.Name != "rule_id" {
				q.Set(p.Name, fmt.Sprint(p.Schema.Examples[0]))
			}
		}
		if name != "conflict" && len(q) < 2 {
			t.Errorf("%s shows the parameters %v only", name, q)
		}
		if name != "conflict" {
			n.find(name+"?"+q.Encode(), nil)
		}
	}
	if len(searchExamples) != 9 {
		t.Errorf("%d examples for 9 searches", len(searchExamples))
	}
}

func TestSearchStatus(t *testing.T) {
	t.Parallel()
	onBoth(t, testSearchStatus)
}

func testSearchStatus(t *testing.T, n *node) {
	seedSearch(n)
	status := func() wire.SearchStatus {
		return into[wire.SearchStatus](n.call("GET", searchPath+"/status", nil).want(http.StatusOK))
	}
	if got, want := status(), (wire.SearchStatus{ProjectID: "default", Rules: 6}); got != want {
		t.Errorf("without services: %+v", got)
	}
	e := &llmtest.Embedder{}
	n.equip(e, &llmtest.Fake{})
	n.embed(rule.DefaultProject, e)
	if got, want := status(), (wire.SearchStatus{ProjectID: "default", EmbeddingModel: "fake:words", Rules: 6, RulesWithVector: 6, Model: "fake:model"}); got != want {
		t.Errorf("with services: %+v", got)
	}
}

// An empty body is answered with the fields that it may have.
func TestAnEmptyBodySaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for path, want := range map[string]string{"category": "or one with any of ", "fulltext": "send a JSON object with query"} {
		p := n.call("POST", "/api/v1/search/"+path, "").wantProblem(http.StatusBadRequest, rule.CodeInvalid)
		if !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %q, want %q", path, p.Detail, want)
		}
	}
}
