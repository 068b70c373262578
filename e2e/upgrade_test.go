package e2e

import (
	"database/sql"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenet/internal/porttest"

	"tenet/internal/store/pgtest"
)

// Nodes of an older version and of this one serve together, as during a rolling upgrade: what either acknowledges is there for both, and nothing fails
// for the other's sake. Then the older one is stopped, and refuses to start again.
func TestAnOlderAndThisVersionServeTogether(t *testing.T) {
	program := os.Getenv("TENET_TEST_OLDER")
	if program == "" {
		t.Skip("needs a program of an older version: run make test-upgrade")
	}
	dsn := pgtest.Empty(t, "")
	older := startOlder(t, program, dsn)
	w := newWitness()
	stop := w.keepWriting(t, []*node{older}, 2)
	time.Sleep(2 * time.Second)
	this := startNode(t, "--database-url", dsn) // migrates while the other writes
	t.Logf("%d writes before", w.acknowledged())
	stopThis := w.keepWriting(t, []*node{older, this}, 2)
	time.Sleep(6 * time.Second)
	stopThis()
	stop()
	for name, n := range map[string]*node{"older": older, "this": this} {
		w.examine(t, n.client(t))
		for line := range strings.Lines(n.log.String()) {
			if strings.Contains(line, "level=ERROR") && !(n == older && clientHasGone(line)) {
				t.Errorf("the log of the %s one says %s", name, line)
			}
		}
	}
	// A rule of each is found through the other.
	for _, pair := range [][2]*node{{older, this}, {this, older}} {
		if err := w.create(t.Context(), pair[0].client(t), "last-"+pair[0].url[len(pair[0].url)-5:]); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second) // a node looks for what others have changed several times a second
		for slug, want := range w.rules {
			if !strings.HasPrefix(slug, "C-last-") {
				continue
			}
			if got, err := pair[1].client(t).Rule(t.Context(), slug); err != nil || got.Statement != want.Statement {
				t.Errorf("rule %s: %q, %v", slug, got.Statement, err)
			}
		}
	}
	if err := older.stop(syscall.SIGTERM); err != nil {
		t.Errorf("the older one ends with %v:\n%s", err, older.log.String())
	}
	out, err := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--database-url", dsn).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "use a newer tenet") {
		t.Errorf("a downgrade: %v\n%s", err, out)
	}
	if err := w.evaluate(t.Context(), this.client(t), "after"); err != nil {
		t.Error(err)
	}
	w.examineAll(t, this.client(t))
	if len(w.rules) == 0 || len(w.evaluations) == 0 || len(w.deployed) == 0 {
		t.Error("nothing was written")
	}
}

// clientHasGone reports whether a line of an older version is about a request that its client gave up. Up to commit 7c3b60ce a statement could find that its transaction
// was rolled back a moment before it saw that the request had ended, and took that for a fault. The contract tests of the store have the case ("cancelled contexts").
func clientHasGone(line string) bool {
	return strings.Contains(line, "request failed") && strings.Contains(line, sql.ErrTxDone.Error())
}

func startOlder(t *testing.T, program, dsn string) *node {
	t.Helper()
	return startProgram(t, program, "serve", porttest.Address(t), "--database-url", dsn)
}
