package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
	"time"
)

// maxInput bounds what is read from git, stdin or a file, in bytes. The server has a limit of its own, which is lower.
const maxInput = 64 << 20

// gitTime bounds how long git may take.
const gitTime = 2 * time.Minute

// stagedDiff returns the changes of the next commit.
func stagedDiff(ctx context.Context) (string, error) {
	return gitDiff(ctx, "--cached", "--")
}

// baseDiff returns the changes since a commit: the staged ones, or else those of all commits since HEAD left it.
func baseDiff(ctx context.Context, base string, staged bool) (string, error) {
	if staged {
		return gitDiff(ctx, "--cached", base, "--")
	}
	return rangeDiff(ctx, base+"...HEAD")
}

// rangeDiff returns the output of `git diff` for a range or commit.
func rangeDiff(ctx context.Context, revisions string) (string, error) {
	if strings.HasPrefix(revisions, "-") || strings.ContainsAny(revisions, "\x00\n") {
		return "", fmt.Errorf("%q is not a git range; use one such as main..HEAD, or - for a diff on stdin", revisions)
	}
	// The closing -- keeps git from taking the range for a file name.
	diff, err := gitDiff(ctx, revisions, "--")
	if err != nil {
		return "", fmt.Errorf("cannot diff %q: %w", revisions, err)
	}
	return diff, nil
}

// repository returns the path of the remote origin, such as acme/payments; empty without one.
func repository(ctx context.Context) string { return repositoryOf(ctx, "") }

// repositoryOf is repository for a folder; an empty one is the current folder.
func repositoryOf(ctx context.Context, dir string) string {
	args := []string{"config", "--get", "remote.origin.url"}
	if dir != "" {
		args = append([]string{"-C", dir}, args...)
	}
	remote, err := git(ctx, args...)
	if err != nil {
		return ""
	}
	return repositoryName(strings.TrimSpace(remote))
}

// folderInRepository is where the current folder lies in its repository, such as src/; empty at its root or outside.
func folderInRepository(ctx context.Context) string {
	prefix, err := git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return ""
	}
	return strings.TrimRight(prefix, "\r\n")
}

// repositoryName takes the path out of a remote's address, without host, credentials and .git. Of an address in the file
// system it takes the last element: the rest says where somebody keeps it, not what it is.
func repositoryName(remote string) string {
	var name string
	host, after, scp := strings.Cut(remote, ":")
	scheme, address, isURL := strings.Cut(remote, "://")
	switch {
	case isURL && scheme != "file":
		// Text before an @ may be a password, in a malformed address as well.
		_, name, _ = strings.Cut(address[strings.LastIndex(address, "@")+1:], "/")
	case scp && !isURL && !strings.ContainsAny(host, `/\`) && len(host) > 1:
		name = after // user@host:path
	default:
		name = path.Base(strings.TrimRight(strings.ReplaceAll(remote, `\`, "/"), "/"))
	}
	name = strings.TrimSuffix(strings.Trim(name, "/"), ".git")
	if name == "." || name == ".." {
		return ""
	}
	return name
}

// git runs git and returns what it prints. Its error is the last line of what git says about it.
func git(ctx context.Context, args ...string) (string, error) {
	out := &bounded{limit: maxInput}
	err := gitInto(ctx, out, args...)
	if out.exceeded {
		return "", tooLarge("the diff")
	}
	if err != nil {
		return "", err
	}
	return out.String(), nil
}

// gitInto runs git and writes what it prints to w.
func gitInto(ctx context.Context, w io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-pager"}, args...)...)
	var complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &complaint
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("git is not installed; give the diff on stdin instead")
	case err != nil && complaint.Len() > 0:
		return errors.New(firstLine(complaint.String()))
	case err != nil:
		return fmt.Errorf("git: %w", err)
	}
	return nil
}

// firstLine is the first line of git's complaint, without its prefix.
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

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		b.exceeded = true
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}

func tooLarge(what string) error {
	return fmt.Errorf("%s has more than %d MiB; judge it in parts", what, maxInput>>20)
}
