package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// shipping has an edge report to the server over HTTP.
func (o *origin) shipping(spool int64) func(*app.Edge) {
	return func(e *app.Edge) {
		c, err := client.New(o.http.URL, "", nil)
		if err != nil {
			o.t.Fatal(err)
		}
		e.Server, e.Every, e.Spool = c, 100*time.Millisecond, spool
	}
}

// reported returns the edge as the server knows it.
func (o *origin) reported() (e wire.FleetEdge, ok bool) {
	ok = ask(o.t, o.App, "GET", "/api/v1/fleet/e1", "", &e) == http.StatusOK
	return e, ok
}

func TestABatchOfRecordsIsSentBeforeTheNextReport(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	e := o.edge(t.TempDir(), func(e *app.Edge) {
		o.shipping(0)(e)
		e.Every = time.Hour
	})
	until(t, "the first report", func() bool { _, ok := o.reported(); return ok })
	time.Sleep(500 * time.Millisecond) // behind it the edge sends until nothing waits
	for i := range 255 {
		evaluated(t, e, fmt.Sprintf(`{"action":"ls /tmp/%d"}`, i))
	}
	until(t, "a batch at the server", func() bool { r, ok := o.reported(); return ok && r.Orders.Received.Seq >= 250 })
	if r, _ := o.reported(); r.Orders.Received.Seq > 255 || r.Report.Head != 0 {
		t.Errorf("the server has %d records; the report is of %d, not of the start", r.Orders.Received.Seq, r.Report.Head)
	}
}

func TestRecordsOfAnEdgeReachTheServerOnce(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	data := t.TempDir()
	e := o.edge(data, o.shipping(0))
	first := evaluated(t, e, edgeDiff+"}")
	until(t, "the record at the server", func() bool {
		return ask(t, o.App, "GET", "/api/v1/evaluations/"+first.EvaluationID, "", nil) == http.StatusOK
	})
	var again wire.Replay
	if code := ask(t, o.App, "POST", "/api/v1/evaluations/"+first.EvaluationID+"/replay", "{}", &again); code != http.StatusOK || !again.Agrees || again.OverallVerdict != first.OverallVerdict {
		t.Errorf("replayed at the server: %d, %+v", code, again)
	}
	// The server goes away: the edge goes on, and nothing is lost.
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusBadGateway) })
	o.answer.Store(&away)
	ids := map[string]bool{}
	for i := range 20 {
		ids[evaluated(t, e, fmt.Sprintf(`{"action":"rm -rf /tmp/%d"}`, i)).EvaluationID] = true
	}
	if err := e.Stop(t.Context()); err != nil { // restarted while the server is away
		t.Fatal(err)
	}
	e = o.edge(data, o.shipping(0))
	ids[evaluated(t, e, `{"action":"ls"}`).EvaluationID] = true
	// It comes back, but loses every second of its answers: the edge sends again what it does not know to be stored.
	var calls atomic.Int64
	lossy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%2 == 0 && strings.HasSuffix(r.URL.Path, "/records") {
			o.Handler().ServeHTTP(discard{}, r)
			panic(http.ErrAbortHandler)
		}
		o.Handler().ServeHTTP(w, r)
	})
	o.answer.Store(&lossy)
	until(t, "all records at the server", func() bool { r, ok := o.reported(); return ok && r.Report.Spool == 0 && r.Orders.Received.Seq >= 22 })
	for id := range ids {
		if code := ask(t, o.App, "GET", "/api/v1/evaluations/"+id, "", nil); code != http.StatusOK {
			t.Errorf("the record %s is lost: %d", id, code)
		}
	}
	var head wire.AuditHead
	ask(t, e, "GET", "/api/v1/audit/head", "", &head)
	r, _ := o.reported()
	if r.Orders.Received != head || r.Unknown != 0 || !r.Current || len(r.Problems) > 0 || r.Report.Environment != "production" {
		t.Errorf("the server knows %+v; the chain of the edge ends at %+v", r, head)
	}
	var fleet wire.Fleet
	if ask(t, o.App, "GET", "/api/v1/fleet", "", &fleet); fleet.Total != 1 || len(fleet.Rollout) != 1 || fleet.Rollout[0].Current != 1 || fleet.Rollout[0].Edges != 1 {
		t.Errorf("the fleet is %+v", fleet)
	}
}

