package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is an output that is read while it is written.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) shows(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		found := strings.Contains(s.b.String(), text)
		s.mu.Unlock()
		if found {
			return
		}
	}
	t.Fatalf("waited in vain for %q in %s", text, s.b.String())
}

func TestWatchRunsAgainAfterAChange(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules.yaml", "rules:\n  - {slug: A-1, statement: Small., check: {cel: 'facts.n < 10'}}\n")
	write("cases.yaml", "cases:\n  - {rule: A-1, name: small, expect: ALLOW, facts: {n: 1}}\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs screen
	code := make(chan int)
	go func() {
		code <- Main(ctx, []string{"test", dir, "--watch"}, strings.NewReader(""), &out, &errs, []string{"HOME=" + t.TempDir()})
	}()
	out.shows(t, "1 case of 1 rule: all passed")
	write("cases.yaml", "cases: [\n")
	errs.shows(t, "cases.yaml")
	write("cases.yaml", "cases:\n  - {rule: A-1, name: large, expect: ALLOW, facts: {n: 11}}\n")
	out.shows(t, "1 failed, 0 passed")
	write("rules.yaml", "rules:\n  - {slug: A-1, statement: Small., check: {cel: 'facts.n < 100'}}\n")
	out.shows(t, "all passed in")
	cancel()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit %d, want %d", got, exitInterrupted)
	}
}

// Every starter rule keeps its own cases, offline.
func TestStarterPacksPass(t *testing.T) {
	code, out, errs := run(t, "", "test", "../../packs")
	if code != exitOK || !strings.Contains(out, "all passed") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
