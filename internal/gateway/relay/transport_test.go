package relay_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/gateway/relay"
)

// closing is a server that answers one request of a connection and resets the connection at the next one, as servers do that have just closed it
// as idle.
type closing struct {
	mu  sync.Mutex
	got map[string]int // requests by method
}

func (c *closing) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for first := true; ; first = false {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		c.mu.Lock()
		c.got[m.Method]++
		c.mu.Unlock()
		if tcp, ok := conn.(*net.TCPConn); ok && !first {
			_ = tcp.SetLinger(0)
			return
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}

// A server closes an idle connection while a request is on its way: what only reads is sent again, a call of a tool is not, since the server may have
// carried it out. So a connection that was idle for long carries no call.
func TestConnectionsThatTheServerCloses(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	server := &closing{got: map[string]int{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go server.serve(conn)
		}
	}()
	b := newBench(t)
	b.cfg.Pins = nil
	h := relay.New(b.cfg).Forward(relay.Remote{URL: &url.URL{Scheme: "http", Host: listener.Addr().String()}, Client: relay.NewClient()})
	n := 0
	send := func(method, params string) string {
		t.Helper()
		n++
		w := httptest.NewRecorder()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, n, method, params)
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body)))
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	const call = `{"name":"echo","arguments":{}}`
	for _, step := range []struct {
		about, method, params string
		pause                 time.Duration
		status                string
		sent                  int // requests of the method that the server has read by then
	}{
		{"on a new connection", "ping", "{}", 0, "200", 1},
		{"on the connection that ends", "tools/list", "{}", 0, "200", 2},
		{"on the next connection that ends", "tools/call", call, 0, "502", 1},
		{"on a new connection", "ping", "{}", 0, "200", 2},
		{"after a pause", "tools/call", call, 1200 * time.Millisecond, "200", 2},
	} {
		time.Sleep(step.pause)
		if got := send(step.method, step.params); !strings.HasPrefix(got, step.status) {
			t.Errorf("%s %s: %s, want %s", step.method, step.about, got, step.status)
		}
		server.mu.Lock()
		if got := server.got[step.method]; got != step.sent {
			t.Errorf("%s %s: the server has read %d of them, want %d", step.method, step.about, got, step.sent)
		}
		server.mu.Unlock()
	}
}

// Answers are streams, which end after the answer; their connections are used again.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var opened atomic.Int64
	ended := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", m.ID)
		_ = http.NewResponseController(w).Flush()
		<-ended
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	b := newBench(t)
	over := make(chan error, 1)
	go func() {
		over <- relay.New(b.cfg).Remote(t.Context(), in, out, relay.Remote{URL: u, Client: relay.NewClient()})
	}()
	lines := bufio.NewReader(fromGateway)
	const calls = 10
	for i := range calls {
		_, _ = fmt.Fprintf(toGateway, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo"}}`+"\n", i)
		if got, err := lines.ReadString('\n'); err != nil || !strings.Contains(got, `"result":{}`) {
			t.Fatal(got, err)
		}
		ended <- struct{}{}
		time.Sleep(20 * time.Millisecond) // the end is on its way
	}
	if n := opened.Load(); n > calls/2 {
		t.Errorf("%d calls one after the other took %d connections", calls, n)
	}
	_ = toGateway.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
