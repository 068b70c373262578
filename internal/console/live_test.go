package console_test

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

var streamAddress = regexp.MustCompile(`hx-sse:connect="([^"]+)"`)

// stream is a live stream that a visitor has opened.
type stream struct {
	t     *testing.T
	lines chan string // closed at its end
	end   func()
}

// follow opens the stream of a page.
func (v *visitor) follow(t *testing.T, page string) *stream {
	t.Helper()
	found := streamAddress.FindStringSubmatch(v.get(page).body)
	if found == nil {
		t.Fatalf("%s has no stream", page)
	}
	return v.stream(t, html.UnescapeString(found[1]))
}

func (v *visitor) stream(t *testing.T, address string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := v.client.Do(r) //nolint:bodyclose // the end of the stream closes it
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("the stream is %d, %q", res.StatusCode, got)
	}
	s := &stream{t, make(chan string, 100), func() { _ = res.Body.Close() }}
	t.Cleanup(s.end)
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if text := lines.Text(); text != "" && !strings.HasPrefix(text, ":") {
				s.lines <- text
			}
		}
	}()
	return s
}

// says waits for a line that has a text. It returns false at the end of the stream.
func (s *stream) says(want string) bool {
	s.t.Helper()
	var got []string
	for limit := time.After(30 * time.Second); ; {
		select {
		case text, open := <-s.lines:
			if open && strings.Contains(text, want) {
				return true
			}
			if got = append(got, text); !open {
				s.t.Errorf("the stream has ended without %q: %q", want, got)
				return false
			}
		case <-limit:
			s.t.Fatalf("the stream does not say %q but %q", want, got)
		}
	}
}

func (s *stream) ends() {
	s.t.Helper()
	for limit := time.After(30 * time.Second); ; {
		select {
		case _, open := <-s.lines:
			if !open {
				return
			}
		case <-limit:
			s.t.Fatal("the stream does not end")
		}
	}
}

// TestNewsOfTheQueue streams what has changed since the page was made, within its filters, to people who may see it.
func TestNewsOfTheQueue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	if _, err := client.Call(t.Context(), n.api, op.CreateProject, wire.CreateProject{ID: "hr"}); err != nil {
		t.Fatal(err)
	}
	reviewer, other := n.signedIn(n.key("re", "reviewer", "*")), n.signedIn(n.key("hr", "reviewer", "hr"))
	admin, err := client.New(n.url, n.key("boss", "admin", "*"), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, snapshots, words := reviewer.follow(t, "/queue?order=age"), reviewer.follow(t, "/queue?kind=snapshot"), reviewer.follow(t, "/queue?q=boat")
	elsewhere := other.follow(t, "/queue?project=default")
	review := func(statement string) string {
		t.Helper()
		r, err := client.Call(t.Context(), admin, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Statement: statement, Status: rule.Review}})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	id := review("Cars must be washed.")
	all.says(`1 new thing waits. <a href="/queue?order=age">Show it</a>`)
	review("Cars must be <b>painted</b>.")
	all.says(`2 new things wait. <a href="/queue?order=age">Show them</a>`)
	review("Boats must be painted.")
	words.says("1 new thing waits.")
	again := reviewer.follow(t, "/queue")
	a := reviewer.post("/queue", "do", "approve", "item", "rule/default/"+id, "next", "/queue")
	if a.status != http.StatusSeeOther {
		t.Fatalf("approve: %d", a.status)
	}
	again.says("1 thing waits no more.")
	if _, err := client.Call(t.Context(), admin, op.DecideQueue, wire.DecideQueue{Action: wire.QueueReopen, Items: []wire.QueueRef{{Kind: wire.QueueRule, ID: id}}}); err != nil {
		t.Fatal(err)
	}
	again.says("<!-- nothing new -->")
	for about, s := range map[string]*stream{"snapshots": snapshots, "another project": elsewhere} {
		select {
		case text := <-s.lines:
			if !strings.Contains(text, "nothing new") {
				t.Errorf("%s: %q", about, text)
			}
		default:
		}
	}

	// A stream ends with the session, and with the key behind it.
	if a := other.post("/signout"); a.status != http.StatusSeeOther {
		t.Fatalf("sign out: %d", a.status)
	}
	elsewhere.says("event: close")
	elsewhere.ends()
	if err := client.Run(t.Context(), admin.InProject("*"), op.RevokeKey.At(n.keys["re"])); err != nil {
		t.Fatal(err)
	}
	all.says("event: close")
	all.ends()
	s := reviewer.stream(t, "/queue/live") // nobody is signed in any more
	s.says("event: close")
	s.ends()
}

