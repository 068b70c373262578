package review

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	keyA = "c317e770c5b7463b6799f457f30a61ea:1"
	keyB = "88da1ce63cbfcd04341f909c3ab759a1:1"
	head = "0123456789abcdef0123456789abcdef01234567"
)

// found makes a SARIF file of results, each a JSON object.
func found(t *testing.T, results ...string) []Finding {
	t.Helper()
	text := `{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "tenet", "rules": [
		{"id": "SEC-001", "helpUri": "https://tenet.test/rules/x)>](y", "shortDescription": {"text": "Keys @team must <b>not</b> be here. #1"}, "properties": {"severity": "CRITICAL"}}]}},
		"results": [` + strings.Join(results, ",") + `]}]}`
	list, err := Findings([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func result(key, path string, line int, more string) string {
	return fmt.Sprintf(`{"ruleId": "SEC-001", "ruleIndex": 0, "level": "error", "message": {"text": "a key\nFix: <script>alert(1)</script> --> [x](javascript:1)"},
		"partialFingerprints": {%q: %q}, "properties": {"verdict": "DENY"},
		"locations": [{"physicalLocation": {"artifactLocation": {"uri": %q}, "region": {"startLine": %d}}}]%s}`, fingerprint, key, path, line, more)
}

func TestFindings(t *testing.T) {
	t.Parallel()
	list := found(t, result(keyA, "a%20b/k.py", 3, ""), result(keyB, "subject", 1, ""), result(keyB, "old.py", 1, `, "baselineState": "unchanged"`),
		result(keyB, "waived.py", 1, `, "suppressions": [{"kind": "external"}]`), result("no key", "x.py", 1, ""), result(keyB, "file:///etc/passwd", 1, ""))
	if len(list) != 1 || list[0].Path != "a b/k.py" || list[0].Line != 3 || list[0].Key != keyA || keyOf(list[0].Body) != keyA {
		t.Fatalf("%+v", list)
	}
	body := list[0].Body
	for _, hostile := range []string{"<script>", "<b>", "@team", "#1", "[x](", "javascript:1)"} {
		if strings.Contains(body, hostile) {
			t.Errorf("%q is in the comment as it came:\n%s", hostile, body)
		}
	}
	if strings.Count(body, "-->") != 1 || !strings.Contains(body, `**SEC\-001** CRITICAL, violated`) || !strings.Contains(body, "[About the rule](<https://tenet.test/rules/x%29%3E%5D%28y>)") {
		t.Errorf("comment:\n%s", body)
	}
	for _, bad := range []string{"", "{}", `{"runs": []}`, `{"runs": [{"tool": {"driver": {"name": "other"}}}]}`} {
		if _, err := Findings([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// forges runs a test on a fake of each API, made from its documentation.
func forges(t *testing.T, test func(t *testing.T, open func() Forge, fake *fake)) {
	t.Run("GitHub", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, gitHub)
		test(t, func() Forge {
			g, err := NewGitHub(t.Context(), GitHubConfig{API: f.URL, Token: "secret", Repository: "acme/pay", Number: 7})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}, f)
	})
	t.Run("GitLab", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, gitLab)
		test(t, func() Forge {
			g, err := NewGitLab(t.Context(), GitLabConfig{API: f.URL, Token: "secret", Project: "acme/pay", Number: 7})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}, f)
	})
}

func sync1(t *testing.T, open func() Forge, most int, list []Finding, want Outcome) {
	t.Helper()
	got, err := Sync(t.Context(), open(), list, most)
	if err != nil || got != want {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
}

// A finding has one comment: it is updated when its words change, resolved when it is gone, and opened again when it is back.
func TestCommentsFollowTheFindings(t *testing.T) {
	t.Parallel()
	forges(t, func(t *testing.T, open func() Forge, fake *fake) {
		both := found(t, result(keyA, "k.py", 3, ""), result(keyB, "m.py", 5, ""))
		sync1(t, open, 30, both, Outcome{Created: 2})
		sync1(t, open, 30, both, Outcome{Unchanged: 2})
		if c := fake.comments[0]; c.path != "k.py" || c.line != 3 || c.commit != head {
			t.Errorf("the comment is at %+v", c)
		}
		moved := found(t, result(keyA, "k.py", 4, ""), strings.Replace(result(keyB, "m.py", 5, ""), "a key", "two keys", 1))
		sync1(t, open, 30, moved, Outcome{Unchanged: 1, Updated: 1})
		sync1(t, open, 30, moved[:1], Outcome{Unchanged: 1, Resolved: 1})
		sync1(t, open, 30, moved[:1], Outcome{Unchanged: 1})
		if !fake.comments[1].resolved || !strings.Contains(fake.comments[1].body, "two keys") {
			t.Errorf("%+v", fake.comments[1])
		}
		sync1(t, open, 30, moved, Outcome{Unchanged: 1, Updated: 1})
		if fake.comments[1].resolved || len(fake.comments) != 2 {
			t.Errorf("%+v", fake.comments)
		}
	})
}

// Comments are bounded, those of others stay as they are, and a line that the request does not show is counted.
func TestCommentsKeepWithinBounds(t *testing.T) {
	t.Parallel()
	forges(t, func(t *testing.T, open func() Forge, fake *fake) {
		fake.comments = append(fake.comments,
			&remark{body: "<!-- tenet:review:" + keyA + " -->\nnothing to see here", foreign: true}, // a marker that somebody has copied
			&remark{body: "please mind the tests"})
		list := found(t, strings.Replace(result(keyB, "m.py", 5, ""), `"level": "error"`, `"level": "note"`, 1), result("11111111111111111111111111111111:1", "hidden.py", 9, ""),
			result(keyA, "k.py", 3, ""), result(keyA, "k.py", 3, ""))
		sync1(t, open, 1, list, Outcome{Created: 1, NoPlace: 1, LeftOut: 1})
		sync1(t, open, 1, list, Outcome{Unchanged: 1, NoPlace: 1, LeftOut: 1})
		if len(fake.comments) != 3 || !strings.Contains(fake.comments[2].body, keyA) || strings.Contains(fake.comments[0].body, "SEC") {
			t.Errorf("%+v", fake.comments)
		}
		for i := range 230 { // more than two pages
			fake.comments = append(fake.comments, &remark{body: fmt.Sprint("remark ", i)})
		}
		fake.busy = 1
		sync1(t, open, 30, list, Outcome{Unchanged: 1, Created: 1, NoPlace: 1})
		sync1(t, open, 30, nil, Outcome{Resolved: 2})
	})
}

func TestTokenStaysAtHome(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the request went on to another place, with %v", r.Header)
	}))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	if _, err := NewGitLab(t.Context(), GitLabConfig{API: srv.URL, Token: "secret", Project: "1", Number: 1}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if _, err := NewGitHub(context.Background(), GitHubConfig{API: "ftp://x", Token: "secret", Repository: "a/b", Number: 1}); err == nil {
		t.Error("an address that is none is taken")
	}
}

// remark is a comment at a fake forge.
type remark struct {
	body, path, commit string
	line               int
	resolved, foreign  bool
}

// fake is a forge with one request, whose file hidden.py is not in the diff.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	comments []*remark
	busy     int // requests that it refuses for a moment
}

func newFake(t *testing.T, routes func(*fake, *http.ServeMux)) *fake {
	f := &fake{}
	mux := http.NewServeMux()
	routes(f, mux)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer secret" && r.Header.Get("Private-Token") != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case f.busy > 0:
			f.busy--
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

type object = map[string]any

func read(r *http.Request) object {
	var v object
	_ = json.NewDecoder(r.Body).Decode(&v)
	return v
}

// page returns the part of a list that a request asks for.
func page(r *http.Request, all []object) []object {
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	from := min(len(all), max(0, n-1)*size)
	return all[from:min(len(all), from+size)]
}

func (f *fake) at(id string) *remark {
	n, err := strconv.Atoi(id)
	if err != nil || n >= len(f.comments) {
		return nil
	}
	return f.comments[n]
}

// edit replaces the text of a comment, unless it belongs to somebody else.
func (f *fake) edit(w http.ResponseWriter, id string, body object) {
	c := f.at(id)
	if c == nil || c.foreign {
		answer(w, http.StatusForbidden, object{"message": "Resource not accessible"})
		return
	}
	c.body, _ = body["body"].(string)
	answer(w, http.StatusOK, object{"id": 1})
}

// gitHub serves the calls that are made to GitHub, in the shapes of its documentation.
func gitHub(f *fake, mux *http.ServeMux) {
	mux.HandleFunc("GET /repos/acme/pay/pulls/7", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, object{"number": 7, "head": object{"sha": head}})
	})
	mux.HandleFunc("GET /repos/acme/pay/pulls/7/comments", func(w http.ResponseWriter, r *http.Request) {
		all := []object{}
		for i, c := range f.comments {
			all = append(all, object{"id": i, "body": c.body, "path": c.path, "line": c.line, "user": object{"login": "github-actions[bot]", "type": "Bot"}})
		}
		answer(w, http.StatusOK, page(r, all))
	})
	mux.HandleFunc("POST /repos/acme/pay/pulls/7/comments", func(w http.ResponseWriter, r *http.Request) {
		in := read(r)
		if in["path"] == "hidden.py" || in["side"] != "RIGHT" {
			answer(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{{"field": "pull_request_review_thread.line", "code": "custom"}}})
			return
		}
		line, _ := in["line"].(float64)
		f.comments = append(f.comments, &remark{body: fmt.Sprint(in["body"]), path: fmt.Sprint(in["path"]), commit: fmt.Sprint(in["commit_id"]), line: int(line)})
		answer(w, http.StatusCreated, object{"id": len(f.comments) - 1})
	})
	mux.HandleFunc("PATCH /repos/acme/pay/pulls/comments/{id}", func(w http.ResponseWriter, r *http.Request) { f.edit(w, r.PathValue("id"), read(r)) })
	mux.HandleFunc("POST /graphql", func(w http.ResponseWriter, r *http.Request) {
		in := read(r)
		query, _ := in["query"].(string)
		variables, _ := in["variables"].(object)
		if strings.HasPrefix(query, "mutation") {
			c := f.at(strings.TrimPrefix(fmt.Sprint(variables["id"]), "T"))
			if c == nil || c.foreign {
				answer(w, http.StatusOK, object{"data": nil, "errors": []object{{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}}})
				return
			}
			c.resolved = strings.Contains(query, "{resolveReviewThread(")
			answer(w, http.StatusOK, object{"data": object{}})
			return
		}
		from, _ := strconv.Atoi(fmt.Sprint(variables["after"]))
		nodes := []object{}
		for i := from; i < min(len(f.comments), from+100); i++ {
			nodes = append(nodes, object{"id": fmt.Sprint("T", i), "isResolved": f.comments[i].resolved, "comments": object{"nodes": []object{{"databaseId": i}}}})
		}
		answer(w, http.StatusOK, object{"data": object{"repository": object{"pullRequest": object{"reviewThreads": object{
			"pageInfo": object{"hasNextPage": from+100 < len(f.comments), "endCursor": fmt.Sprint(from + 100)}, "nodes": nodes,
		}}}}})
	})
}

