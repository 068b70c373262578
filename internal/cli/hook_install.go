package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"tenet/internal/app"
	"tenet/internal/hook/settings"
	"tenet/internal/report"
)

// hookTarget are the tool and the place of its settings.
type hookTarget struct {
	Tool string `arg:"" enum:"claude-code,cursor,codex,gemini,copilot,windsurf,pre-commit,git,reference-transaction" help:"${enum}."`
	User bool   `help:"For all projects of this user: the settings in the home folder (agents only). Without it, those of the repository."`
	Yes  bool   `short:"y" help:"Do not ask."`

	Program string `placeholder:"PATH" help:"Program that the settings call; default is tenet where the PATH has it, else the one that runs. uninstall needs it for another one whose name does not begin with tenet."`
	output

	unchanged string // what to say of a file without a change, if it is more than that it is as it should be
}

type installCommand struct {
	hookTarget

	Fail string `placeholder:"MODES" help:"Fail modes to run the hook with, as tenet hook ... --fail takes them."`
}

func (installCommand) Help() string {
	return `Shows what it changes, asks, and changes it: .claude/settings.json, .cursor/hooks.json, .codex/hooks.json, .gemini/settings.json,
.github/hooks/tenet.json, .windsurf/hooks.json, .pre-commit-config.yaml or the pre-commit hook of git. Everything else in the file stays as it is, with its comments and its order; a file that is not understood is left alone. To
install again changes nothing, or brings the hook up to date.

--server, --project, --data and --config become part of the hook. A key does not: the hook takes it from TENET_KEY.

Examples:

    tenet hook install claude-code
    tenet hook install cursor --user --server https://tenet.example.com
    tenet hook install git --yes`
}

func (k *installCommand) Run(ctx context.Context, s *session) error {
	path, format, err := k.file(ctx, s)
	if err != nil {
		return err
	}
	command, err := k.command(s)
	if err != nil {
		return err
	}
	if err := k.change(s, path, func(old []byte) ([]byte, error) { return format.Add(old, command) }); err != nil {
		return err
	}
	if k.json() {
		return nil
	}
	if k.Tool != "reference-transaction" { // tenet hook test proves it with that of git
		s.note("see it stop a forbidden act: tenet hook test %s", k.Tool)
	}
	noteScratch(s)
	return nil
}

// noteScratch says what is missing where a hook would work without a server and without a database.
func noteScratch(s *session) {
	if s.globals.Server != "" || s.env("TENET_SERVER") != "" {
		return
	}
	if cfg, err := s.configure("", nil); err == nil && cfg.DatabaseURL == "" && cfg.Data == "" {
		if dir, err := app.DefaultData(s.env); err == nil && !hasData(dir) {
			s.note("there is no database yet: the starter packs judge, and what they decide is not kept; tenet rules apply FILE or tenet serve makes one")
		}
	}
}

type uninstallCommand struct{ hookTarget }

func (uninstallCommand) Help() string {
	return `Takes out what tenet hook install has put in, and leaves the rest of the file as it was. A file with nothing else in it is removed.

Example:

    tenet hook uninstall claude-code --yes`
}

func (k *uninstallCommand) Run(ctx context.Context, s *session) error {
	path, format, err := k.file(ctx, s)
	if err != nil {
		return err
	}
	program := k.Program
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return err
		}
	}
	k.unchanged = "has no hook of tenet, so there is nothing to take out"
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		k.unchanged = "does not exist, so there is no hook to take out"
	}
	return k.change(s, path, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		return format.Remove(old, program)
	})
}

// agentTool is where an agent keeps its hooks: below the root of a repository, and below the home folder.
type agentTool struct {
	project, user string
	format        settings.Format
}

// agentTools are the agents that have hooks.
var agentTools = map[string]agentTool{
	"claude-code": {".claude/settings.json", ".claude/settings.json", settings.Claude},
	"cursor":      {".cursor/hooks.json", ".cursor/hooks.json", settings.Cursor},
	"codex":       {".codex/hooks.json", ".codex/hooks.json", settings.Codex},
	"gemini":      {".gemini/settings.json", ".gemini/settings.json", settings.Gemini},
	"copilot":     {".github/hooks/tenet.json", ".copilot/hooks/tenet.json", settings.Copilot},
	"windsurf":    {".windsurf/hooks.json", ".codeium/windsurf/hooks.json", settings.Windsurf},
}

