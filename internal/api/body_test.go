package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// nested is a JSON list in a list in a list, n levels deep.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestBadInput(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath, fields{"slug": "X-1", "statement": "There is one."}).want(http.StatusCreated)
	var (
		quick      = evaluatePath + "/quick"
		applicable = evaluatePath + "/applicable-rules"
		one        = rulesPath + "/X-1"
	)
	tests := []struct {
		name, target, body string
		status             int
		fields             []string // nil: the body as a whole
	}{
		// Wrong types.
		{"diff is a number", "POST " + evaluatePath, `{"diff":3}`, 422, []string{"diff"}},
		{"diff is a list", "POST " + evaluatePath, `{"diff":["a"]}`, 422, []string{"diff"}},
		{"files is an object", "POST " + evaluatePath, `{"files":{}}`, 422, []string{"files"}},
		{"files holds text", "POST " + evaluatePath, `{"files":["a.go"]}`, 422, []string{"files[0]"}},
		{"file without path", "POST " + evaluatePath, `{"files":[{"path":"a"},{"content":"x"}]}`, 422, []string{"files[1].path"}},
		{"path is null", "POST " + evaluatePath, `{"files":[{"path":null}]}`, 422, []string{"files[0].path"}},
		{"content is a number", "POST " + evaluatePath, `{"files":[{"path":"a","content":1}]}`, 422, []string{"files[0].content"}},
		{"facts is a list", "POST " + evaluatePath, `{"facts":[]}`, 422, []string{"facts"}},
		{"facts is text", "POST " + evaluatePath, `{"facts":"amount=3"}`, 422, []string{"facts"}},
		{"max_rules is text", "POST " + evaluatePath, `{"max_rules":"20"}`, 422, []string{"max_rules"}},
		{"max_rules is a fraction", "POST " + evaluatePath, `{"max_rules":1.5}`, 422, []string{"max_rules"}},
		{"max_rules is true", "POST " + evaluatePath, `{"max_rules":true}`, 422, []string{"max_rules"}},
		{"several at once", "POST " + evaluatePath, `{"mode":1,"intent":{},"scope":[]}`, 422, []string{"mode", "intent", "scope"}},
		{"body is a list", "POST " + evaluatePath, `[]`, 422, []string{"body"}},
		{"body is null", "POST " + evaluatePath, `null`, 422, []string{"body"}},
		{"body is text", "POST " + evaluatePath, `"diff"`, 422, []string{"body"}},
		{"statement is missing", "POST " + rulesPath, `{}`, 422, []string{"statement"}},
		{"statement is null", "POST " + rulesPath, `{"statement":null}`, 422, []string{"statement"}},
		{"tags hold a number", "POST " + rulesPath, `{"statement":"x","tags":["a",1]}`, 422, []string{"tags[1]"}},
		{"check is text", "POST " + rulesPath, `{"statement":"x","check":"true"}`, 422, []string{"check"}},
		{"pattern without regex", "POST " + rulesPath, `{"statement":"x","check":{"pattern":{}}}`, 422, []string{"check.pattern.regex"}},
		{"bad date", "POST " + rulesPath, `{"statement":"x","effective_period":{"from":"tomorrow"}}`, 422, []string{"effective_period.from"}},
		{"year before 1 in UTC", "POST " + rulesPath, `{"statement":"x","effective_period":{"from":"0001-01-01T00:00:00+23:59"}}`, 422, []string{"effective_period.from"}},
		{"year after 9999 in UTC", "PATCH " + one, `{"effective_period":{"until":"9999-12-31T23:59:59-23:59"}}`, 422, []string{"effective_period.until"}},
		{"revision with a wrong type", "PATCH " + one, `{"tags":"a","check":{"cel":1}}`, 422, []string{"tags", "check.cel"}},
		{"file_paths is text", "POST " + applicable, `{"file_paths":"a.go"}`, 422, []string{"file_paths"}},
		{"too many file_paths", "POST " + applicable, `{"file_paths":[` + strings.Repeat(`"a",`, 5000) + `"a"]}`, 422, []string{"file_paths"}},
		{"project flag is text", "POST " + projectsPath, `{"id":"p","two_person_approval":"yes"}`, 422, []string{"two_person_approval"}},

		// Enumerations.
		{"mode", "POST " + evaluatePath, `{"mode":"now"}`, 422, []string{"mode"}},
		{"severity_min", "POST " + evaluatePath, `{"severity_min":"SEVERE"}`, 422, []string{"severity_min"}},
		{"severity of a rule", "POST " + rulesPath, `{"statement":"x","severity":"SEVERE"}`, 422, []string{"severity"}},
		{"modality of a rule", "PATCH " + one, `{"modality":"WILL"}`, 422, []string{"modality"}},
		{"source kind", "POST " + rulesPath, `{"statement":"x","source_refs":[{"kind":"gossip","uri":"x"}]}`, 422, []string{"source_refs[0].kind"}},
		{"subject kind", "POST " + rulesPath, `{"statement":"x","applies_to":{"kinds":["mood"]}}`, 422, []string{"applies_to.kinds[0]"}},

		// Limits.
		{"max_rules 0", "POST " + evaluatePath, `{"max_rules":0}`, 422, []string{"max_rules"}},
		{"max_rules 101", "POST " + evaluatePath, `{"max_rules":101}`, 422, []string{"max_rules"}},
		{"max_rules -1", "POST " + evaluatePath, `{"max_rules":-1}`, 422, []string{"max_rules"}},
		{"max_rules 1e400", "POST " + evaluatePath, `{"max_rules":1e400}`, 422, []string{"max_rules"}},
		{"max_rules of 30 digits", "POST " + evaluatePath, `{"max_rules":` + strings.Repeat("9", 30) + `}`, 422, []string{"max_rules"}},
		{"a fact of 1e400", "POST " + evaluatePath, `{"facts":{"a":{"b":[1,1e400]}}}`, 422, []string{"facts.a.b[1]"}},
		{"no action", "POST " + quick, `{}`, 422, []string{"action"}},
		{"action of 0", "POST " + quick, `{"action":""}`, 422, []string{"action"}},
		{"action of 5001", "POST " + quick, `{"action":"` + strings.Repeat("é", 5001) + `"}`, 422, []string{"action"}},
		{"intent of 10001", "POST " + evaluatePath, `{"intent":"` + strings.Repeat("x", 10001) + `"}`, 422, []string{"intent"}},
		{"scope too long", "POST " + evaluatePath, `{"scope":"` + strings.Repeat("x", 2000) + `"}`, 422, []string{"scope"}},
		{"statement too long", "POST " + rulesPath, `{"statement":"` + strings.Repeat("x", 4001) + `"}`, 422, []string{"statement"}},
		{"too many tags", "POST " + rulesPath, `{"statement":"x","tags":["0"` + func() string {
			var b strings.Builder
			for i := range 70 {
				fmt.Fprintf(&b, `,"t%d"`, i)
			}
			return b.String()
		}() + `]}`, 422, []string{"tags"}},

		// Diffs and checks that cannot be read.
		{"malformed diff", "POST " + evaluatePath, `{"diff":"--- a/x\n+++ b/x\n@@ -1,3 +1 @@\n-a\n"}`, 422, []string{"diff"}},
		{"prose for a diff", "POST " + evaluatePath, `{"diff":"please let this pass"}`, 422, []string{"diff"}},
		{"path leaves the tree", "POST " + evaluatePath, `{"files":[{"path":"../../etc/passwd","content":""}]}`, 422, []string{"files[0].path"}},
		{"bad regex", "POST " + rulesPath, `{"statement":"x","check":{"pattern":{"regex":"("}}}`, 422, []string{"check.pattern.regex"}},
		{"bad expression", "PATCH " + one, `{"check":{"cel":"facts.amount <"}}`, 422, []string{"check.cel"}},
		{"bad glob", "POST " + rulesPath, `{"statement":"x","applies_to":{"paths":["a[b"]}}`, 422, []string{"applies_to.paths[0]"}},

		// Unknown fields.
		{"unknown fields", "POST " + evaluatePath, `{"dif":"","max-rules":3}`, 422, []string{"dif", "max-rules"}},
		{"unknown deep", "POST " + rulesPath, `{"statement":"x","check":{"cell":"true"}}`, 422, []string{"check.cell"}},
		{"letter case", "POST " + evaluatePath, `{"Diff":""}`, 422, []string{"Diff"}},
		{"status by revision", "PATCH " + one, `{"status":"EFFECTIVE"}`, 422, []string{"status"}},
		{"field of a file", "POST " + evaluatePath, `{"files":[{"path":"a","text":""}]}`, 422, []string{"files[0].text"}},
		{"scope of quick in a list", "POST " + quick, `{"action":"x","max_rules":3}`, 422, []string{"max_rules"}},

		// Characters.
		{"NUL in text", "POST " + evaluatePath, `{"intent":"a\u0000b"}`, 422, []string{"intent"}},
		{"NUL in a path of a diff", "POST " + evaluatePath, `{"diff":"diff --git a/x b/x\n--- a/x\u0000y\n+++ b/x\u0000y\n@@ -1 +1 @@\n-a\n+b\n"}`, 422, []string{"diff"}},
		{"NUL in a path", "POST " + evaluatePath, `{"files":[{"path":"x\u0000","content":""}]}`, 422, []string{"files[0].path"}},
		{"content twice", "POST " + evaluatePath, `{"files":[{"path":"x","content":"","content_base64":""}]}`, 422, []string{"files[0].content_base64"}},
		{"content that is no base64", "POST " + evaluatePath, `{"files":[{"path":"x","content_base64":"*"}]}`, 422, []string{"files[0].content_base64"}},
		{"NUL in a fact", "POST " + evaluatePath, `{"facts":{"a":["\u0000"]}}`, 422, []string{"facts.a[0]"}},
		{"NUL in a name", "POST " + evaluatePath, `{"facts":{"a\u0000":1}}`, 422, []string{"facts.a\uFFFD"}},
		{"NUL in a rule", "POST " + rulesPath, `{"statement":"a\u0000"}`, 422, []string{"statement"}},
		{"NUL behind a backslash", "POST " + evaluatePath, `{"facts":{"a":"\\\u0000"}}`, 422, []string{"facts.a"}},
		{"invalid UTF-8", "POST " + evaluatePath, "{\"intent\":\"\xff\"}", 400, []string{"intent"}},
		{"invalid UTF-8 in a name", "POST " + evaluatePath, "{\"facts\":{\"\xc3\":1}}", 400, []string{"facts"}},
		{"half a surrogate pair", "POST " + evaluatePath, `{"intent":"\ud800"}`, 400, []string{"intent"}},
		{"raw control character", "POST " + evaluatePath, "{\"intent\":\"a\x00b\"}", 400, []string{"intent"}},

		// JSON that is not.
		{"empty", "POST " + evaluatePath, ``, 400, nil},
		{"blank", "POST " + evaluatePath, " \n", 400, nil},
		{"cut off", "POST " + evaluatePath, `{"diff":"a`, 400, []string{"diff"}},
		{"cut off in a list", "POST " + evaluatePath, `{"files":[`, 400, []string{"files[0]"}},
		{"garbage behind", "POST " + evaluatePath, `{} {}`, 400, nil},
		{"brace behind", "POST " + evaluatePath, `{}}`, 400, nil},
		{"name twice", "POST " + evaluatePath, `{"diff":"","diff":"x"}`, 400, []string{"diff"}},
		{"name twice, escaped", "POST " + evaluatePath, `{"facts":{"a":1,"\u0061":2}}`, 400, []string{"facts.a"}},
		{"comment", "POST " + evaluatePath, `{/* */}`, 400, nil},
		{"single quotes", "POST " + evaluatePath, `{'diff':''}`, 400, nil},
		{"NaN", "POST " + evaluatePath, `{"facts":{"a":NaN}}`, 400, []string{"facts.a"}},
		{"trailing comma", "POST " + evaluatePath, `{"facts":{},}`, 400, nil},
		{"too deep", "POST " + evaluatePath, `{"facts":{"a":` + nested(63) + `}}`, 400, nil},
		{"far too deep", "POST " + evaluatePath, nested(100_000), 400, nil},
		{"only opening", "POST " + rulesPath, strings.Repeat(`{"a":`, 100_000), 400, nil},
		{"too deep for facts", "POST " + evaluatePath, `{"facts":{"a":` + nested(50) + `}}`, 422, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n.t = t
			method, target, _ := strings.Cut(test.target, " ")
			got := n.call(method, target, test.body)
			p := got.wantProblem(test.status, rule.CodeInvalid, test.fields...)
			if test.fields != nil && len(p.Errors) != len(test.fields) {
				t.Errorf("%d field errors: %s", len(p.Errors), got.body)
			}
			if len(got.body) > 4000 {
				t.Errorf("the problem has %d bytes", len(got.body))
			}
		})
	}
	n.t = t
	if got := into[rule.Rule](n.call("GET", one, nil).want(http.StatusOK)); got.Version != 1 {
		t.Errorf("a refused revision made version %d", got.Version)
	}
	if total := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil)).Total; total != 1 {
		t.Errorf("refused requests made rules: there are %d", total)
	}
	if log := n.log.String(); log != "" {
		t.Errorf("bad input was logged as a fault: %s", log)
	}
}

