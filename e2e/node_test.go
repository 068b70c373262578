package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"tenet/internal/porttest"

	"tenet/internal/client"
)

// node is a `tenet serve` in a process of its own.
type node struct {
	cmd  *exec.Cmd
	url  string
	log  bytes.Buffer
	took time.Duration // from its start until it was ready
}

// startNode starts a node with the settings and waits until it is ready.
func startNode(t *testing.T, settings ...string) *node {
	t.Helper()
	return startAt(t, "serve", porttest.Address(t), settings...)
}

// startTime bounds the start of a node. The long form of crash tests runs beside other work, with a low priority.
func startTime() time.Duration {
	if os.Getenv("TENET_SOAK") != "" {
		return 5 * time.Minute
	}
	return 30 * time.Second
}

// startAt is startNode for a command that listens on an address, serve or edge.
func startAt(t *testing.T, command, addr string, settings ...string) *node {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, program, command, addr, settings...)
}

// startProgram is startAt for a program of any version.
func startProgram(t *testing.T, program, command, addr string, settings ...string) *node {
	t.Helper()
	n := &node{url: "http://" + addr, cmd: exec.Command(program)}
	// Under this name the test binary is the real command line; see TestMain.
	n.cmd.Args = append([]string{"tenet", command, "--listen", addr}, settings...)
	n.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GORACE=atexit_sleep_ms=10")
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	began := time.Now()
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.kill() })
	for !n.ready(t.Context()) {
		if time.Since(began) > startTime() {
			n.kill()
			t.Fatalf("the node is not ready after %v:\n%s", startTime(), n.log.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	n.took = time.Since(began)
	return n
}

func (n *node) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/ready", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// kill ends the node as a power failure would, as far as a process can see. Killing it again does nothing.
func (n *node) kill() {
	if n.cmd.ProcessState == nil {
		_ = n.cmd.Process.Kill() // it may have ended already
		_ = n.cmd.Wait()         // tells that it was killed
	}
}

// stop ends the node as an operator does, and returns how it exited.
func (n *node) stop(s syscall.Signal) error {
	return errors.Join(n.cmd.Process.Signal(s), n.cmd.Wait())
}

// client is a client that shares no connection with others: those of a killed node are dead.
func (n *node) client(t *testing.T) *client.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(n.url, "", &http.Client{Transport: transport, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
