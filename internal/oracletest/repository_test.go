package oracletest

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the names of objects in git
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is a bare repository of git. Its objects are written directly, which takes no process.
type repository struct {
	dir     string
	scratch string // for folders that patches are applied in
	n       int
	written map[string]bool
}

func newRepository(t testing.TB) *repository {
	t.Helper()
	base := t.TempDir()
	r := &repository{dir: filepath.Join(base, "repo.git"), scratch: filepath.Join(base, "scratch"), written: map[string]bool{}}
	for _, dir := range []string{r.dir + "/objects", r.dir + "/refs/heads", r.dir + "/info", r.scratch} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tbare = true\n\trepositoryformatversion = 0\n"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// folder returns a new empty folder.
func (r *repository) folder() (string, error) {
	r.n++
	dir := filepath.Join(r.scratch, fmt.Sprint(r.n))
	return dir, os.Mkdir(dir, 0o750)
}

// run runs a program in a folder without the user's configuration and returns its output. An exit code 1 of git diff and diff means
// that there are differences.
func (r *repository) run(dir, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.scratch, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + r.scratch, "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && (name == "diff" || slices.Contains(args, "--no-index")) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s %v: %w: %s", name, args, err, errs.String())
	}
	return out.String(), err
}

// git runs git in the repository.
func (r *repository) git(args ...string) (string, error) {
	return r.run(r.scratch, "", "git", append([]string{"--git-dir=" + r.dir}, args...)...)
}

// attributes sets the attributes of paths, in the form of .gitattributes.
func (r *repository) attributes(text string) error {
	return os.WriteFile(filepath.Join(r.dir, "info", "attributes"), []byte(text), 0o600)
}

// object writes an object and returns its name.
func (r *repository) object(kind, data string) (string, error) {
	raw := fmt.Sprintf("%s %d\x00%s", kind, len(data), data)
	sum := sha1.Sum([]byte(raw)) //nolint:gosec // the names of objects in git
	name := hex.EncodeToString(sum[:])
	if r.written[name] {
		return name, nil
	}
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write([]byte(raw)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	dir := filepath.Join(r.dir, "objects", name[:2])
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	r.written[name] = true
	return name, os.WriteFile(filepath.Join(dir, name[2:]), packed.Bytes(), 0o600)
}

// tree writes a tree and returns its name.
func (r *repository) tree(t tree) (string, error) {
	type item struct{ sortKey, mode, name, id string }
	var items []item
	folders := map[string]tree{}
	for path, e := range t {
		if first, rest, ok := strings.Cut(path, "/"); ok {
			if folders[first] == nil {
				folders[first] = tree{}
			}
			folders[first][rest] = e
			continue
		}
		id := e.data
		if e.mode != gitMode {
			var err error
			if id, err = r.object("blob", e.data); err != nil {
				return "", err
			}
		}
		items = append(items, item{path, e.mode, path, id})
	}
	for name, below := range folders {
		id, err := r.tree(below)
		if err != nil {
			return "", err
		}
		items = append(items, item{name + "/", "40000", name, id})
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.sortKey, b.sortKey) })
	var data strings.Builder
	for _, i := range items {
		id, err := hex.DecodeString(i.id)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&data, "%s %s\x00%s", i.mode, i.name, id)
	}
	return r.object("tree", data.String())
}

// commit writes a commit of a tree and returns its name.
func (r *repository) commit(t tree, message string, parents ...string) (string, error) {
	id, err := r.tree(t)
	if err != nil {
		return "", err
	}
	text := "tree " + id + "\n"
	for _, p := range parents {
		text += "parent " + p + "\n"
	}
	const who = "A U Thor <a@example.org> 1700000000 +0000\n"
	return r.object("commit", text+"author "+who+"committer "+who+"\n"+message+"\n")
}