func TestGoodInputAtTheEdges(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, body := range []string{
		`{}`, `{"diff":null,"files":null,"facts":null,"intent":null,"scope":null,"repository":null,"mode":null,"max_rules":null,"severity_min":null}`,
		`{"max_rules":1}`, `{"max_rules":100}`, `{"mode":"POSTHOC","severity_min":"low"}`, `{"facts":{}}`, `{"files":[]}`, `{"diff":""}`,
		`{"files":[{"path":"a.go"},{"path":"b.go","content":null},{"path":"c.go","content":""}]}`,
		`{"diff":"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+/*\u0000*/b\n"}`,
		`{"files":[{"path":"a.js","content":"/*\u0000*/"},{"path":"b.js","content_base64":"/w=="},{"path":"c.js","content_base64":null}]}`,
		`{"facts":{"a":"\\u0000"}}`, `{"facts":{"a":[null,true,1.5e-3,"x",{}]}}`, `{"facts":{"a":` + nested(20) + `}}`,
		` {"intent" : "é😀\u00e9\ud83d\ude00" } `,
	} {
		n.call("POST", evaluatePath, body).want(http.StatusOK)
	}
	n.call("POST", evaluatePath+"/quick", fields{"action": strings.Repeat("é", 5000)}).want(http.StatusOK)
	n.call("POST", evaluatePath+"/quick", `{"action":"x","scope":null}`).want(http.StatusOK)
	n.call("POST", evaluatePath+"/applicable-rules", `{"file_paths":null,"repository":null,"scope":null}`).want(http.StatusOK)
	n.call("POST", rulesPath, `{"statement":"x","slug":null,"check":null,"tags":null,"effective_period":{"from":null}}`).want(http.StatusCreated)
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, ok := range []string{"", "application/json", "Application/JSON; charset=utf-8", `application/json ; charset="UTF-8"`} {
		n.call("POST", evaluatePath, "{}", "Content-Type", ok).want(http.StatusOK)
	}
	for _, bad := range []string{"text/plain", "application/x-www-form-urlencoded", "application/yaml", "application/json; charset=latin1", ";", "application/xml"} {
		n.call("POST", evaluatePath, "{}", "Content-Type", bad).wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid, "Content-Type")
	}
	n.call("POST", evaluatePath, "{}", "Content-Encoding", "gzip").wantProblem(http.StatusUnsupportedMediaType, rule.CodeInvalid, "Content-Encoding")
}

