package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/porttest"

	"tenet/internal/checkpoint"
	"tenet/internal/client"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// shortLogRounds is how often the short form kills a node; TENET_SOAK sets the number of the long form.
const shortLogRounds = 3

func TestKilledNodeForksNoLog(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { crashLog(t, "--data", t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { crashLog(t, "--data", t.TempDir(), "--database-url", pgtest.DSN(t)) })
}

// crashLog kills a node again and again while it appends, stores tiles, signs checkpoints and has them cosigned. The log goes on: whatever was published, and
// whatever the witness has cosigned, is a part of it.
func crashLog(t *testing.T, settings ...string) {
	dir := t.TempDir()
	published, policy := filepath.Join(dir, "published"), filepath.Join(dir, "policy")
	t.Setenv("TENET_AUDIT_FOLDER", filepath.Join(dir, "audit"))
	t.Setenv("TENET_AUDIT_CHECKPOINT", "1s")
	t.Setenv("TENET_NO_SEED", "true")
	n := startNode(t, settings...)
	log, err := client.Get(t.Context(), n.client(t), op.GetAuditLog)
	if err != nil {
		t.Fatal(err)
	}
	n.kill()
	cosigned := withWitness(t, dir, log.Policy)
	if err := os.WriteFile(policy, []byte(cosigned), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TENET_AUDIT_POLICY", policy)
	t.Setenv("TENET_AUDIT_PUBLISH", "folder:"+published)
	total := shortLogRounds
	if os.Getenv("TENET_SOAK") != "" {
		total = rounds(t)
	}
	var acknowledged atomic.Int64
	for round := range total {
		n := startNode(t, settings...)
		c := n.client(t)
		if log, err := client.Get(t.Context(), c, op.GetAuditLog); err != nil || log.Problem != "" {
			t.Fatalf("after %d kills: %v, %q\n%s", round, err, log.Problem, n.log.String())
		}
		if round > 0 && round%20 == 0 {
			t.Logf("%d kills, %d evaluations acknowledged", round, acknowledged.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if _, err := client.Call(ctx, c, op.Evaluate, any(map[string]any{"facts": map[string]any{"n": i}})); err != nil {
						return // the node is dead
					}
					acknowledged.Add(1)
				}
			})
		}
		time.Sleep(900*time.Millisecond + rand.N(500*time.Millisecond)) // round the first checkpoint
		n.kill()
		cancel()
		writers.Wait()
	}
	n = startNode(t, settings...)
	c := n.client(t)
	deadline := time.Now().Add(time.Minute)
	for {
		log, err := client.Get(t.Context(), c, op.GetAuditLog)
		if err != nil || log.Problem != "" {
			t.Fatalf("%v, %q", err, log.Problem)
		}
		if log.Checkpoint != nil && log.Checkpoint.Witnessed && log.Checkpoint.Size == log.Size && log.Size >= acknowledged.Load() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d evaluations were acknowledged; the witness has not cosigned all of them: %+v\n%s", acknowledged.Load(), log, n.log.String())
		}
		time.Sleep(100 * time.Millisecond)
	}
	var seen []wire.ComparedCheckpoint
	files, err := filepath.Glob(filepath.Join(published, "*", "*.checkpoint"))
	if err != nil || len(files) == 0 {
		t.Fatalf("published: %v, %v", files, err)
	}
	for _, path := range files {
		note, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := checkpoint.Parse(string(note))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if strings.HasSuffix(p.Origin, "/default") {
			seen = append(seen, wire.ComparedCheckpoint{Size: p.Size, Root: base64.StdEncoding.EncodeToString(p.Root[:])})
		}
	}
	got, err := client.Call(t.Context(), c, op.CompareAudit, wire.CompareAudit{Checkpoints: seen[max(0, len(seen)-1000):]})
	if err != nil || len(got.Problems) > 0 {
		t.Errorf("the log is not what was published: %+v, %v", got, err)
	}
	t.Logf("%d kills, %d evaluations acknowledged, %d checkpoints published", total, acknowledged.Load(), len(seen))
}

// withWitness starts a witness of a log and returns the policy of the log with it.
func withWitness(t *testing.T, dir, policy string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	logs, folder := filepath.Join(dir, "logs"), filepath.Join(dir, "witness")
	if err := os.WriteFile(logs, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := porttest.Address(t)
	run := func(more ...string) *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Args = append([]string{"tenet", "witness", "--folder", folder, "--name", "w.example.com"}, more...)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		return cmd
	}
	key, err := run("--print-key").Output()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := run("--logs", logs, "--listen", addr)
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()
	})
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		res, err := http.Get("http://" + addr + "/")
		if err == nil {
			_ = res.Body.Close()
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the witness does not listen: %s", out.String())
		}
	}
	var kept []string
	for line := range strings.Lines(policy) {
		if !strings.HasPrefix(line, "quorum ") {
			kept = append(kept, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(append(kept, fmt.Sprintf("witness w %s http://%s", strings.TrimSpace(string(key)), addr), "quorum w", ""), "\n")
}
