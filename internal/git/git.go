// Package git reads changes and contents from a git repository. Neither the settings of the repository nor the attributes that the
// judged tree brings along hide a part of a change: what git shows as binary, as renamed or not at all is fetched as a whole.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxOutput bounds what is read from one run of git, in bytes.
const MaxOutput = 64 << 20

// maxTime bounds how long one run of git may take.
const maxTime = 2 * time.Minute

// Repository is the git repository around a folder. The zero value is that around the current folder.
type Repository struct {
	// Dir is the folder; empty for the current one.
	Dir string
}

// neutral are the settings under which git runs: no replaced objects or grafts, no names in escapes, no program that names the changed
// files, no writing to the index.
var neutral = []string{
	"--no-pager", "--no-replace-objects", "--no-optional-locks", "-c", "core.quotepath=false", "-c", "core.fsmonitor=false",
	"-c", "color.ui=false", "-c", "advice.graftFileDeprecated=false",
}

// steering are variables of the environment that change what git shows. Those that say where the repository and its index are stay:
// git sets them for its hooks.
var steering = []string{
	"GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_ATTR_SOURCE", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
	"GIT_ICASE_PATHSPECS", "GIT_REPLACE_REF_BASE", "GIT_TRACE", "GIT_TRACE_SETUP", "GIT_FLUSH", "GIT_DEFAULT_HASH",
}

// Output runs git and returns what it prints. The error is the first line of git's complaint.
func (r Repository) Output(ctx context.Context, args ...string) (string, error) {
	return r.output(ctx, nil, nil, args...)
}

// output is Output with an input and with variables on top of the environment.
func (r Repository) output(ctx context.Context, in io.Reader, environ []string, args ...string) (string, error) {
	out := &bounded{limit: MaxOutput}
	err := r.run(ctx, in, out, environ, args...)
	if out.exceeded {
		return "", fmt.Errorf("git prints more than %d MiB; judge it in parts", MaxOutput>>20)
	}
	if err != nil {
		return "", err
	}
	return out.String(), nil
}

func (r Repository) run(ctx context.Context, in io.Reader, out io.Writer, environ []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var at []string
	if r.Dir != "" {
		at = []string{"-C", r.Dir}
	}
	cmd := exec.CommandContext(ctx, "git", slices.Concat(at, neutral, args)...)
	cmd.Env = append(environment(os.Environ()), "GIT_GRAFT_FILE=/dev/null") // grafts give commits other parents, and so a range another base
	cmd.Env = append(cmd.Env, environ...)
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &complaint
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("git is not installed; give the diff on stdin instead")
	case err != nil && complaint.Len() > 0:
		return r.complain(ctx, complaint.String())
	case err != nil:
		return fmt.Errorf("git: %w", err)
	}
	return nil
}

// complain turns git's complaint into an error that says what to do where git does not.
func (r Repository) complain(ctx context.Context, complaint string) error {
	first := firstLine(complaint)
	lower := strings.ToLower(complaint)
	switch {
	case strings.Contains(lower, "not a git repository"), strings.Contains(lower, "git diff --no-index"):
		// Outside a repository, git takes its options for those of git diff --no-index.
		return errors.New("this folder is in no git repository; run the command in one, or give a diff on stdin")
	case strings.HasPrefix(first, "bad revision"), strings.Contains(first, "unknown revision"), strings.HasPrefix(first, "Invalid revision range"):
		var shallow bytes.Buffer
		if r.run(ctx, nil, &shallow, nil, "rev-parse", "--is-shallow-repository") == nil && strings.TrimSpace(shallow.String()) == "true" {
			return fmt.Errorf("%s; this clone is shallow and lacks older commits (git fetch --unshallow, or in CI fetch-depth: 0)", first)
		}
		return fmt.Errorf("%s; %s", first, r.advice(ctx, first))
	}
	return errors.New(first)
}

// revision finds the name in git's complaint about one.
var revision = regexp.MustCompile(`'([^']+)'`)

// advice says what to do about a revision that the repository does not have.
func (r Repository) advice(ctx context.Context, complaint string) string {
	if r.run(ctx, nil, io.Discard, nil, "rev-parse", "--verify", "--quiet", "HEAD") != nil {
		return "this repository has no commit yet: git add what is to be judged and use --staged, or give files with --file"
	}
	if m := revision.FindStringSubmatch(complaint); m != nil {
		switch info, err := os.Stat(filepath.Join(r.Dir, filepath.FromSlash(m[1]))); {
		case err != nil:
		case info.IsDir():
			return "it is no commit but a folder; judge the files in it, each with --file"
		default:
			return "it is no commit but a file; judge it with --file " + m[1]
		}
	}
	return "git branch --all and git tag list the names there are"
}

// environment returns the variables without those that steer git.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(steering, name)
	})
}

// firstLine returns the first line of git's complaint, without its prefix.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimPrefix(strings.TrimPrefix(s, "fatal: "), "error: ")
}

// bounded keeps what is written to it, and refuses more than its limit.
type bounded struct {
	bytes.Buffer

	limit    int
	exceeded bool
}

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		b.exceeded = true
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}