func TestBodyWhereNoneBelongs(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, body := range []string{`{"a":1}`, "[]", "null", "{", "{}{}", "{}" + strings.Repeat(" ", 100), strings.Repeat("x", 100)} {
		n.call("GET", rulesPath, body).wantProblem(http.StatusBadRequest, rule.CodeInvalid)
		n.call("DELETE", rulesPath+"/x", io.MultiReader(strings.NewReader(body))).wantProblem(http.StatusBadRequest, rule.CodeInvalid)
	}
	for _, body := range []string{"{}", " { }\n", " "} { // they say nothing
		n.call("GET", rulesPath, body).want(http.StatusOK)
		n.call("DELETE", rulesPath+"/x", io.MultiReader(strings.NewReader(body))).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	}
	n.call("GET", rulesPath, io.MultiReader(strings.NewReader(""))).want(http.StatusOK)
}

// Bodies beyond the limit are refused however they are sent, and the connection stays good for the next request.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.Limits.MaxImportBody = 30 << 20 })
	srv := httptest.NewServer(n)
	defer srv.Close()
	twenty := bytes.Repeat([]byte(" "), 20<<20)
	for name, body := range map[string]io.Reader{"with length": bytes.NewReader(twenty), "chunked": io.MultiReader(bytes.NewReader(twenty))} {
		for _, path := range []string{evaluatePath, rulesPath} {
			res, err := srv.Client().Post(srv.URL+path, jsonType, body)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := &reply{t: t, what: name, status: res.StatusCode, header: res.Header}
			got.body, _ = io.ReadAll(res.Body)
			_ = res.Body.Close()
			got.wantProblem(http.StatusRequestEntityTooLarge, rule.CodeTooLarge)
			body = io.MultiReader(bytes.NewReader(twenty))
			n.call("GET", "/health", nil).want(http.StatusOK)
		}
	}
	res, err := srv.Client().Post(srv.URL+rulesPath+"/import", jsonType, bytes.NewReader(twenty))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("an import of 20 MiB of blanks gives %d, want 400: its limit is higher", res.StatusCode)
	}
	exact := `{"intent":"` + strings.Repeat("x", 100) + `"}`
	small := newNode(t, func(c *config) { c.Limits.MaxBody = int64(len(exact)) })
	small.call("POST", evaluatePath, exact).want(http.StatusOK)
	small.call("POST", evaluatePath, exact+" ").wantProblem(http.StatusRequestEntityTooLarge, rule.CodeTooLarge)
}

