package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// server is a tenet process under measurement.
type server struct {
	o options
	// command is serve or edge; empty for another program.
	command string
	args    []string
	dir     string
	url     string
	cmd     *exec.Cmd
	http    *http.Client
}

// start runs the binary on a free port with a fresh data folder and waits until it is ready.
func start(ctx context.Context, o options, args ...string) (*server, error) {
	return startCommand(ctx, o, "serve", args...)
}

func newClient() *http.Client {
	return &http.Client{Timeout: 5 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
}

// startCommand is start for a command that listens.
func startCommand(ctx context.Context, o options, command string, args ...string) (*server, error) {
	dir, err := os.MkdirTemp("", "tenet-bench-*")
	if err != nil {
		return nil, err
	}
	s := &server{o: o, command: command, args: args, dir: dir, http: newClient()}
	if _, err := s.up(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// up starts the process on a free port and returns how long it took to be ready.
func (s *server) up(ctx context.Context) (time.Duration, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return 0, err
	}
	return s.upAt(ctx, addr)
}

// again starts the process once more at the address that it had.
func (s *server) again(ctx context.Context) error {
	_, err := s.upAt(ctx, strings.TrimPrefix(s.url, "http://"))
	return err
}

// run starts the process at an address, and does not wait for it.
func (s *server) run(ctx context.Context, addr string) error {
	s.url = "http://" + addr
	args := append([]string{s.command, "--listen", addr, "--data", filepath.Join(s.dir, "data")}, s.args...)
	if s.o.databaseURL != "" && s.command == "serve" {
		args = append(args, "--database-url", s.o.databaseURL)
	}
	s.cmd = exec.CommandContext(ctx, s.o.binary, args...)
	s.cmd.Stderr, s.cmd.Env = os.Stderr, append(os.Environ(), "TENET_ACCESS_LOG=false", "TENET_LOG_LEVEL=warn") // as the peers
	return s.cmd.Start()
}

func (s *server) upAt(ctx context.Context, addr string) (time.Duration, error) {
	began := time.Now()
	if err := s.run(ctx, addr); err != nil {
		return 0, err
	}
	for time.Since(began) < time.Minute {
		if resp, err := s.get(ctx, "/ready"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return time.Since(began), nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, errors.New("the server was not ready within a minute")
}

func (s *server) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return nil, err
	}
	return s.http.Do(req)
}

// down ends the process and waits for it.
func (s *server) down() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	s.http.CloseIdleConnections()
}

func (s *server) stop() {
	s.down()
	_ = os.RemoveAll(s.dir)
}

func (s *server) restart(ctx context.Context) (time.Duration, error) {
	s.down()
	return s.up(ctx)
}

// rss is the resident memory of the process, in bytes.
func (s *server) rss() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no VmRSS in /proc")
}

// used is the processor time of the process so far, in steps of 10 ms.
func (s *server) used() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(stat, []byte(") ")) // the name may have spaces
	fields := strings.Fields(string(after))
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat is too short")
	}
	var ticks int64
	for _, field := range fields[11:13] { // in user and in system mode
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// post sends a JSON body and returns the status and the answer.
func (s *server) post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// importRules imports the rules in files of 10,000 and returns how long it took.
func (s *server) importRules(ctx context.Context, rules []map[string]any) (time.Duration, error) {
	began := time.Now()
	for part := range slices.Chunk(rules, 10_000) {
		body, err := json.Marshal(map[string]any{"rules": part})
		if err != nil {
			return 0, err
		}
		status, answer, err := s.post(ctx, "/api/v1/rules/import", body)
		if err != nil {
			return 0, err
		}
		if status/100 != 2 {
			return 0, fmt.Errorf("import answered %d: %.500s", status, answer)
		}
	}
	return time.Since(began), nil
}

// verify checks that the audit chain is whole after the load.
func (s *server) verify(ctx context.Context) error {
	resp, err := s.get(ctx, "/api/v1/audit/verify")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var report struct {
		Entries  int64 `json:"entries"`
		Problems []any `json:"problems"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&report); err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return fmt.Errorf("the audit chain has problems: %v", report.Problems)
	}
	fmt.Printf("\nAudit chain after the load: %d entries, whole.\n", report.Entries)
	return nil
}

// result holds the figures of a load phase.
type result struct {
	rate  float64
	times []time.Duration // sorted
}

// ms is a quantile of the response times, in milliseconds.
func (r *result) ms(q float64) float64 {
	return float64(r.times[min(int(q*float64(len(r.times))), len(r.times)-1)].Microseconds()) / 1000
}

// load sends bodies to a route from a number of clients, each one after the other, after a warm-up of a fifth of the duration.
func (s *server) load(ctx context.Context, clients int, d time.Duration, path string, body func(int) []byte) (*result, error) {
	return s.loadOf(ctx, clients, d, posts(path, body))
}

// loadOf is load with requests of any method and path.
func (s *server) loadOf(ctx context.Context, clients int, d time.Duration, request requests) (*result, error) {
	if _, err := s.phase(ctx, clients, d/5, request); err != nil {
		return nil, err
	}
	return s.phase(ctx, clients, d, request)
}

// requests makes one request after the other. Several may call it at once.
type requests func() (method, path string, body []byte)

// numbered makes requests of numbers from 1, which no two share.
func numbered(request func(i int) (method, path string, body []byte)) requests {
	var next atomic.Int64
	return func() (method, path string, body []byte) { return request(int(next.Add(1))) }
}

// posts makes requests that post numbered bodies to a route.
func posts(path string, body func(i int) []byte) requests {
	return numbered(func(i int) (string, string, []byte) { return http.MethodPost, path, body(i) })
}

// phase sends requests from a number of clients for a time.
func (s *server) phase(ctx context.Context, clients int, d time.Duration, request requests) (*result, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	r := &result{}
	began := time.Now()
	for range clients {
		conn, err := s.connect(ctx)
		if err != nil {
			return nil, err
		}
		wg.Go(func() {
			defer func() { _ = conn.Close() }()
			times := make([]time.Duration, 0, 1<<16)
			for time.Since(began) < d {
				at := time.Now()
				if err := conn.send(request()); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				times = append(times, time.Since(at))
			}
			mu.Lock()
			r.times = append(r.times, times...)
			mu.Unlock()
		})
	}
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	r.rate = float64(len(r.times)) / time.Since(began).Seconds()
	slices.Sort(r.times)
	return r, nil
}
