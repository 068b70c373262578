package pgtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pair is a server of PostgreSQL and one that follows it, both of this test alone.
type Pair struct {
	Primary, Replica string // addresses of a database without tables

	t        testing.TB
	dir, bin string
	owner    *syscall.Credential // nil for the user of the test
	primary  *exec.Cmd
	replica  *exec.Cmd
}

// Ports of the two, which only name their sockets.
const (
	primaryPort = "5441"
	replicaPort = "5442"
)

// NewPair starts a server and one that follows it by streaming. It takes some seconds.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	p := &Pair{t: t, bin: programs(t)}
	dir, err := os.MkdirTemp("/tmp", "tenet-pair-") //nolint:usetesting // short, for the names of sockets
	if err != nil {
		t.Fatal(err)
	}
	p.dir = dir
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Geteuid() == 0 { // as which PostgreSQL refuses to run
		if p.owner, err = Other(); err == nil {
			err = os.Chown(dir, int(p.owner.Uid), int(p.owner.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p.run("initdb", "-D", filepath.Join(dir, "primary"), "-U", "tenet", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	p.primary = p.start("primary", primaryPort)
	p.Primary, p.Replica = p.address(primaryPort), p.address(replicaPort)
	if err := admin(p.Primary+"&dbname=postgres", "CREATE DATABASE tenet"); err != nil {
		t.Fatal(err)
	}
	p.run("pg_basebackup", "-h", dir, "-p", primaryPort, "-U", "tenet", "-D", filepath.Join(dir, "replica"), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	p.Start()
	return p
}

func (p *Pair) address(port string) string {
	return "postgres://tenet@/tenet?host=" + p.dir + "&port=" + port
}

// Both is the address of whichever of the two takes writes.
func (p *Pair) Both() string {
	return "postgres://tenet@/tenet?host=" + p.dir + "," + p.dir + "&port=" + primaryPort + "," + replicaPort
}

// Synchronize has the primary acknowledge nothing that the replica does not have.
func (p *Pair) Synchronize() {
	p.t.Helper()
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := admin(p.Primary, statement); err != nil {
			p.t.Fatal(err)
		}
	}
	p.until("the replica is not synchronous", p.Primary, "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')")
}

// KillPrimary ends the primary as a power failure would.
func (p *Pair) KillPrimary() {
	_ = p.primary.Process.Kill() // its other processes end with it
	_ = p.primary.Wait()         // it reports the signal
}

// Promote has the replica take writes.
func (p *Pair) Promote() {
	p.t.Helper()
	p.execute("SELECT pg_promote(false)")
	p.until("the replica is not promoted", p.Replica, "SELECT NOT pg_is_in_recovery()")
}

// until waits for a query to be true.
func (p *Pair) until(otherwise, address, query string) {
	p.t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		is := false
		err = connected(address, func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, query).Scan(&is) })
		if is {
			return
		}
	}
	p.t.Fatal(otherwise, err)
}

// Start starts the replica.
func (p *Pair) Start() { p.replica = p.start("replica", replicaPort) }

// Stop ends the replica.
func (p *Pair) Stop() { stop(p.replica) }

// Pause has the replica take nothing of what the primary writes, until Resume.
func (p *Pair) Pause() { p.execute("SELECT pg_wal_replay_pause()") }

// Resume ends Pause.
func (p *Pair) Resume() { p.execute("SELECT pg_wal_replay_resume()") }

func (p *Pair) execute(statement string) {
	p.t.Helper()
	if err := admin(p.Replica, statement); err != nil {
		p.t.Fatal(err)
	}
}

// command is a program of PostgreSQL that runs as the user who may.
func (p *Pair) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(p.t.Context()), filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "HOME="+p.dir, "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	return cmd
}

func (p *Pair) run(name string, args ...string) {
	p.t.Helper()
	if out, err := p.command(name, args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// start starts a server and waits until it answers.
func (p *Pair) start(name, port string) *exec.Cmd {
	p.t.Helper()
	cmd := p.command("postgres", "-D", filepath.Join(p.dir, name), "-c", "listen_addresses=", "-c", "unix_socket_directories="+p.dir, "-c", "port="+port, "-c", "fsync=off",
		"-c", "max_connections=100", "-c", "shared_buffers=32MB", "-c", "wal_receiver_status_interval=1s", "-c", "hot_standby_feedback=on")
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { stop(cmd) })
	var err error
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		err = connected(p.address(port)+"&dbname=postgres", func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) })
		if err == nil {
			return cmd
		}
	}
	p.t.Fatalf("the server %s does not answer: %v", name, err)
	return nil
}

// stop ends a server without waiting for its clients. Stopping it again does nothing.
func stop(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait() // it reports the signal
	}
}

// programs finds the folder of the programs of PostgreSQL.
func programs(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(found)
	if path, err := exec.LookPath("pg_basebackup"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, filepath.Dir(path))
		}
	}
	for _, dir := range found {
		if _, err := os.Stat(filepath.Join(dir, "pg_basebackup")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	t.Fatal("this test needs initdb, postgres and pg_basebackup of PostgreSQL; scripts/with-postgres.sh installs them")
	return ""
}

// Other is the user as whom PostgreSQL runs where the test is root.
func Other() (*syscall.Credential, error) {
	var all error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
	}
	return nil, all
}
