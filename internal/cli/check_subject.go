package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tenet/internal/git"
	"tenet/internal/subject"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// checkSubject holds the subject of `tenet check`.
type checkSubject struct {
	change

	action     string
	facts      json.RawMessage
	repository string
}

func (c *checkSubject) empty() bool { return c.change.empty() && c.facts == nil && c.action == "" }

// subject gathers what is to be judged.
func (k *checkCommand) subject(ctx context.Context, s *session) (*checkSubject, error) {
	c := &checkSubject{action: k.Action, repository: k.Repository}
	var err error
	if k.Facts != "" {
		within, cancel := context.WithTimeout(ctx, k.Timeout)
		defer cancel()
		if c.facts, err = readFacts(within, k.Facts, s.in); err != nil {
			if ctx.Err() == nil && within.Err() != nil {
				err = fmt.Errorf("nothing came from %s within %s; see --timeout", k.Facts, k.Timeout)
			}
			return nil, err
		}
	}
	if err := c.read(ctx, s, k.File); err != nil {
		return nil, err
	}
	shown, err := k.diff(ctx, s)
	if err != nil {
		return nil, err
	}
	shown.tellUnread(s)
	c.add(shown)
	if c.repository == "" && (c.diff != "" || len(c.files) > 0) {
		c.repository = repository(ctx)
	}
	return c, nil
}

// read reads whole files. Like those of a diff, their paths count from the root of the repository.
func (c *checkSubject) read(ctx context.Context, s *session, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	folder := folderInRepository(ctx)
	var behind []wire.InputFile // files behind links
	for _, name := range paths {
		f, err := readWhole(ctx, name)
		if err != nil {
			return err
		}
		if f.Path, err = belowRoot(folder, name); err != nil {
			return err
		}
		if whole, err := subject.Build(wire.RecordedSubject{Files: []wire.InputFile{f}}); err == nil && whole.Files[0].Unseen != "" {
			s.note("%s is not examined: %s", name, whole.Files[0].Unseen)
		}
		c.files = append(c.files, f)
		if real, ok := realPath(folder, name); ok && real != f.Path {
			f.Path = real // so that rules for it apply as well
			behind = append(behind, f)
		}
	}
	for _, f := range behind {
		if !slices.ContainsFunc(c.files, func(given wire.InputFile) bool { return given.Path == f.Path }) {
			c.files = append(c.files, f)
		}
	}
	return nil
}

// realPath returns the path of a file behind links, counted from the root of the repository of which the current folder is a folder;
// false if it is not below the root.
func realPath(folder, name string) (string, bool) {
	here, err := filepath.Abs(".")
	if err != nil {
		return "", false
	}
	if here, err = filepath.EvalSymlinks(here); err != nil {
		return "", false
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", false
	}
	if !filepath.IsAbs(real) {
		real = filepath.Join(here, real)
	}
	rel, err := filepath.Rel(here, real)
	if err != nil {
		return "", false
	}
	joined := path.Join(folder, filepath.ToSlash(rel))
	return joined, filepath.IsLocal(joined)
}

// diff takes the diff from where the flags say, and from stdin if they say nothing.
func (k *checkCommand) diff(ctx context.Context, s *session) (*change, error) {
	switch k.origin(s) {
	case fromBase:
		return baseChange(ctx, k.Base, k.Staged)
	case fromIndex:
		return stagedChange(ctx)
	case fromRange:
		c, err := rangeChange(ctx, k.Range)
		if err == nil && !strings.Contains(k.Range, "..") && !strings.Contains(k.Range, "^") { // the working tree against a commit
			noteUntracked(ctx, s)
		}
		return c, err
	case fromNowhere:
		return &change{}, nil
	case fromHead:
		c, err := rangeChange(ctx, "HEAD")
		if err != nil {
			return nil, fmt.Errorf("%w\nGive a diff on stdin, a git range, --staged, --file, --facts or --action", err)
		}
		s.note("judging what has changed since HEAD")
		noteUntracked(ctx, s)
		return c, nil
	default:
		b, err := readAll(s.in, "the diff")
		if err != nil {
			return nil, err
		}
		return givenChange(ctx, b)
	}
}

// untrackedTime bounds how long a check counts the files that git does not track.
const untrackedTime = 2 * time.Second

// noteUntracked notes how many files the change since a commit lacks because git does not track them yet.
func noteUntracked(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(ctx, untrackedTime)
	defer cancel()
	if n, err := (git.Repository{}).Untracked(ctx); err == nil && n > 0 {
		s.note("%s that git does not track, not judged; git add -N PATH makes one part of the change", text.Plural(n, "path"))
	}
}

// origin says where a diff comes from.
type origin int

const (
	fromStdin origin = iota
	fromBase         // what HEAD, or the index, has changed since --base
	fromIndex        // --staged
	fromRange
	fromHead    // the working tree, on a terminal
	fromNowhere // only files, facts or an action are given
)

// origin returns where the flags say that the diff comes from.
func (k *checkCommand) origin(s *session) origin {
	switch {
	case k.Base != "":
		return fromBase
	case k.Staged:
		return fromIndex
	case k.Range != "" && k.Range != "-":
		return fromRange
	case k.Range == "" && (k.Facts != "" || k.Action != "" || len(k.File) > 0):
		return fromNowhere
	case k.Range == "" && isTerminal(s.stdin):
		return fromHead
	}
	return fromStdin
}

