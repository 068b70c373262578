package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// failures skips a test of a minute unless TENET_TEST_FAILOVER is set, as `make test-failover` does.
func failures(t *testing.T) {
	t.Helper()
	if os.Getenv("TENET_TEST_FAILOVER") == "" {
		t.Skip("takes long: run make test-failover")
	}
}

// answersWithin is how long after the promotion of a standby each node must answer again.
const answersWithin = 5 * time.Second

func TestNodesFollowAPromotedStandby(t *testing.T) {
	failures(t)
	p := pgtest.NewPair(t)
	p.Synchronize()
	nodes := []*node{startNode(t, "--database-url", p.Both()), startNode(t, "--database-url", p.Both())}
	w := newWitness()
	stop := w.keepWriting(t, nodes, 3)
	time.Sleep(2 * time.Second)
	p.KillPrimary()
	time.Sleep(time.Second) // writes fail meanwhile
	p.Promote()
	promoted := time.Now()
	for i, n := range nodes {
		answer(t, n, promoted.Add(30*time.Second))
		took := time.Since(promoted)
		t.Logf("node %d answers %s after the promotion", i+1, took.Round(time.Millisecond))
		if took > answersWithin {
			t.Errorf("that is more than %s", answersWithin)
		}
	}
	before := w.acknowledged()
	time.Sleep(2 * time.Second)
	stop()
	if after := w.acknowledged(); after < before+firstSoMany {
		t.Errorf("%d writes were acknowledged before, and %d after", before, after)
	}
	for _, n := range nodes {
		w.examine(t, n.client(t))
	}
	c := nodes[1].client(t)
	w.examineAll(t, c)
	deployedOnce(t, c)
	jobEnds(t, c, promoted)
}

func newWitness() *witness {
	return &witness{rules: map[string]rule.Rule{}, evaluations: map[string]rule.Verdict{}, imports: map[string]bool{}}
}

// keepWriting writes to nodes from several sides, also after failures, until stop is called.
func (w *witness) keepWriting(t *testing.T, nodes []*node, writers int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	run := time.Now().UnixMilli() % 1_000_000 // names differ between calls
	for at, n := range nodes {
		c := n.client(t)
		for writer := range writers {
			for kind, write := range []func(context.Context, *client.Client, string) error{w.create, w.evaluate, w.importThree, w.deploy} {
				writing.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						if write(ctx, c, fmt.Sprintf("T%d-K%d-W%d-M%d-N%d", run, kind, writer, at, i)) != nil {
							time.Sleep(20 * time.Millisecond)
						}
					}
				})
			}
		}
	}
	stop = sync.OnceFunc(func() {
		cancel()
		writing.Wait()
		time.Sleep(2 * time.Second) // a node looks for what others have changed several times a second
	})
	t.Cleanup(stop)
	return stop
}