// A day passes without the server: the edge answers all day, by its fail mode once its bundle is older than it may be, and through a restart. Then all records
// arrive, in order, with the times at which they were made.
func TestADayWithoutAServer(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	o := newOriginAt(t, func() time.Time { return time.Now().Add(time.Duration(passed.Load())) })
	data := t.TempDir()
	configure := func(e *app.Edge) {
		o.shipping(0)(e)
		e.MaxAge = time.Hour
	}
	e := o.edge(data, configure)
	first := evaluated(t, e, edgeDiff+"}")
	until(t, "the first record at the server", func() bool { r, ok := o.reported(); return ok && r.Orders.Received.Seq > 0 && r.Report.Spool == 0 })
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusBadGateway) })
	o.answer.Store(&away)
	o.http.CloseClientConnections() // streams, too
	const step, steps, each = 15 * time.Minute, 24 * 4, 6
	ids := []string{first.EvaluationID}
	times := []time.Time{first.Timestamp}
	for i := range steps {
		passed.Add(int64(step))
		if i == steps/2 {
			if err := e.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			e = o.edge(data, configure)
		}
		for j := range each {
			got := evaluated(t, e, fmt.Sprintf(`{"action":"echo %d-%d"}`, i, j))
			ids, times = append(ids, got.EvaluationID), append(times, got.Timestamp)
			if stale := time.Duration(i+1)*step >= time.Hour; stale != (got.BundleStale != "") || stale && got.OverallVerdict != rule.Deny {
				t.Fatalf("after %s: %s, stale: %q", time.Duration(i+1)*step, got.OverallVerdict, got.BundleStale)
			}
		}
	}
	o.answer.Store(nil)
	var head wire.AuditHead
	until(t, "all records at the server", func() bool {
		ask(t, e, "GET", "/api/v1/audit/head", "", &head)
		r, ok := o.reported()
		return ok && r.Report.Spool == 0 && r.Orders.Received == head && head.Seq >= int64(len(ids))
	})
	for i, id := range ids {
		var got wire.EvaluationRecord
		if code := ask(t, o.App, "GET", "/api/v1/evaluations/"+id, "", &got); code != http.StatusOK || !got.Evaluation.Timestamp.Equal(times[i]) {
			t.Fatalf("record %d of %d: %d, of %s; made at %s", i, len(ids), code, got.Evaluation.Timestamp, times[i])
		}
	}
	if day := times[len(times)-1].Sub(times[0]); day < 24*time.Hour {
		t.Errorf("the records span %s", day)
	}
	until(t, "a bundle that the server vouches for", func() bool { return evaluated(t, e, `{"action":"ls"}`).BundleStale == "" })
	for where, a := range map[string]*app.App{"edge": e, "server": o.App} {
		var v wire.AuditReport
		if code := ask(t, a, "GET", "/api/v1/audit/verify", "", &v); code != http.StatusOK || len(v.Problems) > 0 {
			t.Errorf("the chain of the %s: %d, %+v", where, code, v)
		}
	}
}

// discard is an answer that nobody gets.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func TestAnEdgeDoesWhatTheServerSays(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	e := o.edge(t.TempDir(), o.shipping(0))
	until(t, "a report", func() bool { _, ok := o.reported(); return ok })
	order := func(body string) {
		t.Helper()
		if code := ask(t, o.App, "PATCH", "/api/v1/fleet/e1", body, nil); code != http.StatusOK {
			t.Fatalf("status %d", code)
		}
	}
	order(`{"paused":true}`)
	until(t, "the pause", func() bool {
		return ask(t, e, "POST", "/api/v1/evaluate", `{"action":"ls"}`, nil) == http.StatusServiceUnavailable
	})
	order(`{"paused":false,"pinned":true}`)
	until(t, "the end of the pause", func() bool { return ask(t, e, "POST", "/api/v1/evaluate", `{"action":"ls"}`, nil) == http.StatusOK })
	until(t, "the pin", func() bool { r, _ := o.reported(); return r.Report.Pinned })
	before := evaluated(t, e, edgeDiff+"}").Bundle
	ask(t, o.App, "POST", "/api/v1/rules", `{"statement":"Never deploy on Fridays.","severity":"HIGH","status":"EFFECTIVE"}`, nil)
	o.deploy("production")
	time.Sleep(1500 * time.Millisecond)
	if got := evaluated(t, e, edgeDiff+"}").Bundle; got != before {
		t.Error("a pinned edge took a bundle")
	}
	order(`{"pinned":false}`)
	until(t, "the new bundle", func() bool { return evaluated(t, e, edgeDiff+"}").Bundle != before })
	if code := ask(t, o.App, "PATCH", "/api/v1/fleet/none", `{}`, nil); code != http.StatusNotFound {
		t.Errorf("an edge that nobody knows: %d", code)
	}
}