// rawAnswer is an answer as it came over a connection.
type rawAnswer struct {
	status  int
	body    string
	closing bool // the server closes the connection
	conn    net.Conn
}

// exchangeRaw sends bytes over a connection of its own and reads one answer.
func exchangeRaw(t *testing.T, addr, request string) rawAnswer {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return sendRaw(t, conn, request)
}

func sendRaw(t *testing.T, conn net.Conn, request string) rawAnswer {
	t.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return rawAnswer{res.StatusCode, string(body), res.Close, conn}
}

func TestConnectionSurvivesTooLargeBody(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.Limits.MaxBody = 1000 })
	srv := httptest.NewServer(n)
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 5000, strings.Repeat("x", 5000))
	first := exchangeRaw(t, addr, "POST "+evaluatePath+" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+"0\r\n\r\n")
	if first.status != http.StatusRequestEntityTooLarge || !strings.Contains(first.body, `"too_large"`) || first.closing {
		t.Fatalf("%+v", first)
	}
	if next := sendRaw(t, first.conn, "POST "+evaluatePath+" HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"); next.status != http.StatusOK {
		t.Errorf("the next request on the connection gives %+v", next)
	}
	// A client that asks first is told before it sends anything.
	asked := exchangeRaw(t, addr, "POST "+evaluatePath+" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
	if asked.status != http.StatusRequestEntityTooLarge || !asked.closing {
		t.Errorf("Expect: 100-continue gives %+v", asked)
	}
}

func TestSlowSender(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.Limits.BodyTimeout = 50 * time.Millisecond })
	srv := httptest.NewServer(n)
	defer srv.Close()
	got := exchangeRaw(t, srv.Listener.Addr().String(), "POST "+evaluatePath+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"dif")
	if got.status != http.StatusRequestTimeout || !strings.Contains(got.body, `"invalid"`) {
		t.Errorf("%+v", got)
	}
}

