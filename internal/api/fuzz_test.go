package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"tenet/internal/wire"
)

// FuzzRequests sends any bytes to the operations that take the most: never a fault of the server, and every refusal is a
// proper problem.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"diff":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}`, `{"files":[{"path":"a.go","content":"x"}],"facts":{"a":1.5e3}}`,
		`{"action":"Pay the bill","scope":"finance"}`, `{"statement":"x","check":{"cel":"facts.a > 1"},"tags":["a"]}`,
		`{"statement":"x","check":{"pattern":{"regex":"(a|b)+$"}}}`, `{"rules":[{"slug":"A-1","statement":"x"}]}`,
		"rules:\n  - slug: A-1\n    statement: x\n", `{"diff":null,"max_rules":101}`, "{\"a\xff\":\"\\u0000\"}", `{"a":{"a":[[[[[]]]]]}}`,
		`{"effective_period":{"from":"0001-01-01T00:00:00+23:59"}}`, `{"slug":null,"check":null,"applies_to":{"paths":["**/{a,b}"]}}`,
		`{"file_paths":["a","b/../c"],"repository":"x"}`, `{"to":"REVIEW"}`, `{"kind":"OVERRIDES","to":"X-1"}`, `{"name":"x","role":"admin","project_id":"*"}`,
		`{"name":"x","level":"organization","repositories":["a/**"]}`, `{"parent_id":null,"default_scope":"a/b"}`,
		`{"rule_id":"X-1","override_parent_rule_id":"X-1","allow_weakening":true,"reason":"x"}`,
		`{"federation":[{"name":"x","rules":["X-1"],"children":[{"name":"y","overrides":[{"rule":"X-1","instead_of":"X-1"}]}]}]}`,
		"federation: [{name: x, level: team, id: 00000000-0000-0000-0000-000000000000, children: [{name: x}, {name: x}]}]\n",
		`{"subject":{"kind":"transaction","amount":5,"facts":{"amount":6}},"submission_id":"s-1"}`, `{"subject":{"kind":"document","title":"a/../b","content":"x"}}`,
		`{"subject":{"kind":["document"],"content":"x"}}`, `{"subject":{"k\u0069nd":"communication","recipients":[],"content":"\u0000"}}`,
		`{"subject":{"kind":"decision_request","options":[[{"a":null}]],"context":[1e400]}}`, `{"rule_id":"X-1","correct":true}`,
	} {
		f.Add([]byte(seed))
	}
	n := newNode(f)
	n.call("POST", rulesPath, fields{"slug": "X-1", "statement": "There is one."}).want(http.StatusCreated)
	team := federationPath + "/" + n.makeNode("team", "team", n.makeNode("org", "organization", ""))
	targets := []string{
		"POST " + federationPath, "PATCH " + team, "POST " + team + "/rules",
		"POST " + evaluatePath, "POST " + evaluatePath + "/quick", "POST " + evaluatePath + "/applicable-rules", "POST " + rulesPath,
		"POST " + evaluatePath + "/applicable-rules/explain",
		"POST " + submissionsPath, "POST " + evaluationsPath + "/00000000-0000-7000-8000-000000000001/feedback",
		"PATCH " + rulesPath + "/X-1", "POST " + rulesPath + "/X-1/relationships", "POST " + rulesPath + "/import?dry_run=true",
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n.t = t
		for _, target := range targets {
			method, path, _ := strings.Cut(target, " ")
			checkAnswer(t, n.call(method, path, body))
		}
		checkAnswer(t, n.call("POST", rulesPath+"/import?dry_run=true", body, "Content-Type", "application/yaml"))
	})
}

func checkAnswer(t *testing.T, got *reply) {
	t.Helper()
	if got.status >= 500 {
		t.Fatalf("%s: %d %s", got.what, got.status, got.body)
	}
	if !json.Valid(got.body) || !utf8.Valid(got.body) {
		t.Fatalf("%s: the answer is not JSON: %q", got.what, got.body)
	}
	if got.status >= 400 {
		p := into[wire.Problem](got)
		if p.Code == "" || p.Detail == "" {
			t.Fatalf("%s: not a proper problem: %s", got.what, got.body)
		}
	}
}

// FuzzQuery sends any query and path.
func FuzzQuery(f *testing.F) {
	for _, seed := range [][2]string{{"x", "page=1&severity=HIGH"}, {"%00", "tags=a&tags=b"}, {"a/../b", "q=%ff;"}, {"versions", "project_id=*"}, {"X-1", "a=%zz&&=&="}} {
		f.Add(seed[0], seed[1])
	}
	n := newNode(f)
	f.Fuzz(func(t *testing.T, ref, query string) {
		n.t = t
		for _, path := range []string{rulesPath, rulesPath + "/" + ref, rulesPath + "/" + ref + "/versions/" + ref, evaluationsPath, evaluationsPath + "/" + ref, keysPath, projectsPath + "/" + ref} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path+"?"+query, nil)
			if err != nil {
				continue // no client can send it
			}
			got := n.send(r)
			if got.status >= 300 && got.status < 400 {
				continue // a path that is not clean
			}
			checkAnswer(t, got)
		}
	})
}
