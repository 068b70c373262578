package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/gateway/relay"
	"tenet/internal/rule"
	"tenet/internal/store/litetest"
)

// BenchmarkGateway measures what the gateway adds to a call, with a node in the same process, the starter rules, and records that are durable
// before the call passes. Calls with and without the gateway alternate, so that both see the same machine.
func BenchmarkGateway(b *testing.B) {
	kept := make([]byte, 32<<20) // as in the command
	defer runtime.KeepAlive(kept)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 6))
	dir := litetest.Dir(b)
	c := inProcess(b, dir)
	g := newBench(b)
	var evaluations []time.Duration
	g.cfg.Ask = func(ctx context.Context, s client.Submit) (*rule.Evaluation, error) {
		began := time.Now()
		a, err := c.Submit(ctx, s)
		evaluations = append(evaluations, time.Since(began)) // calls come one by one
		if err != nil {
			return nil, err
		}
		return &a.Evaluation, nil
	}
	through, _ := connect(b, overLines(b, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return relay.New(g.cfg).Lines(ctx, in, out, program(b))
	}), "2025-11-25")
	p := program(b)
	cmd := exec.Command(p.Command[0])
	cmd.Env = append(os.Environ(), asServer+"=1")
	direct, _ := connect(b, &mcp.CommandTransport{Command: cmd}, "2025-11-25")
	var with, without []time.Duration
	syncs, sync := disk(b, dir)
	i := 0
	for b.Loop() {
		i++
		sync()
		for _, side := range []struct {
			s    *mcp.ClientSession
			took *[]time.Duration
		}{{direct, &without}, {through, &with}} {
			began := time.Now()
			// The name list_... is covered by a starter rule, which a check decides.
			res, err := side.s.CallTool(b.Context(), &mcp.CallToolParams{Name: "list_echo", Arguments: echoInput{"item " + strconv.Itoa(i), i}})
			*side.took = append(*side.took, time.Since(began))
			if err != nil || res.IsError {
				b.Fatalf("%v %v", res, err)
			}
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	slices.Sort(evaluations)
	slices.Sort(*syncs)
	at := func(list []time.Duration, p float64) float64 {
		return float64(list[int(p*float64(len(list)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(with, .5)-at(without, .5), "p50-added-ms")
	b.ReportMetric(at(with, .99)-at(without, .99), "p99-added-ms")
	b.ReportMetric(at(evaluations, .5), "p50-evaluation-ms")
	b.ReportMetric(at(evaluations, .99), "p99-evaluation-ms")
	b.ReportMetric(at(*syncs, .5), "p50-fsync-ms")
	b.ReportMetric(at(without, .5), "p50-direct-ms")
	b.ReportMetric(at(with, .5)/at(without, .5), "p50-ratio")
}

// BenchmarkEvaluatedCall is the evaluation of a call as the gateway asks for it, without the relay. It reports the processor's time, which other programs change less
// than the clock.
func BenchmarkEvaluatedCall(b *testing.B) {
	c := inProcess(b, litetest.Dir(b))
	b.ReportAllocs()
	i, before := 0, processor(b)
	for b.Loop() {
		i++
		subject := fmt.Appendf(nil, `{"kind":"tool_call","server":"everything","tool":"list_echo","method":"tools/call","arguments":{"text":"item %d","n":%d}}`, i, i)
		a, err := c.Submit(b.Context(), client.Submit{Subject: subject, Mode: rule.Preflight, MaxRules: 100})
		if err != nil || a.OverallVerdict != rule.Allow {
			b.Fatalf("%+v %v", a, err)
		}
	}
	b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "processor-us/op")
}

// inProcess is a client of a node in this process, with the starter rules.
func inProcess(b *testing.B, dir string) *client.Client {
	b.Helper()
	none := func(string) string { return "" }
	cfg, err := config.Load("", none, map[string]string{"data": dir, "listen": "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	node, err := app.New(b.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none, NoCases: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = node.Stop(context.WithoutCancel(b.Context())) })
	c, err := client.New("http://localhost", "", &http.Client{Transport: client.InProcess(node.Handler())})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// processor returns the time of the processor that this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// disk returns a function that makes as many bytes durable as a record takes, on the disk of the node, and its times.
func disk(b *testing.B, dir string) (times *[]time.Duration, sync func()) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() }) // it was only for its times
	record, places := make([]byte, 32<<10), int64(64)
	if _, err := f.Write(make([]byte, places*int64(len(record)))); err != nil {
		b.Fatal(err)
	}
	times = new([]time.Duration)
	return times, func() {
		began := time.Now()
		_, err := f.WriteAt(record, int64(len(*times))%places*int64(len(record)))
		if err = errors.Join(err, f.Sync()); err != nil {
			b.Fatal(err)
		}
		*times = append(*times, time.Since(began))
	}
}
