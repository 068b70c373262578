package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/client"
	"tenet/internal/gateway/pin"
	"tenet/internal/gateway/relay"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// judge answers evaluations: what names something forbidden is denied.
type judge struct {
	asked   atomic.Int64
	err     atomic.Pointer[error]
	acting  atomic.Pointer[wire.Acting] // of the last evaluation
	demands atomic.Pointer[rule.FailModes]
}

func (j *judge) ask(ctx context.Context, s client.Submit) (*rule.Evaluation, error) {
	j.asked.Add(1)
	if err := j.err.Load(); err != nil && *err != nil {
		return nil, *err
	}
	j.acting.Store(&s.Acting)
	if strings.Contains(string(s.Subject), "slow") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	v := rule.RuleVerdict{RuleID: "r", RuleSlug: "MCP-1", RuleStatement: "Forbidden things must stay.", Severity: rule.High, Modality: rule.Must, Enforcement: rule.Enforce, Verdict: rule.Allow, DecidedBy: rule.ByCheck}
	e := &rule.Evaluation{EvaluationID: "E-1", OverallVerdict: rule.Allow, RulesEvaluated: 1, Mode: s.Mode}
	if demands := j.demands.Load(); demands != nil {
		e.FailModes = *demands
	}
	if strings.Contains(string(s.Subject), "forbidden") {
		v.Verdict, e.OverallVerdict = rule.Deny, rule.Deny
		e.Violations = []rule.RuleVerdict{v}
	}
	e.RuleVerdicts = []rule.RuleVerdict{v}
	return e, nil
}

// notes collects what the operator sees.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// bench is a gateway to be tested.
type bench struct {
	judge judge
	notes notes
	cfg   relay.Config
}

func newBench(t testing.TB) *bench {
	b := &bench{}
	b.cfg = relay.Config{Server: "everything", Ask: b.judge.ask, Note: b.notes.add, Timeout: 20 * time.Second, Person: "ann", Pins: pin.Open(t.TempDir(), "everything")}
	return b
}

// program is the test program as a server.
func program(t testing.TB) relay.Program {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return relay.Program{Command: []string{self}, Environ: append(os.Environ(), asServer+"=1"), Stderr: io.Discard}
}

// httpServer is the server over HTTP.
func httpServer(t testing.TB) relay.Remote {
	m := newServer()
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return relay.Remote{URL: u, Client: s.Client()}
}

// ways are the four ways to put a gateway between a client and a server.
var ways = map[string]func(t testing.TB, b *bench) mcp.Transport{
	"lines to program": func(t testing.TB, b *bench) mcp.Transport {
		return overLines(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return relay.New(b.cfg).Lines(ctx, in, out, program(t))
		})
	},
	"lines to HTTP": func(t testing.TB, b *bench) mcp.Transport {
		to := httpServer(t)
		return overLines(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return relay.New(b.cfg).Remote(ctx, in, out, to)
		})
	},
	"HTTP to program": func(t testing.TB, b *bench) mcp.Transport {
		h, stop := relay.New(b.cfg).Host(context.Background(), program(t))
		t.Cleanup(stop)
		return overHTTP(t, h)
	},
	"HTTP to HTTP": func(t testing.TB, b *bench) mcp.Transport {
		return overHTTP(t, relay.New(b.cfg).Forward(httpServer(t)))
	},
}

func overLines(t testing.TB, run func(context.Context, io.Reader, io.Writer) error) mcp.Transport {
	in, toGateway := io.Pipe()
	fromGateway, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(context.Background(), in, out)
		_ = out.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		_ = toGateway.Close()
		go func() { _, _ = io.Copy(io.Discard, fromGateway) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the gateway ended with %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the gateway does not end with its input")
		}
	})
	return &mcp.IOTransport{Reader: fromGateway, Writer: toGateway}
}

func overHTTP(t testing.TB, h http.Handler) mcp.Transport {
	s := httptest.NewServer(relay.Guard(h, ""))
	t.Cleanup(s.Close)
	return &mcp.StreamableClientTransport{Endpoint: s.URL}
}

// seen is what a client was told.
type seen struct {
	progress chan *mcp.ProgressNotificationParams
	logged   chan string
	changed  chan struct{}
}

func connect(t testing.TB, over mcp.Transport, version string) (*mcp.ClientSession, *seen) {
	t.Helper()
	n := &seen{make(chan *mcp.ProgressNotificationParams, 5000), make(chan string, 10), make(chan struct{}, 10)}
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { n.progress <- r.Params },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { n.logged <- fmt.Sprint(r.Params.Data) },
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case n.changed <- struct{}{}:
			default:
			}
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	c.AddRoots(&mcp.Root{URI: "file:///root", Name: "root"})
	s, err := c.Connect(t.Context(), over, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, n
}