// The answer to a report vouches for the bundle, so that an edge does not also ask for the bundle each time.
func TestAReportVouchesForTheBundle(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	o := newOriginAt(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	var looks, reports atomic.Int64
	o.answer.Store(new(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/bundles/") && r.Header.Get("Accept") != "text/event-stream" {
			looks.Add(1)
		}
		if strings.HasSuffix(r.URL.Path, "/reports") {
			reports.Add(1)
		}
		o.Handler().ServeHTTP(w, r)
	})))
	e := o.edge(t.TempDir(), o.shipping(0))
	until(t, "a report", func() bool { _, ok := o.reported(); return ok })
	ahead.Store(int64(time.Minute))
	until(t, "a bundle that somebody has vouched for", func() bool { return *evaluated(t, e, `{"action":"ls"}`).BundleAge < 30 })
	// It asks for the bundle only when a report is late, as on a busy machine; without reports it would each time.
	until(t, "five reports without a question for the bundle", func() bool {
		looks.Store(0)
		before := reports.Load()
		for range 100 {
			if reports.Load() >= before+5 || looks.Load() > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return looks.Load() == 0 && reports.Load() >= before+5
	})
	ask(t, o.App, "POST", "/api/v1/rules", `{"slug":"LS-1","statement":"Do not list.","severity":"CRITICAL","status":"EFFECTIVE","check":{"pattern":{"regex":"^ls$"}}}`, nil)
	o.deploy("production")
	until(t, "the new bundle", func() bool { return evaluated(t, e, `{"action":"ls"}`).OverallVerdict == rule.Deny })
}

// A forgotten edge answers no more: nobody would take its records.
func TestAForgottenEdgeEndsItsAnswers(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	e := o.edge(t.TempDir(), o.shipping(0))
	first := evaluated(t, e, edgeDiff+"}")
	until(t, "the record at the server", func() bool {
		r, ok := o.reported()
		return ok && r.Report.Spool == 0 && r.Orders.Received.Seq > 0
	})
	if code := ask(t, o.App, "DELETE", "/api/v1/fleet/e1", "", nil); code != http.StatusNoContent {
		t.Fatalf("forgetting: %d", code)
	}
	until(t, "the end of its answers", func() bool {
		return ask(t, e, "POST", "/api/v1/evaluate", `{"action":"ls"}`, nil) == http.StatusServiceUnavailable
	})
	if _, ok := o.reported(); ok {
		t.Error("the forgotten edge is in the fleet")
	}
	if code := ask(t, o.App, "GET", "/api/v1/evaluations/"+first.EvaluationID, "", nil); code != http.StatusOK {
		t.Errorf("its record is gone: %d", code)
	}
}

// Without room for records an edge answers by its fail mode, and then not at all: it drops none.
func TestAnEdgeWithoutRoomForRecordsFailsAsWritten(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusBadGateway) })
	data := t.TempDir()
	e := o.edge(data, o.shipping(20_000))
	o.answer.Store(&away)
	var failed, unavailable bool
	answered := 0
	for range 400 {
		var got rule.Evaluation
		switch code := ask(t, e, "POST", "/api/v1/evaluate", edgeDiff+"}", &got); {
		case code == http.StatusServiceUnavailable:
			unavailable = true
		case got.BundleStale != "":
			if failed = true; got.OverallVerdict != rule.Deny || !strings.Contains(fmt.Sprint(got.Notices), "used up their budget") {
				t.Fatalf("%s, %v", got.OverallVerdict, got.Notices)
			}
			answered++
		default:
			answered++
		}
		if unavailable {
			break
		}
	}
	if !failed || !unavailable {
		t.Errorf("after %d answers: by the fail mode %t, refused %t", answered, failed, unavailable)
	}
	o.answer.Store(nil)
	until(t, "the error in a report", func() bool { r, ok := o.reported(); return ok && r.Report.Errors > 0 })
	if r, _ := o.reported(); r.Report.Errors >= r.Report.Requests || r.Report.Requests < int64(answered) {
		t.Errorf("after %d answers and a refusal the edge reports %d requests and %d errors", answered, r.Report.Requests, r.Report.Errors)
	}
	var gauges strings.Builder
	w := httptest.NewRecorder()
	o.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/metrics", http.NoBody))
	for l := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(l, "tenet_edge_") {
			gauges.WriteString(l)
		}
	}
	if text := gauges.String(); !strings.Contains(text, `tenet_edge_errors{project="default"} `) || strings.Contains(text, `tenet_edge_errors{project="default"} 0`) || !strings.Contains(text, "tenet_edge_requests{") {
		t.Errorf("the metrics of the server have %q", text)
	}
	until(t, "room again", func() bool { return ask(t, e, "POST", "/api/v1/evaluate", `{"action":"ls"}`, nil) == http.StatusOK })
	until(t, "all records at the server", func() bool {
		r, ok := o.reported()
		return ok && r.Report.Spool == 0 && r.Orders.Received.Seq >= int64(answered)
	})
}

