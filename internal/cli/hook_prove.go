package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tenet/internal/hook"
	"tenet/internal/hook/settings"
)

// proveCommand is `tenet hook test`.
type proveCommand struct {
	Tool string `arg:"" optional:"" help:"Only the hooks of this tool: claude-code, cursor, codex, gemini, copilot, windsurf, git or pre-commit."`
	output
}

func (proveCommand) Help() string {
	return `Runs the very command line that the settings of each tool hold, with a forbidden act in the form of that tool, and looks whether the answer
stops it; then with a harmless one, which must not be denied. The act is one that Tenet's guard stops whatever rules there are: git commit
--no-verify, or settings that are emptied. For the hooks of git it is a staged file with a planted word, in an index of its own: nothing is
written to the repository. Exit code 1 if an act was not stopped, a harmless one was denied, or no hook is set up.

Examples:

    tenet hook test
    tenet hook test claude-code`
}

// proof is the result of a wall's test.
type proof struct {
	Tool  string `json:"tool"`
	Scope string `json:"scope"`
	Event string `json:"event,omitempty"`
	// Stopped means that the forbidden act was stopped, Passed that the harmless one was not denied.
	Stopped bool   `json:"stopped"`
	Passed  bool   `json:"passed"`
	Problem string `json:"problem,omitempty"`
	Note    string `json:"note,omitempty"`
}

func (p *proof) good() bool { return p.Stopped && p.Passed && p.Problem == "" }

func (k *proveCommand) Run(ctx context.Context, s *session) error {
	if k.Tool == "reference-transaction" {
		return errors.New("the hook reference-transaction reports and stops nothing, so there is nothing to prove")
	}
	if _, ok := agentTools[k.Tool]; !ok && k.Tool != "" && k.Tool != "git" && k.Tool != "pre-commit" {
		return fmt.Errorf("%q is no tool that Tenet has a hook for; see tenet hook test --help", k.Tool)
	}
	walls, err := allWalls(ctx, s)
	if err != nil {
		return err
	}
	root, err := projectFolder(ctx)
	if err != nil {
		return err
	}
	proofs := []proof{}
	for i := range walls {
		w := &walls[i]
		if w.State == wallMissing || w.Tool == "reference-transaction" && k.Tool == "" || k.Tool != "" && k.Tool != w.Tool {
			continue
		}
		proofs = append(proofs, prove(ctx, w, root)...)
	}
	bad := len(proofs) == 0
	for i := range proofs {
		bad = bad || !proofs[i].good()
	}
	if k.json() {
		err = printJSON(s.out, proofs)
	} else {
		printProofs(s, proofs)
	}
	if len(proofs) == 0 {
		s.note("there is no hook to test; set one up with tenet hook install")
	}
	if err == nil && bad {
		return exit(exitFound)
	}
	return err
}

func printProofs(s *session, proofs []proof) {
	for i := range proofs {
		p := &proofs[i]
		word := s.green("ok")
		if !p.good() {
			word = s.red("FAILED")
		}
		name := fmt.Sprintf("%s (%s)", p.Tool, p.Scope)
		if p.Event != "" && p.Event != p.Tool {
			name += " at " + p.Event
		}
		switch {
		case p.good():
			fmt.Fprintf(s.out, "%s %s: stops a forbidden act and lets a harmless one pass\n", word, name)
		case p.Problem != "":
			fmt.Fprintf(s.out, "%s %s: %s\n", word, name, line(p.Problem))
		case !p.Stopped:
			fmt.Fprintf(s.out, "%s %s: a forbidden act passes\n", word, name)
		default:
			fmt.Fprintf(s.out, "%s %s: a harmless act is denied\n", word, name)
		}
		if p.Note != "" {
			fmt.Fprintf(s.out, "   %s\n", line(p.Note))
		}
	}
}

