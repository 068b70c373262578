package job_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"tenet/internal/job"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
)

// crashTarget names the database on which this test binary works on jobs until it is killed, instead of running tests.
const crashTarget = "TENET_TEST_JOB_TARGET"

func TestMain(m *testing.M) {
	if target := os.Getenv(crashTarget); target != "" {
		fmt.Fprintln(os.Stderr, workUntilKilled(target))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func workUntilKilled(target string) error {
	s, err := openTarget(context.Background(), target)
	if err != nil {
		return err
	}
	r := job.New(job.Config{Store: job.Store{Updater: s, JobWatcher: s, Jobs: s.Jobs}, Lease: time.Second, Handlers: map[string]job.Handler{
		"long": func(_ context.Context, j wire.Job, progress func(int, int)) error {
			progress(1, 2)
			fmt.Println("begun", j.ID)
			select {}
		},
	}})
	r.Start()
	select {}
}

// A job whose process is killed is done by the next one, soon after the lease has ended.
func TestKilledNodesJobsAreDoneByTheNext(t *testing.T) {
	for name, target := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return litetest.Dir(t) },
		"PostgreSQL": func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time, for a lease to end
			testKilled(t, target(t))
		})
	}
}

func testKilled(t *testing.T, target string) {
	b := newBed(t, target)
	b.queue = job.NewQueue(time.Now)
	id := b.add("long", job.Options{UniqueKey: "one"})
	node := exec.CommandContext(t.Context(), os.Args[0])
	node.Env = append(os.Environ(), crashTarget+"="+target)
	node.Stderr = os.Stderr
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != fmt.Sprintf("begun %d\n", id) {
		t.Fatalf("the node says %q, %v", line, err)
	}
	if err := node.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = node.Wait() // it was killed
	if j := b.get(id); j.State != job.Running {
		t.Fatalf("after the kill: %+v", j)
	}
	r := job.New(job.Config{Store: job.Store{Updater: b.s, JobWatcher: b.s, Jobs: b.s.Jobs}, Lease: time.Second, Poll: 20 * time.Millisecond, Handlers: map[string]job.Handler{
		"long": func(context.Context, wire.Job, func(int, int)) error { return nil },
	}})
	r.Start()
	if j := b.untilState(id, job.Succeeded); j.Attempt != 2 {
		t.Errorf("it took %d attempts, want the killed one and another", j.Attempt)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a queue of jobs that do nothing costs, enqueued one by one from eight sides while they are being done.
func BenchmarkThroughput(b *testing.B) {
	for name, target := range map[string]func() string{
		"SQLite":     func() string { return b.TempDir() },
		"PostgreSQL": func() string { return pgtest.DSN(b) },
	} {
		b.Run(name, func(b *testing.B) { benchmarkThroughput(b, target()) })
	}
}

func benchmarkThroughput(b *testing.B, target string) {
	bed := newBed(b, target)
	done := make(chan bool, 1000)
	r := job.New(job.Config{Store: job.Store{Updater: bed.s, JobWatcher: bed.s, Jobs: bed.s.Jobs}, Handlers: map[string]job.Handler{
		"k": func(context.Context, wire.Job, func(int, int)) error { done <- true; return nil },
	}})
	r.Start()
	queue := job.NewQueue(time.Now)
	todo := make(chan bool)
	for range 8 {
		go func() {
			for range todo {
				err := bed.s.Update(context.Background(), func(tx store.Tx) error {
					_, err := queue.Enqueue(context.Background(), tx, "k", "p", nil, job.Options{})
					return err
				})
				if err != nil {
					b.Error(err)
				}
			}
		}()
	}
	n, began := 0, time.Now()
	for b.Loop() {
		todo <- true
		n++
	}
	close(todo)
	for range n {
		<-done
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "jobs/s")
	if err := r.Stop(context.Background()); err != nil {
		b.Error(err)
	}
}