// An edge may be in the hands of somebody else: the server takes only what its key has signed, whole and in order.
func TestForgedRecordsAreRefused(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	e := o.edge(t.TempDir(), o.shipping(0))
	evaluated(t, e, edgeDiff+"}")
	until(t, "a report", func() bool { r, ok := o.reported(); return ok && r.Orders.Received.Seq > 0 })
	for about, body := range map[string]string{
		"none":         `{"entries":[],"note":"x"}`,
		"a wrong hash": `{"entries":[{"seq":2,"id":"x","kind":"evaluation","at":"2026-01-01T00:00:00Z","actor":"a","body":"AAAA","prev_hash":"b","hash":"c"}],"note":"x"}`,
		"no base64":    `{"entries":[{"seq":2,"id":"x","kind":"evaluation","at":"2026-01-01T00:00:00Z","actor":"a","body":"%%","prev_hash":"b","hash":"c"}],"note":"x"}`,
		"number zero":  `{"entries":[{"seq":0,"id":"x","kind":"evaluation","at":"2026-01-01T00:00:00Z","actor":"a","body":"AAAA","prev_hash":"","hash":"c"}],"note":"x"}`,
	} {
		if code := ask(t, o.App, "POST", "/api/v1/fleet/e1/records", body, nil); code != http.StatusUnprocessableEntity && code != http.StatusBadRequest {
			t.Errorf("%s: status %d", about, code)
		}
	}
	r, _ := o.reported()
	other := strings.Replace(r.Report.Key, "+", "+0", 1)
	body := fmt.Sprintf(`{"key":%q,"version":"x","environment":"production","bundle":"","bundle_seq":1,"bundle_age_s":0,"spool":0,"spool_bytes":0,"spool_age_s":0,"head":0,"evaluations":0,"started_at":"2026-01-01T00:00:00Z"}`, other)
	if code := ask(t, o.App, "POST", "/api/v1/fleet/e1/reports", body, nil); code != http.StatusConflict {
		t.Errorf("another key: status %d", code)
	}
	if code := ask(t, o.App, "POST", "/api/v1/fleet/e2/reports", body, nil); code == http.StatusOK {
		t.Error("an edge reports under the name of another")
	}
}

// Bodies that the server has leave the disk of the edge; both chains verify, and the server replays what the edge has no more.
func TestBodiesThatTheServerHasAreRemovedAtTheEdge(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	data := t.TempDir()
	const keep = 30_000
	configure := func(e *app.Edge) {
		o.shipping(0)(e)
		e.Keep = keep
	}
	e := o.edge(data, configure)
	first := evaluated(t, e, edgeDiff+"}")
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusBadGateway) })
	o.answer.Store(&away)
	for i := range 60 {
		evaluated(t, e, fmt.Sprintf(`{"action":"rm -rf /tmp/%d"}`, i))
	}
	time.Sleep(1500 * time.Millisecond)
	if code := ask(t, e, "GET", "/api/v1/evaluations/"+first.EvaluationID, "", nil); code != http.StatusOK {
		t.Fatalf("while the server is away: %d", code)
	}
	o.answer.Store(nil)
	until(t, "the removal", func() bool {
		var got struct{ Pruned bool }
		return ask(t, e, "POST", "/api/v1/evaluations/"+first.EvaluationID+"/replay", "{}", &got) == http.StatusNotFound
	})
	last := evaluated(t, e, edgeDiff+"}")
	verified := func(a *app.App, pruned bool) {
		t.Helper()
		var v wire.AuditReport
		if code := ask(t, a, "GET", "/api/v1/audit/verify", "", &v); code != http.StatusOK || len(v.Problems) > 0 || (v.Pruned > 0) != pruned || v.Pruned >= 60 {
			t.Errorf("verify: %d, %+v", code, v)
		}
	}
	verified(e, true)
	verified(o.App, false)
	until(t, "the last record", func() bool {
		return ask(t, o.App, "GET", "/api/v1/evaluations/"+last.EvaluationID, "", nil) == http.StatusOK
	})
	for _, id := range []string{first.EvaluationID, last.EvaluationID} {
		var again wire.Replay
		if code := ask(t, o.App, "POST", "/api/v1/evaluations/"+id+"/replay", "{}", &again); code != http.StatusOK || !again.Agrees {
			t.Errorf("replayed at the server: %d, %+v", code, again)
		}
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	e = o.edge(data, configure)
	verified(e, true)
	if code := ask(t, e, "GET", "/api/v1/evaluations/"+last.EvaluationID, "", nil); code != http.StatusOK {
		t.Errorf("the newest record is gone from the edge: %d", code)
	}
}