// prove tests each hook of a wall.
func prove(ctx context.Context, w *wallStatus, root string) []proof {
	var list []proof
	for _, h := range w.hooks {
		p := proof{Tool: w.Tool, Scope: w.Scope, Event: h.Event}
		switch {
		case len(w.Problems) > 0:
			p.Problem = strings.Join(w.Problems, "; ")
		case w.Tool == "git" || w.Tool == "pre-commit":
			p.staged(ctx, h, root)
		default:
			forbidden, harmless, ok := hook.Planted(w.Tool, h.Event, root)
			if !ok {
				continue // an event that stops nothing
			}
			p.asked(ctx, h, root, forbidden, harmless)
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		list = append(list, proof{Tool: w.Tool, Scope: w.Scope, Problem: strings.Join(append([]string{"no hook was found to test"}, w.Problems...), "; ")})
	}
	return list
}

// proofTime is the limit for one answer: that which tools give, and time to start.
const proofTime = 40 * time.Second

// ran holds the outputs and the exit code of a command line.
type ran struct {
	stdout, stderr string
	code           int
}

// runHook runs a command line as tools do: by the shell.
func runHook(ctx context.Context, command, dir string, stdin []byte, environ ...string) (ran, error) {
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // the command line that the settings hold
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(stdin), &stdout, &stderr
	cmd.Env = append(os.Environ(), environ...)
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	r := ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	if _, isExit := errors.AsType[*exec.ExitError](err); isExit && ctx.Err() == nil {
		err = nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("there was no answer within %s", proofTime)
	}
	return r, err
}

// asked tests the hook of an agent.
func (p *proof) asked(ctx context.Context, h settings.Hook, root string, forbidden, harmless hook.Call) {
	// The journal leaves these judgements out.
	mark := probeVar + "=" + word()
	bad, err := runHook(ctx, h.Command, root, forbidden.Payload, mark)
	if err != nil {
		p.Problem = err.Error()
		return
	}
	p.Stopped = hook.Result(p.Tool, bad.stdout, bad.stderr, bad.code) != hook.Allow
	good, err := runHook(ctx, h.Command, root, harmless.Payload, mark)
	if err != nil {
		p.Problem = err.Error()
		return
	}
	switch hook.Result(p.Tool, good.stdout, good.stderr, good.code) {
	case hook.Allow:
		p.Passed = true
	case hook.Ask:
		p.Passed = true
		p.Note = "the harmless act, " + harmless.Act + ", is asked about"
	case hook.Deny:
		p.Note = firstLine(good.stderr + good.stdout)
	}
	// A hook that stops everything because it does not work proves nothing.
	if !p.Passed && p.Stopped {
		p.Note = "the harmless act, " + harmless.Act + ", is answered: " + p.Note
	}
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// word is a word that nothing else has.
func word() string { return "tenet-planted-" + rand.Text() }

// staged tests a hook of git with a file that is staged in an index of its own.
func (p *proof) staged(ctx context.Context, h settings.Hook, root string) {
	dir, err := os.MkdirTemp("", "tenet-hook-test-")
	if err != nil {
		p.Problem = err.Error()
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	planted := word()
	for _, test := range []struct {
		text string
		ok   *bool
		want bool
	}{{planted + "\n", &p.Stopped, true}, {"hello\n", &p.Passed, false}} {
		environ, err := stage(ctx, root, dir, test.text)
		if err != nil {
			p.Problem = err.Error()
			return
		}
		got, err := runHook(ctx, h.Command, root, nil, append(environ, probeVar+"="+planted)...)
		if err != nil {
			p.Problem = err.Error()
			return
		}
		*test.ok = (got.code != 0) == test.want
		if !*test.ok && !test.want {
			p.Note = "a staged file of text is answered: " + firstLine(got.stderr+got.stdout)
		}
		if test.want && *test.ok && !strings.Contains(got.stderr+got.stdout, "planted by tenet hook test") {
			*test.ok = false
			p.Note = "it stops for another reason: " + firstLine(got.stderr+got.stdout)
		}
	}
}

// stage puts a file into an index and a store of objects below dir, and returns the variables by which git uses them.
func stage(ctx context.Context, root, dir, text string) ([]string, error) {
	objects, err := gitOutput(ctx, "rev-parse", "--git-path", "objects")
	if err != nil {
		return nil, err
	}
	store := filepath.Join(dir, "objects")
	if err := os.MkdirAll(store, 0o700); err != nil {
		return nil, err
	}
	environ := []string{
		"GIT_INDEX_FILE=" + filepath.Join(dir, "index"), "GIT_OBJECT_DIRECTORY=" + store,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + absolute(strings.TrimRight(objects, "\r\n")),
	}
	git := func(stdin string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // git with words of our own
		cmd.Dir, cmd.Env, cmd.Stdin = root, append(os.Environ(), environ...), strings.NewReader(stdin)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	if _, err := git("", "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		if _, err := git("", "read-tree", "HEAD"); err != nil {
			return nil, fmt.Errorf("git read-tree: %w", err)
		}
	}
	blob, err := git(text, "hash-object", "-w", "--stdin")
	if err != nil {
		return nil, fmt.Errorf("git hash-object: %w", err)
	}
	if _, err := git("", "update-index", "--add", "--cacheinfo", "100644,"+blob+",tenet-planted.txt"); err != nil {
		return nil, fmt.Errorf("git update-index: %w", err)
	}
	return environ, nil
}