func call(t testing.TB, s *mcp.ClientSession, tool, text string, n int) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: echoInput{text, n}})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

func textOf(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// soon waits for something to arrive.
func soon[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not arrive", what)
	}
	return v
}

// TestEverythingPasses runs a client and a server of the official SDK with the gateway between them, each way.
func TestEverythingPasses(t *testing.T) {
	for name, way := range ways {
		for _, version := range []string{"2025-06-18", "2025-11-25", ""} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				s, n := connect(t, way(t, b), version)
				if got := textOf(call(t, s, "echo", "hi", 3)); got != "hi 3" {
					t.Errorf("echo says %q", got)
				}
				if who := b.judge.acting.Load(); who.Agent != "tester" || who.OnBehalfOf != "ann" {
					t.Errorf("the record names %+v", who)
				}
				if got := call(t, s, "fail", "", 0); !got.IsError || textOf(got) != "it failed" {
					t.Errorf("the tool's own error: %q", textOf(got))
				}
				got := call(t, s, "forbidden", "", 0)
				if text := textOf(got); !got.IsError || !strings.Contains(text, "MCP-1") || !strings.Contains(text, "not carried out") || strings.Contains(text, "REACHED") {
					t.Errorf("a denied call: %q", text)
				}
				if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "unknown"}); err == nil {
					t.Error("an unknown tool gives no error")
				}
				list, err := s.ListTools(t.Context(), nil)
				if err != nil || len(list.Tools) != 7 {
					t.Errorf("tools: %v, %v", list, err)
				}
				read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///open"})
				if err != nil || read.Contents[0].Text != "content" {
					t.Errorf("a resource: %v, %v", read, err)
				}
				if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///forbidden"}); err == nil || !strings.Contains(err.Error(), "MCP-1") {
					t.Errorf("a denied resource: %v", err)
				}
				if p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"}); err != nil || len(p.Messages) != 1 {
					t.Errorf("a prompt: %v, %v", p, err)
				}
				done, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "b"}})
				if err != nil || len(done.Completion.Values) != 1 || done.Completion.Values[0] != "b!" {
					t.Errorf("a completion: %v, %v", done, err)
				}
				if version != "" { // later versions have no requests of servers
					if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
						t.Error(err)
					}
					if got := textOf(call(t, s, "ask", "x", 0)); got != "sampled decline 1" {
						t.Errorf("sampling, elicitation and roots: %q", got)
					}
					if got := soon(t, "a log message", n.logged); got != "logged" {
						t.Errorf("logged %q", got)
					}
				}
				params := &mcp.CallToolParams{Name: "work", Arguments: echoInput{"step", 5}}
				params.SetProgressToken("token-1")
				if _, err := s.CallTool(t.Context(), params); err != nil {
					t.Fatal(err)
				}
				for i := range 5 {
					if p := soon(t, "progress", n.progress); p.Progress != float64(i+1) || p.ProgressToken != "token-1" {
						t.Errorf("progress %d: %+v", i, p)
					}
				}
				b.cancels(t, s, n)
			})
		}
	}
}

// cancels cancels a call that the server works on.
func (b *bench) cancels(t *testing.T, s *mcp.ClientSession, n *seen) {
	ctx, cancel := context.WithCancel(t.Context())
	params := &mcp.CallToolParams{Name: "hang", Arguments: echoInput{"", 0}}
	params.SetProgressToken("token-2")
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, params)
		ended <- err
	}()
	soon(t, "progress of the call that hangs", n.progress)
	cancel()
	if err := soon(t, "the end of the cancelled call", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call ended with %v", err)
	}
	soon(t, "the list change that shows the server's end of the call", n.changed)
}

// TestThousandCalls sends calls side by side and one behind the other: each gets its own answer, and the server gets them in order.
func TestThousandCalls(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s, n := connect(t, way(t, b), "2025-11-25")
			params := &mcp.CallToolParams{Name: "work", Arguments: echoInput{"x", 200}}
			params.SetProgressToken("order")
			var calls sync.WaitGroup
			calls.Go(func() {
				if _, err := s.CallTool(t.Context(), params); err != nil {
					t.Error(err)
				}
			})
			var wrong atomic.Int64
			limit := make(chan struct{}, 50)
			for i := range 1000 {
				limit <- struct{}{}
				calls.Go(func() {
					defer func() { <-limit }()
					tool, want := "echo", fmt.Sprintf("call %d", i)
					if i%10 == 3 {
						tool, want = "forbidden", "MCP-1"
					}
					res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: echoInput{"call", i}})
					if err != nil || !strings.Contains(textOf(res), want) || res.IsError != (tool == "forbidden") {
						wrong.Add(1)
						t.Logf("%s %d: %v %v", tool, i, res, err)
					}
				})
			}
			calls.Wait()
			if wrong.Load() > 0 {
				t.Errorf("%d of 1,000 calls got a wrong answer", wrong.Load())
			}
			for i := range 200 {
				if p := soon(t, "progress", n.progress); p.Progress != float64(i+1) {
					t.Fatalf("progress %v at place %d", p.Progress, i+1)
				}
			}
			if got := b.judge.asked.Load(); got != 1001 {
				t.Errorf("%d calls were evaluated, want 1001", got)
			}
		})
	}
}