// answer waits until a node answers an evaluation.
func answer(t *testing.T, n *node, deadline time.Time) {
	t.Helper()
	c := n.client(t)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := c.Evaluate(ctx, client.Evaluate{Facts: json.RawMessage(`{"amount":1}`)})
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the node does not answer: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// deployedOnce looks for deployments that happened twice.
func deployedOnce(t *testing.T, c *client.Client) {
	t.Helper()
	state, err := client.Get(t.Context(), c, op.GetEnvironment.At(string(wire.Staging)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, h := range state.History {
		if seen[h.SnapshotID] {
			t.Errorf("snapshot %s was deployed twice", h.SnapshotID)
		}
		seen[h.SnapshotID] = true
	}
}

// jobEnds waits for a job that has ended well after a moment.
func jobEnds(t *testing.T, c *client.Client, after time.Time) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 40*time.Second; time.Sleep(100 * time.Millisecond) {
		page, err := client.Get(t.Context(), c, op.ListJobs.Where(wire.JobQuery{State: "succeeded"}))
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Items {
			if j.FinishedAt != nil && j.FinishedAt.After(after) {
				return
			}
		}
	}
	t.Error("no job has ended since")
}

// One node is stopped inside a transaction; the others answer after PostgreSQL has ended it.
func TestAFrozenNodeDelaysOthersBriefly(t *testing.T) {
	failures(t)
	dsn := pgtest.DSN(t)
	frozen, other := startNode(t, "--database-url", dsn), startNode(t, "--database-url", dsn)
	w := newWitness()
	stop := w.keepWriting(t, []*node{frozen}, 3)
	c := other.client(t)
	time.Sleep(time.Second)
	for range 2 {
		freezeInside(t, frozen, dsn)
		began, longest := time.Now(), time.Duration(0)
		for time.Since(began) < 12*time.Second {
			one := time.Now()
			if _, err := c.Evaluate(t.Context(), client.Evaluate{Facts: json.RawMessage(`{"amount":1}`)}); err != nil {
				t.Errorf("%s after it stood still: %v", time.Since(began).Round(time.Millisecond), err)
			}
			longest = max(longest, time.Since(one))
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("the longest evaluation took %s", longest.Round(time.Millisecond))
		if longest > 15*time.Second { // its own transactions may queue for the lock, and each gets it for 5 s until those that wait for 10 s end
			t.Errorf("the longest evaluation took %s", longest)
		}
		if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		answer(t, frozen, time.Now().Add(15*time.Second))
	}
	stop()
	w.examine(t, c)
	w.examineAll(t, c)
	deployedOnce(t, c)
}

// freezeInside stops a node while one of its transactions holds the end of the audit chain.
func freezeInside(t *testing.T, n *node, dsn string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }() // it reads
	for range 200 {
		if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // statements on their way end
		var seq int64
		if err := conn.QueryRow(t.Context(), "SELECT seq FROM audit_heads WHERE project_id = 'default' FOR UPDATE NOWAIT").Scan(&seq); err != nil {
			return // it holds the lock that every record needs
		}
		if err := n.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the node was never inside a transaction")
}

// pgbouncer gives each transaction one of four connections, to two nodes that want many more.
func TestNodesBehindPgbouncer(t *testing.T) {
	failures(t)
	dsn := behindPgbouncer(t, pgtest.DSN(t))
	nodes := []*node{startNode(t, "--database-url", dsn), startNode(t, "--database-url", dsn)}
	w := newWitness()
	stop := w.keepWriting(t, nodes, 3)
	time.Sleep(5 * time.Second)
	for deadline := time.Now().Add(time.Minute); w.acknowledged() < 5*firstSoMany && time.Now().Before(deadline); { // on a busy machine
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	if w.acknowledged() < 5*firstSoMany {
		t.Errorf("only %d writes were acknowledged:\n%s", w.acknowledged(), nodes[0].log.String())
	}
	for _, n := range nodes {
		w.examine(t, n.client(t))
		if text := n.log.String(); strings.Contains(text, "prepared statement") {
			t.Errorf("the log says:\n%s", text)
		}
	}
	c := nodes[0].client(t)
	w.examineAll(t, c)
	deployedOnce(t, c)
}

// behindPgbouncer starts a pgbouncer in its transaction mode before a server, and returns the address of a database there.
func behindPgbouncer(t *testing.T, dsn string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !runs(program) {
			t.Fatal("this test needs pgbouncer, as Debian's package has it")
		}
	}
	at, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "tenet-pool-") //nolint:usetesting // short, for the name of the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
`, at.Host, at.Port, at.User, dir)
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	cmd := exec.Command(program, settings)
	if os.Geteuid() == 0 { // as which it refuses to run
		owner, err := pgtest.Other()
		if err == nil {
			err = os.Chown(dir, int(owner.Uid), int(owner.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	}
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()         // it reports the signal
	})
	address := fmt.Sprintf("postgres://%s@/%s?host=%s&port=6432&default_query_exec_mode=exec", at.User, at.Database, dir)
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), address)
		if err == nil {
			_ = conn.Close(t.Context()) // it has done nothing
			return address
		}
	}
	t.Fatalf("pgbouncer does not answer:\n%s", log.String())
	return ""
}

func runs(program string) bool {
	info, err := os.Stat(program)
	return err == nil && info.Mode()&0o111 != 0
}