// whyEmpty says why there is nothing to judge. An empty diff from a pipe is an error unless the caller means it, and so is a range from a
// commit to itself.
func (k *checkCommand) whyEmpty(ctx context.Context, s *session) (string, error) {
	switch k.origin(s) {
	case fromBase:
		return "nothing has changed since " + k.Base, nil
	case fromIndex:
		return "nothing is staged", nil
	case fromRange:
		if !k.AllowEmpty && oneCommit(ctx, k.Range) {
			return "", fmt.Errorf("both ends of %s are the same commit, so nothing was judged. A variable of the command may be wrong, or the clone lacks history "+
				"(in CI: fetch-depth: 0). Give another range; or --allow-empty if an empty one is meant", k.Range)
		}
		return "nothing has changed in " + k.Range, nil
	case fromHead:
		return "nothing has changed since HEAD", nil
	default:
		if !k.AllowEmpty {
			return "", errors.New("stdin holds no diff, so nothing was judged. The command before the pipe may have failed: " +
				"set -o pipefail, and in CI fetch the base (fetch-depth: 0). " +
				"Name the change instead, by --base, --staged or a range; or give --allow-empty if an empty diff is meant")
		}
		return "the diff is empty", nil
	}
}

// oneCommit reports whether both ends of a range are the same commit.
func oneCommit(ctx context.Context, revisions string) bool {
	from, to, two := strings.Cut(revisions, "..")
	if !two {
		return false
	}
	var repository git.Repository
	old, errOld := repository.Commit(ctx, cmp.Or(from, "HEAD"))
	now, errNow := repository.Commit(ctx, cmp.Or(strings.TrimPrefix(to, "."), "HEAD"))
	return errOld == nil && errNow == nil && old == now
}

// readAll reads up to maxInput bytes.
func readAll(r io.Reader, what string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	if len(b) > maxInput {
		return nil, tooLarge(what)
	}
	return b, nil
}

// readPath reads a file, or stdin for -. A pipe that nobody writes to is waited for until the context ends.
func readPath(ctx context.Context, path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return readAll(stdin, "stdin")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; name a file", path)
	}
	f := &opened{path: path}
	defer f.close()
	if info.Mode().IsRegular() {
		return readAll(f, path)
	}
	return readAll(interruptible{ctx, f}, path)
}

// opened is a file that is opened when it is first read, since to open a pipe waits for its writer.
type opened struct {
	path string
	mu   sync.Mutex
	file *os.File
	err  error
}

// Read implements [io.Reader].
func (o *opened) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil && o.err == nil {
		o.file, o.err = os.Open(o.path)
	}
	if o.err != nil {
		return 0, o.err
	}
	return o.file.Read(p)
}

// close closes the file unless somebody still waits for it: that ends with the program.
func (o *opened) close() {
	if o.mu.TryLock() {
		defer o.mu.Unlock()
		if o.file != nil {
			_ = o.file.Close() // opened for reading
		}
	}
}

// readFacts reads a JSON object, given as it is or as the name of a file. It is passed on as it is, so that no number loses digits.
func readFacts(ctx context.Context, given string, stdin io.Reader) (json.RawMessage, error) {
	b, from := []byte(given), "--facts"
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if b, err = readPath(ctx, given, stdin); err != nil {
			return nil, err
		}
		from = given
	}
	b = bytes.TrimSpace(b)
	if !json.Valid(b) {
		var v any
		return nil, fmt.Errorf("the facts in %s are not JSON: %w", from, json.Unmarshal(b, &v))
	}
	if b[0] != '{' {
		return nil, fmt.Errorf(`the facts in %s are not a JSON object such as {"amount": 1200}`, from)
	}
	return b, nil
}

// readWhole reads a file to judge as a whole.
func readWhole(ctx context.Context, name string) (wire.InputFile, error) {
	f := wire.InputFile{Path: filepath.ToSlash(filepath.Clean(name))}
	if name == "-" {
		return f, errors.New("--file takes the path of a file; a diff is read from stdin without it")
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return f, fmt.Errorf("%s is no plain file, so its content may change or never end; save it as one", name)
	}
	b, err := readPath(ctx, name, nil)
	if err != nil {
		return f, err
	}
	f = inputFile(f.Path, b)
	return f, nil
}

// inputFile makes a file of a request. Bytes that are not UTF-8 go as base64, as they are.
func inputFile(path string, b []byte) wire.InputFile {
	if utf8.Valid(b) {
		content := string(b)
		return wire.InputFile{Path: path, Content: &content}
	}
	encoded := base64.StdEncoding.EncodeToString(b)
	return wire.InputFile{Path: path, ContentBase64: &encoded}
}

// belowRoot returns the path of a file from the root of the repository of which the current folder is a folder, or from the current folder
// outside of repositories: rules match such paths. A file elsewhere is an error.
func belowRoot(folder, name string) (string, error) {
	rel := name
	if filepath.IsAbs(name) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		if rel, err = filepath.Rel(here, name); err != nil {
			rel = name // on another drive
		}
	}
	if joined := path.Join(folder, filepath.ToSlash(rel)); filepath.IsLocal(joined) {
		return joined, nil
	}
	if real, ok := realPath(folder, name); ok {
		return real, nil // the name of the current folder, or of the file, has links in it
	}
	return "", fmt.Errorf("%s is outside of the current folder and its repository, and rules match paths from there; "+
		"go to the folder of its project, and name it from there", name)
}
