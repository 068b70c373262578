package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/hook"
	"tenet/internal/hook/settings"
)

// transactionHook is `tenet hook reference-transaction`. Git runs that hook whenever a branch moves, also under --no-verify.
type transactionHook struct{}

func (transactionHook) Help() string {
	return `Reports commits that the hook of git has not judged, such as those of git commit --no-verify. It stops nothing: branches also move when
you pull, rebase and merge. tenet hook status shows the last one.

Example:

    tenet hook install reference-transaction`
}

// unjudged is the entry of the journal for a commit that the hook of git has not judged.
const unjudged = hook.Decision("unjudged")

// Bounds of the input from git, and of the commits that are judged.
const (
	maxTransaction = 1 << 20
	maxUpdates     = 20
)

func (transactionHook) Run(ctx context.Context, s *session) error {
	updates := bufio.NewScanner(io.LimitReader(interruptible{ctx, s.stdin}, maxTransaction))
	for n := 0; updates.Scan() && n < maxUpdates; {
		fields := strings.Fields(updates.Text())
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "refs/heads/") || !isObject(fields[0]) || !isObject(fields[1]) {
			continue
		}
		n++
		if around(ctx, fields[0], fields[1]) {
			s.note("commit %.12s on %s has not been judged by the hook of git; judge it with tenet check %.12s^..%.12s",
				fields[1], line(strings.TrimPrefix(fields[2], "refs/heads/")), fields[1], fields[1])
			noteJudgement(s, "reference-transaction", "", unjudged)
		}
	}
	return nil
}

func isObject(name string) bool {
	return len(name) >= 40 && strings.Trim(name, "0123456789abcdef") == ""
}

// around reports whether a commit is a new one on top of another, and its tree was not judged.
func around(ctx context.Context, old, now string) bool {
	if strings.Trim(now, "0") == "" {
		return false // the branch is deleted
	}
	out, err := gitOutput(ctx, "show", "--no-patch", "--no-show-signature", "--format=%T %P", now)
	fields := strings.Fields(out)
	switch {
	case err != nil || len(fields) == 0 || len(fields) > 2: // a merge
		return false
	case len(fields) == 2 && fields[1] != old, len(fields) == 1 && strings.Trim(old, "0") != "":
		return false // the branch moves to a commit that was made elsewhere
	}
	file, _ := judgedTrees(ctx)
	b, err := os.ReadFile(file)
	return err != nil || !bytes.Contains(b, []byte(fields[0]+"\n"))
}

// judgedTrees returns the file with the trees that the hook of git has let pass, and whether the hook that reads it is installed.
func judgedTrees(ctx context.Context) (file string, wanted bool) {
	out, err := gitOutput(ctx, "rev-parse", "--git-path", "tenet-judged", "--git-path", "hooks/reference-transaction")
	names := strings.Split(strings.TrimRight(out, "\r\n"), "\n")
	if err != nil || len(names) != 2 {
		return "", false
	}
	script, err := os.ReadFile(names[1])
	return absolute(names[0]), err == nil && settings.IsHook(string(script))
}

// keptTrees is how many judged trees are remembered.
const keptTrees = 500

// rememberTree notes that the tree that is staged may be committed, for the hook that looks for commits that were not judged.
func rememberTree(ctx context.Context) {
	file, wanted := judgedTrees(ctx)
	if !wanted {
		return
	}
	tree, err := gitOutput(ctx, "write-tree")
	if err != nil {
		return // the commit is then reported
	}
	b, _ := os.ReadFile(file) // the first has none
	lines := append(strings.Fields(string(b)), strings.TrimSpace(tree))
	lines = lines[max(0, len(lines)-keptTrees):]
	f, err := os.CreateTemp(filepath.Dir(file), ".tenet-judged-*")
	if err != nil {
		return
	}
	_, err = fmt.Fprintln(f, strings.Join(lines, "\n"))
	if closed := f.Close(); err != nil || closed != nil || os.Rename(f.Name(), file) != nil {
		_ = os.Remove(f.Name())
	}
}