// file is where the tool keeps its hooks, and how.
func (k *hookTarget) file(ctx context.Context, s *session) (string, settings.Format, error) {
	base, err := projectFolder(ctx)
	if k.User {
		if base = s.env("HOME"); base == "" {
			err = errors.New("there is no home folder; HOME is not set")
		}
	}
	if err != nil {
		return "", settings.Format{}, err
	}
	if t, ok := agentTools[k.Tool]; ok {
		name := t.project
		if k.User {
			name = t.user
		}
		return filepath.Join(base, filepath.FromSlash(name)), t.format, nil
	}
	if k.User {
		return "", settings.Format{}, fmt.Errorf("%s has no settings of a user; go to a repository and leave --user out", k.Tool)
	}
	if k.Tool == "pre-commit" {
		return filepath.Join(base, ".pre-commit-config.yaml"), settings.PreCommit, nil
	}
	name, format := "hooks/pre-commit", settings.Git
	if k.Tool == "reference-transaction" {
		name, format = "hooks/reference-transaction", settings.Transaction
	}
	path, err := gitOutput(ctx, "rev-parse", "--git-path", name)
	return strings.TrimRight(path, "\r\n"), format, err
}

// projectFolder is the root of the repository, or the current folder outside of one.
func projectFolder(ctx context.Context) (string, error) {
	if root, err := gitOutput(ctx, "rev-parse", "--show-toplevel"); err == nil {
		return strings.TrimRight(root, "\r\n"), nil
	}
	return os.Getwd()
}

// command returns the command line that the settings call.
func (k *installCommand) command(s *session) (string, error) {
	program := k.Program
	if program == "" {
		program = "tenet"
		if _, err := exec.LookPath(program); err != nil {
			if program, err = os.Executable(); err != nil {
				return "", err
			}
		}
	}
	var err error
	data, config := s.globals.Data, s.globals.Config
	for _, path := range []*string{&data, &config} { // the tool calls the hook from wherever it is
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return "", err
			}
		}
	}
	words := []string{program}
	for _, f := range []struct{ flag, value string }{
		{"--server", s.globals.Server}, {"--project", s.globals.Project}, {"--data", data}, {"--config", config},
	} {
		if f.value != "" {
			words = append(words, f.flag, f.value)
		}
	}
	if s.globals.Key != "" || s.globals.DatabaseURL != "" {
		return "", errors.New("secrets do not belong into the settings of a tool; give the hook TENET_KEY or TENET_DATABASE_URL in its environment")
	}
	words = append(words, "hook", k.Tool)
	if k.Fail != "" {
		words = append(words, "--fail", k.Fail)
	}
	for i, w := range words {
		if strings.ContainsAny(w, "\x00\r\n") {
			return "", fmt.Errorf("%q cannot be part of a command", w)
		}
		words[i] = shellWord(w)
	}
	return strings.Join(words, " "), nil
}

// shellWord quotes a word for a POSIX shell where that is needed.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r))
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// maxSettings is how many bytes a settings file may have.
const maxSettings = 4 << 20

// change shows what an edit does to a file, asks, and writes it. A nil result removes the file.
func (k *hookTarget) change(s *session, path string, edit func([]byte) ([]byte, error)) error {
	var old []byte
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > maxSettings:
		return fmt.Errorf("%s is not a file of settings", path)
	default:
		if old, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	changed, err := edit(old)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(old, changed) {
		return noted(s, k.output, changedFile{path, false}, nil, func(f changedFile) string {
			return f.File + " " + cmp.Or(k.unchanged, "is as it should be; nothing to change")
		})
	}
	shown := s.out
	if k.json() {
		shown = s.err
	}
	for line := range strings.Lines(string(diff.Diff(path, old, path, changed))) {
		fmt.Fprintln(shown, report.Line(line, 400))
	}
	if !k.Yes && !isTerminal(s.stdin) {
		return errors.New("nothing was changed: there is no terminal to ask on; look at the change above, then give --yes")
	}
	if !k.Yes && !confirm(s, "Make this change?") {
		return errors.New("nothing was changed")
	}
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, old) {
		return fmt.Errorf("nothing was changed: %s has been changed meanwhile; try again", path)
	}
	if path, err = linked(path); err != nil {
		return err
	}
	if changed == nil {
		err = os.Remove(path)
	} else {
		err = k.write(path, changed, info)
	}
	return noted(s, k.output, changedFile{path, true}, err, func(f changedFile) string { return "done: " + f.File + " is changed" })
}

// changedFile is the JSON of a change to a file of settings.
type changedFile struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"`
}

// linked is the file that a link leads to, which is to be changed instead of the link. It need not be there.
func linked(path string) (string, error) {
	for range 40 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real, nil
		}
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s is a link that ends nowhere", path)
}

// write replaces a file as a whole and keeps its mode.
func (k *hookTarget) write(path string, content []byte, was os.FileInfo) error {
	mode := fs.FileMode(0o644)
	script := k.Tool == "git" || k.Tool == "reference-transaction"
	if script {
		mode = 0o755
	}
	if was != nil {
		mode = was.Mode().Perm()
		if script {
			mode |= 0o100
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tenet-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