// TestCancelledWhileEvaluated cancels a call that is still evaluated: the server never sees it.
func TestCancelledWhileEvaluated(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s, _ := connect(t, way(t, b), "2025-11-25")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoInput{"slow", 1}})
				ended <- err
			}()
			for b.judge.asked.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			began := time.Now()
			if got := textOf(call(t, s, "echo", "quick", 1)); got != "quick 1" { // overtakes
				t.Errorf("a call behind one that is evaluated: %q", got)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			cancel()
			if err := soon(t, "the end", ended); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if got := textOf(call(t, s, "echo", "after", 1)); got != "after 1" {
				t.Errorf("a call after a cancelled one: %q", got)
			}
		})
	}
}

// TestFailModes takes Tenet away: nothing passes unless that was chosen, and what Tenet answers counts even then.
func TestFailModes(t *testing.T) {
	down := error(rule.Errorf(rule.CodeUnavailable, "no connection"))
	refused := error(rule.Errorf(rule.CodeForbidden, "the key may not evaluate"))
	for _, test := range []struct {
		open bool
		err  error
		want string
	}{
		{false, down, "no permission"},
		{true, down, "hi 1"},
		{true, refused, "may not evaluate"},
		{true, rule.Errorf(rule.CodeInvalid, "the subject is invalid"), "is invalid"},
		{false, errors.New("connection refused"), "connection refused"},
		{true, errors.New("connection refused"), "hi 1"},
	} {
		b := newBench(t)
		b.cfg.FailOpen = test.open
		b.judge.err.Store(&test.err)
		s, _ := connect(t, ways["HTTP to HTTP"](t, b), "2025-11-25")
		if got := textOf(call(t, s, "echo", "hi", 1)); !strings.Contains(got, test.want) {
			t.Errorf("open %v, %v: %q", test.open, test.err, got)
		}
		if !strings.Contains(b.notes.String(), "evaluat") && !strings.Contains(b.notes.String(), "EVALUATION") {
			t.Errorf("the operator is not told: %s", &b.notes)
		}
	}
}

// TestDemandsShutTheGateway has a project demand that nothing passes that could not be judged: --fail open does not hold then.
func TestDemandsShutTheGateway(t *testing.T) {
	b := newBench(t)
	b.cfg.FailOpen = true
	demands := rule.FailModes{rule.Critical: rule.FailClosed}
	b.judge.demands.Store(&demands)
	s, _ := connect(t, ways["HTTP to HTTP"](t, b), "2025-11-25")
	if got := textOf(call(t, s, "echo", "hi", 1)); got != "hi 1" {
		t.Fatalf("while Tenet answers: %q", got)
	}
	down := error(rule.Errorf(rule.CodeUnavailable, "no connection"))
	b.judge.err.Store(&down)
	if got := textOf(call(t, s, "echo", "hi", 2)); !strings.Contains(got, "no permission") || !strings.Contains(b.notes.String(), "--fail open does not hold") {
		t.Errorf("%q, notes %s", got, &b.notes)
	}
}

// TestSlowEvaluationsFail bounds an evaluation.
func TestSlowEvaluationsFail(t *testing.T) {
	b := newBench(t)
	b.cfg.Timeout = 50 * time.Millisecond
	s, _ := connect(t, ways["lines to HTTP"](t, b), "")
	if got := call(t, s, "echo", "slow", 1); !got.IsError || !strings.Contains(textOf(got), "no answer within 50ms") {
		t.Errorf("%q", textOf(got))
	}
}

// TestResults evaluates what comes back.
func TestResults(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.cfg.Results = true
			s, _ := connect(t, way(t, b), "")
			if got := textOf(call(t, s, "echo", "fine", 1)); got != "fine 1" {
				t.Errorf("%q", got)
			}
			if got := b.judge.asked.Load(); got != 2 {
				t.Errorf("%d evaluations of a call and its result, want 2", got)
			}
			// The resource's content is judged by its own text, not by the name that was asked for.
			b.judge.asked.Store(0)
			if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///open"}); err != nil || b.judge.asked.Load() != 2 {
				t.Errorf("%v after %d evaluations", err, b.judge.asked.Load())
			}
		})
	}
}