// The time limit on sending a request does not end one that takes long to answer.
func TestLongAnswerOutlivesReadTimeout(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.evaluateWith(&stubEvaluator{answer: stubAnswer(), takes: 400 * time.Millisecond})
	srv := httptest.NewUnstartedServer(n)
	srv.Config.ReadTimeout = 100 * time.Millisecond
	srv.Start()
	defer srv.Close()
	for method, target := range map[string]string{http.MethodPost: evaluatePath, http.MethodGet: evaluationsPath} {
		body := ""
		if method == http.MethodPost {
			body = "Content-Length: 2\r\n\r\n{}"
		} else {
			body = "\r\n"
		}
		if got := exchangeRaw(t, srv.Listener.Addr().String(), method+" "+target+" HTTP/1.1\r\nHost: x\r\n"+body); got.status != http.StatusOK {
			t.Errorf("%s %s: %+v", method, target, got)
		}
	}
}

func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seedEvaluation(n)
	var group errgroup.Group
	for worker := range 8 {
		group.Go(func() error {
			for i := range 8 {
				slug := fmt.Sprintf("W%d-%d", worker, i)
				n.call("POST", rulesPath, fields{"slug": slug, "statement": "Rule " + slug + "."}).want(http.StatusCreated)
				n.call("PATCH", rulesPath+"/"+slug, fields{"owner": "me"}, "If-Match", `"1"`).want(http.StatusOK)
				n.call("POST", evaluatePath, fields{"diff": badDiff}).want(http.StatusOK)
				n.call("GET", "/metrics", nil).want(http.StatusOK)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if total := into[wire.Page[rule.Rule]](n.call("GET", rulesPath, nil).want(http.StatusOK)).Total; total != 8*8+4 {
		t.Errorf("%d rules", total)
	}
	if report := into[wire.AuditReport](n.call("GET", "/api/v1/audit/verify", nil).want(http.StatusOK)); !report.OK() {
		t.Errorf("audit %+v", report)
	}
}
