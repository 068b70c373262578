package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tenet/internal/hook/settings"
)

// States of a wall.
const (
	wallStands  = "stands"
	wallBroken  = "broken"
	wallMissing = "missing"
)

// wallStatus is a place where a hook of Tenet may be set up.
type wallStatus struct {
	Tool  string `json:"tool"`
	Scope string `json:"scope"`
	File  string `json:"file"`
	State string `json:"state"`
	// Problems say why it is broken, Notes what makes it weaker than an installed one.
	Problems []string `json:"problems,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Program  string   `json:"program,omitempty"`
	Version  string   `json:"version,omitempty"`
	// Since is when the file was last changed.
	Since *time.Time `json:"since,omitempty"`
	// Last is the last judgement that the hooks of this tool made here; of a user's wall, anywhere.
	Last *judgement `json:"last,omitempty"`

	hooks []settings.Hook
}

// statusCommand is `tenet hook status`.
type statusCommand struct {
	output
}

func (statusCommand) Help() string {
	return `Lists the hooks of Tenet that stand here: for this repository and for the user, of each tool. For each it looks whether the program that
the settings call is there, and which version it is; since when the file is as it is; and what the hook judged last. Exit code 1 if one
that is set up is broken.

Examples:

    tenet hook status
    tenet hook status --format json`
}

func (k *statusCommand) Run(ctx context.Context, s *session) error {
	walls, err := allWalls(ctx, s)
	if err != nil {
		return err
	}
	if k.json() {
		err = printJSON(s.out, walls)
	} else {
		err = printWalls(s, walls)
	}
	if err == nil && slices.ContainsFunc(walls, func(w wallStatus) bool { return w.State == wallBroken }) {
		return exit(exitFound)
	}
	return err
}

func printWalls(s *session, walls []wallStatus) error {
	var rows [][]any
	var missing []string
	for i := range walls {
		w := &walls[i]
		if w.State == wallMissing {
			missing = append(missing, w.Tool+" ("+w.Scope+")")
			continue
		}
		last := "-"
		if w.Last != nil {
			last = fmt.Sprintf("%s %s", w.Last.Decision, w.Last.At.Local().Format(time.DateTime))
		}
		since := "-"
		if w.Since != nil {
			since = w.Since.Local().Format(time.DateTime)
		}
		rows = append(rows, []any{w.Tool, w.Scope, w.State, w.Version, since, last, line(w.File)})
	}
	if len(rows) == 0 {
		s.note("no wall stands here; set one up with tenet hook install")
	} else if err := s.table("TOOL\tSCOPE\tSTATE\tVERSION\tSINCE\tLAST\tFILE", rows); err != nil {
		return err
	}
	for i := range walls {
		for _, why := range walls[i].Problems {
			fmt.Fprintf(s.out, "%s (%s) is broken: %s\n", walls[i].Tool, walls[i].Scope, line(why))
		}
		for _, why := range walls[i].Notes {
			fmt.Fprintf(s.out, "%s (%s): %s\n", walls[i].Tool, walls[i].Scope, line(why))
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(s.out, "Not set up: %s.\n", strings.Join(missing, ", "))
	}
	return nil
}

// agentOrder lists the agents as they are shown.
var agentOrder = []string{"claude-code", "cursor", "codex", "gemini", "copilot", "windsurf"}

// allWalls returns all places where hooks may be set up, and what is there.
func allWalls(ctx context.Context, s *session) ([]wallStatus, error) {
	root, err := projectFolder(ctx)
	if err != nil {
		return nil, err
	}
	var walls []wallStatus
	last := journal(s.env)
	add := func(tool, scope, file string, look func(*wallStatus, []byte)) {
		w := wallStatus{Tool: tool, Scope: scope, File: file, State: wallMissing}
		if b, ok := w.read(); ok {
			look(&w, b)
			if w.State != wallMissing {
				w.programs(ctx, root)
			}
		}
		if len(w.Problems) > 0 {
			w.State = wallBroken
		}
		key := tool
		if scope != "user" && scope != "managed" {
			key += "\n" + root
		}
		if j, ok := last[key]; ok && w.State != wallMissing {
			w.Last = &j
		}
		walls = append(walls, w)
	}
	for _, tool := range agentOrder {
		t := agentTools[tool]
		look := func(w *wallStatus, b []byte) { w.agent(b) }
		if home := s.env("HOME"); home != "" {
			add(tool, "user", filepath.Join(home, filepath.FromSlash(t.user)), look)
		}
		add(tool, "project", filepath.Join(root, filepath.FromSlash(t.project)), look)
		if tool == "claude-code" {
			add(tool, "local", filepath.Join(root, ".claude", "settings.local.json"), look)
			add(tool, "managed", "/etc/claude-code/managed-settings.json", look)
		}
	}
	if path, err := gitOutput(ctx, "rev-parse", "--git-path", "hooks/pre-commit"); err == nil {
		path = absolute(strings.TrimRight(path, "\r\n"))
		add("git", "project", path, func(w *wallStatus, b []byte) { w.git(b, hookLine) })
		add("reference-transaction", "project", filepath.Join(filepath.Dir(path), "reference-transaction"), func(w *wallStatus, b []byte) { w.git(b, transactionLine) })
		add("pre-commit", "project", filepath.Join(root, ".pre-commit-config.yaml"), func(w *wallStatus, b []byte) { w.preCommit(b, path) })
	}
	turnedOff(walls, s.env("HOME"), root)
	return walls, nil
}

// read returns the file of a wall.
func (w *wallStatus) read() ([]byte, bool) {
	info, err := os.Stat(w.File)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, false
	}
	if err == nil && info.Size() > maxSettings {
		err = errors.New("it is too large for a file of settings")
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(w.File)
	}
	if err != nil {
		w.Problems = append(w.Problems, err.Error())
		return nil, false
	}
	since := info.ModTime().UTC().Truncate(time.Second)
	w.Since = &since
	return b, true
}

// agent looks at the settings of an agent.
func (w *wallStatus) agent(b []byte) {
	hooks, err := settings.Hooks(b)
	if err != nil {
		if bytes.Contains(b, []byte(" hook "+w.Tool)) {
			w.State = wallStands
			w.Problems = append(w.Problems, err.Error())
		}
		return
	}
	for _, h := range hooks {
		if h.Event != "" && strings.Contains(h.Command+" ", " hook "+w.Tool+" ") {
			w.hooks = append(w.hooks, h)
		}
	}
	if len(w.hooks) == 0 {
		return
	}
	w.State = wallStands
	for _, event := range askedEvents[w.Tool] {
		if !slices.ContainsFunc(w.hooks, func(h settings.Hook) bool { return strings.EqualFold(h.Event, event) }) {
			w.Notes = append(w.Notes, "its hook is missing at "+event)
		}
	}
	for _, h := range w.hooks {
		if h.Matcher != "" && h.Matcher != "*" && h.Matcher != ".*" && w.Tool != "cursor" {
			w.Notes = append(w.Notes, fmt.Sprintf("it asks about the tools %s alone", h.Matcher))
		}
		if w.Tool != "cursor" && !strings.HasSuffix(strings.TrimSpace(h.Command), "exit 2") {
			w.Notes = append(w.Notes, "a program that is missing lets everything pass; install it again")
		}
	}
	w.Notes = slices.Compact(w.Notes)
}

// askedEvents are the events at which an installed hook is asked before an act.
var askedEvents = map[string][]string{
	"claude-code": {"PreToolUse"}, "codex": {"PreToolUse"}, "gemini": {"BeforeTool"}, "copilot": {"preToolUse"},
	"cursor": {"beforeShellExecution", "beforeMCPExecution", "preToolUse"}, "windsurf": {"pre_run_command", "pre_write_code", "pre_mcp_tool_use"},
}

// hookLine is the line of Tenet in a hook of git, hookEntry the entry of pre-commit.
var (
	hookLine        = regexp.MustCompile(`(?m)^[ \t]*([^\n#]* hook git\b[^\n|;&]*?)(?:[ \t]*\|\|[^\n]*)?[ \t\r]*$`)
	transactionLine = regexp.MustCompile(`(?m)\|\|[ \t]*([^\n#|]* hook reference-transaction)\b`)
	hookEntry       = regexp.MustCompile(`\bentry:[ \t]*(?:'((?:[^'\n]|'')*)'|"([^"\n]*)"|([^,}\n'"]+))`)
)

// git looks at the hook of git.
func (w *wallStatus) git(b []byte, form *regexp.Regexp) {
	if !w.scripted(b, w.Tool, form) {
		return
	}
	if info, err := os.Stat(w.File); err == nil && info.Mode().Perm()&0o111 == 0 {
		w.Problems = append(w.Problems, "git does not run it: it is not executable")
	}
}

// preCommit looks at the settings of pre-commit, and at the hook of git that it installs.
func (w *wallStatus) preCommit(b []byte, hook string) {
	if !w.scripted(b, "pre-commit", hookEntry) {
		return
	}
	if script, err := os.ReadFile(hook); err != nil || !bytes.Contains(script, []byte("pre-commit")) {
		w.Problems = append(w.Problems, "git does not run it: pre-commit install has not been run")
	}
}

// scripted looks for the line of Tenet in a file of lines.
func (w *wallStatus) scripted(b []byte, tool string, form *regexp.Regexp) bool {
	for _, m := range form.FindAllSubmatch(b, -1) {
		command := strings.TrimSpace(string(bytes.Join(m[1:], nil)))
		if form == hookEntry {
			command = strings.ReplaceAll(command, "''", "'")
		}
		if settings.IsHook(command) && strings.Contains(command+" ", " hook "+tool+" ") {
			w.State, w.hooks = wallStands, append(w.hooks, settings.Hook{Event: tool, Command: command})
		}
	}
	return w.State == wallStands
}

// programs looks whether the programs that the hooks call are there, and which version they are.
func (w *wallStatus) programs(ctx context.Context, root string) {
	seen := map[string]bool{}
	for _, h := range w.hooks {
		program := settings.Program(h.Command)
		if seen[program] {
			continue
		}
		seen[program] = true
		path, err := exec.LookPath(program)
		if err != nil {
			w.Problems = append(w.Problems, fmt.Sprintf("the program %s is not there or cannot be run", program))
			continue
		}
		w.Program = path
		out, err := versionOf(ctx, path, root)
		if err != nil {
			w.Problems = append(w.Problems, fmt.Sprintf("the program %s does not answer: %v", program, err))
			continue
		}
		w.Version = out
	}
}

// versionTime is how long a program may take to print its version.
const versionTime = 5 * time.Second

func versionOf(ctx context.Context, program, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "version") //nolint:gosec // the program that the settings call
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 || fields[0] != "tenet" {
		return "", errors.New("it is not Tenet")
	}
	return fields[1], nil
}

// turnedOff marks the walls that another settings file turns off.
func turnedOff(walls []wallStatus, home, root string) {
	off := func(tool, file string) {
		b, err := os.ReadFile(file)
		if err != nil || len(b) > maxSettings {
			return
		}
		key := settings.Disabled(b)
		if strings.HasSuffix(file, ".toml") && regexp.MustCompile(`(?m)^\s*(features\.)?(codex_)?hooks\s*=\s*false`).Match(b) {
			key = "features.hooks"
		}
		if key == "" {
			return
		}
		for i := range walls {
			if w := &walls[i]; w.Tool == tool && w.State != wallMissing && w.Scope != "managed" {
				w.State = wallBroken
				w.Problems = append(w.Problems, fmt.Sprintf("%s in %s turns hooks off", key, file))
			}
		}
	}
	for _, folder := range []string{home, root} {
		if folder == "" {
			continue
		}
		for tool, names := range map[string][]string{
			"claude-code": {".claude/settings.json", ".claude/settings.local.json"}, "gemini": {".gemini/settings.json"}, "codex": {".codex/config.toml"},
			"copilot": {".github/copilot/settings.json", ".github/copilot/settings.local.json", ".copilot/settings.json"},
		} {
			for _, name := range names {
				off(tool, filepath.Join(folder, filepath.FromSlash(name)))
			}
		}
		if home == root {
			break
		}
	}
}