// gitLab serves the calls that are made to GitLab.
func gitLab(f *fake, mux *http.ServeMux) {
	const at = "/projects/acme%2Fpay/merge_requests/7"
	handle := func(method, path string, h http.HandlerFunc) {
		mux.HandleFunc(method+" /projects/{project}/merge_requests/7"+path, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.EscapedPath(), at) {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			h(w, r)
		})
	}
	handle("GET", "/versions", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, []object{{"id": 2, "head_commit_sha": head, "base_commit_sha": "b", "start_commit_sha": "s", "state": "collected"}})
	})
	handle("GET", "/discussions", func(w http.ResponseWriter, r *http.Request) {
		all := []object{}
		for i, c := range f.comments {
			all = append(all, object{"id": fmt.Sprint("d", i), "individual_note": false, "notes": []object{{"id": i, "type": "DiffNote", "body": c.body, "resolvable": true, "resolved": c.resolved}}})
		}
		answer(w, http.StatusOK, page(r, all))
	})
	handle("POST", "/discussions", func(w http.ResponseWriter, r *http.Request) {
		in := read(r)
		position, _ := in["position"].(object)
		if position["new_path"] == "hidden.py" || position["position_type"] != "text" || position["base_sha"] != "b" || position["start_sha"] != "s" {
			answer(w, http.StatusBadRequest, object{"message": "400 Bad request - Note {:line_code=>[\"can't be blank\"]}"})
			return
		}
		line, _ := position["new_line"].(float64)
		f.comments = append(f.comments, &remark{body: fmt.Sprint(in["body"]), path: fmt.Sprint(position["new_path"]), commit: fmt.Sprint(position["head_sha"]), line: int(line)})
		answer(w, http.StatusCreated, object{"id": "d"})
	})
	handle("PUT", "/discussions/{d}/notes/{n}", func(w http.ResponseWriter, r *http.Request) { f.edit(w, r.PathValue("n"), read(r)) })
	handle("PUT", "/discussions/{d}", func(w http.ResponseWriter, r *http.Request) {
		c := f.at(strings.TrimPrefix(r.PathValue("d"), "d"))
		if c == nil || c.foreign {
			answer(w, http.StatusForbidden, object{"message": "403 Forbidden"})
			return
		}
		c.resolved, _ = read(r)["resolved"].(bool)
		answer(w, http.StatusOK, object{"id": r.PathValue("d")})
	})
}