// TestBoundedStreams refuses the streams of a person beyond a number, until some have ended.
func TestBoundedStreams(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	v := n.signedIn(n.key("re", "reviewer", "*"))
	const most = 8
	var open []*stream
	for range most {
		open = append(open, v.stream(t, "/queue/live"))
	}
	s := v.stream(t, "/queue/live")
	s.says("event: close")
	s.ends()
	n.signedIn(n.key("other", "viewer", "default")).stream(t, "/queue/live?seen=rule.0").says("1 new thing waits.")
	open[0].end()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		select {
		case text := <-v.stream(t, "/queue/live?seen=rule.0").lines:
			if strings.Contains(text, "data: <p") {
				return
			}
		case <-time.After(5 * time.Second):
		}
		if time.Now().After(limit) {
			t.Fatal("the place of a stream that has ended stays taken")
		}
	}
}

// TestNewsInABrowser shows the news on the page, and moves no row before the reader asks for them.
func TestNewsInABrowser(t *testing.T) {
	n := newNode(t, nil)
	n.inReview(2)
	tab := browsertest.Open(t, n.url)
	tab.Open("/queue?order=newest")
	rows := tab.Count("[data-item]")
	tab.Press("j")
	held := browsertest.Eval[string](tab, "document.activeElement.closest('[data-item]').textContent")
	for i := range 3 {
		_, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Statement: fmt.Sprintf("News %d must be told.", i), Status: rule.Review}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			tab.Wait("document.querySelector('[role=status] .notice')?.textContent.includes('1 new thing waits.')")
		}
	}
	tab.Wait("document.querySelector('[role=status] .notice')?.textContent.includes('3 new things wait.')")
	if got := tab.Count("[data-item]"); got != rows {
		t.Errorf("%d rows, want %d as before", got, rows)
	}
	if got := browsertest.Eval[string](tab, "document.activeElement.closest('[data-item]').textContent"); got != held {
		t.Errorf("the focus has moved to %q", got)
	}
	for _, p := range append(tab.Axe(), tab.Colours()...) {
		t.Error(p)
	}
	tab.Follow("[role=status] .notice a")
	if got := tab.Count("[data-item]"); got != rows+3 {
		t.Errorf("%d rows, want %d", got, rows+3)
	}
	if got := tab.Count("[role=status] .notice"); got != 0 {
		t.Errorf("%d notices after the news were shown", got)
	}
	for _, p := range tab.Problems() {
		t.Error(p)
	}
}

// TestNewsOfAlerts streams that alerts have come or were decided, within the filters of the page, to people who may see them.
func TestNewsOfAlerts(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	if _, err := client.Call(t.Context(), n.api, op.CreateProject, wire.CreateProject{ID: "hr"}); err != nil {
		t.Fatal(err)
	}
	reviewer, other := n.signedIn(n.key("re", "reviewer", "default")), n.signedIn(n.key("hr", "reviewer", "hr"))
	all := reviewer.follow(t, "/p/default/alerts?status=active")
	if got := other.get("/p/default/alerts/live"); got.status == http.StatusOK {
		t.Error("a person of another project follows its alerts")
	}
	for _, statement := range []string{"Passwords must be rotated every 30 days.", "Passwords must be rotated every 90 days."} {
		if _, err := client.Call(t.Context(), n.api, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Statement: statement, Status: rule.Effective}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Call(t.Context(), n.api, op.ScanConflicts, wire.ScanConflicts{}); err != nil {
		t.Fatal(err)
	}
	all.says(`1 new alert. <a href="/p/default/alerts?status=active">Show it</a>`)
	list, err := client.Get(t.Context(), n.api, op.ListAlerts)
	if err != nil || len(list.Alerts) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	again := reviewer.follow(t, "/p/default/alerts")
	if a := reviewer.post("/p/default/alerts", "do", "resolve", "alert", list.Alerts[0].ID, "next", "/p/default/alerts"); a.status != http.StatusSeeOther {
		t.Fatalf("resolve: %d, %s", a.status, a.body)
	}
	again.says("Alerts have changed.")
}
