package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"tenet/internal/diff"
)

// objects reads contents: those that the repository holds, and those of the working tree as git would store them.
type objects struct {
	Repository

	// dir is a temporary folder for the contents of the working tree, which git must not keep; empty until it is needed.
	dir     string
	root    string // of the working tree
	environ []string
	found   map[*part]bool
}

// close removes the contents of the working tree again.
func (o *objects) close() {
	if o.dir != "" {
		_ = os.RemoveAll(o.dir) // a temporary folder; nothing depends on its removal
	}
}

// find sets the full name and the size of the new content of each part, or the reason why it cannot be read.
func (o *objects) find(ctx context.Context, parts []*part) error {
	if o.found == nil {
		o.found = map[*part]bool{}
	}
	var names strings.Builder
	var asked []*part
	for _, p := range parts {
		if o.found[p] {
			continue
		}
		o.found[p] = true
		if zeros(p.blob) {
			if err := o.store(ctx, p); err != nil {
				return err
			}
		}
		if p.unread == "" {
			names.WriteString(p.blob + "\n")
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	out, err := o.output(ctx, strings.NewReader(names.String()), o.environ, "cat-file", "--batch-check")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(asked) {
		return errors.New("git cat-file does not answer for every content that it was asked for")
	}
	for i, p := range asked {
		f := strings.Fields(lines[i])
		if len(f) != 3 || f[1] != "blob" || !strings.HasPrefix(f[0], p.blob) {
			p.unread = "the repository does not hold its content"
			continue
		}
		p.blob = f[0]
		if p.size, err = strconv.ParseInt(f[2], 10, 64); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
	}
	return nil
}

// zeros reports whether the name of a content means that git has none: the file is in the working tree.
func zeros(blob string) bool { return strings.Trim(blob, "0") == "" }

// store puts the file of a part, as it is in the working tree, into the temporary folder in the form in which git would store it,
// and sets its name.
func (o *objects) store(ctx context.Context, p *part) error {
	if o.dir == "" {
		if err := o.open(ctx); err != nil {
			return err
		}
	}
	info, err := os.Lstat(filepath.Join(o.root, filepath.FromSlash(p.path)))
	switch {
	case err != nil || !info.Mode().IsRegular():
		p.unread = "it is no file in the working tree"
		return nil
	case info.Size() > maxStored:
		p.unread = tooLarge(info.Size())
		return nil
	}
	at := Repository{Dir: o.root}
	name, err := at.output(ctx, nil, o.environ, "hash-object", "-w", "--", p.path)
	if err != nil {
		p.unread = "git cannot read it: " + err.Error()
		return nil //nolint:nilerr // Unread has the reason
	}
	p.blob = strings.TrimSpace(name)
	return nil
}

// maxStored bounds a file of the working tree that is stored for a moment, in bytes.
const maxStored = 64 << 20

func tooLarge(size int64) string {
	return fmt.Sprintf("it is too large to be examined as a whole (%.1f MiB)", float64(size)/(1<<20))
}

// open makes the temporary folder. Git looks there first, and then where the repository keeps its contents.
func (o *objects) open(ctx context.Context) error {
	answer, err := o.Output(ctx, "rev-parse", "--show-toplevel", "--git-path", "objects")
	if err != nil {
		return err
	}
	root, where, ok := strings.Cut(strings.TrimRight(answer, "\r\n"), "\n")
	if !ok {
		return fmt.Errorf("git rev-parse answers %q; the folder of the repository must not have line ends in its name", answer)
	}
	o.root = root
	if !filepath.IsAbs(where) {
		where = filepath.Join(o.Dir, where)
	}
	if where, err = filepath.Abs(where); err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp("", "tenet-git-"); err != nil {
		return err
	}
	others := strconv.Quote(where)
	if more := os.Getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES"); more != "" {
		others += string(os.PathListSeparator) + more
	}
	o.environ = []string{"GIT_OBJECT_DIRECTORY=" + o.dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + others}
	return nil
}

// read calls use with the new content of each part that is there and has at most limit bytes.
func (o *objects) read(ctx context.Context, parts []*part, limit int64, use func(p *part, content []byte)) error {
	if err := o.find(ctx, parts); err != nil {
		return err
	}
	var names strings.Builder
	var asked []*part
	for _, p := range parts {
		if p.unread == "" && p.size <= limit {
			names.WriteString(p.blob + "\n")
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, in := io.Pipe()
	defer func() { _ = out.Close() }() // ends git where this gives up
	go func() {
		_ = in.CloseWithError(o.run(ctx, strings.NewReader(names.String()), in, o.environ, "cat-file", "--batch"))
	}()
	lines := bufio.NewReader(out)
	for _, p := range asked {
		head, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading contents from git: %w", err)
		}
		if head != fmt.Sprintf("%s blob %d\n", p.blob, p.size) {
			return fmt.Errorf("git cat-file answers %.100q for %s", head, p.blob)
		}
		content := make([]byte, p.size+1) // with the line end that follows it
		if _, err := io.ReadFull(lines, content); err != nil {
			return fmt.Errorf("reading contents from git: %w", err)
		}
		use(p, content[:p.size:p.size])
	}
	return nil
}

// fetch reads the new contents of parts into a change, as far as they are within the bounds.
func (o *objects) fetch(ctx context.Context, c *Change, wanted []*part) error {
	if err := o.find(ctx, wanted); err != nil {
		return err
	}
	room := int64(MaxContents - len(c.Diff))
	var asked []*part
	for _, p := range wanted {
		clean, err := diff.CleanPath(p.path)
		switch {
		case p.unread != "":
		case err != nil || clean != p.path:
			p.unread = "a file of this name can only be given in a diff"
		case p.size > MaxContent:
			p.unread = tooLarge(p.size)
		case p.size > room:
			p.unread = "the contents of the change are too large to be examined together"
		default:
			room -= p.size
			asked = append(asked, p)
		}
		if p.unread != "" {
			c.Unread = append(c.Unread, Unread{strings.ToValidUTF8(p.path, string(utf8.RuneError)), p.unread})
		}
	}
	return o.read(ctx, asked, MaxContent, func(p *part, content []byte) {
		c.Files = append(c.Files, File{p.path, p.blob, bytes.Clone(content)})
	})
}

// Contents returns a diff from elsewhere with the new contents of the files that it does not show as a whole. Only contents that the diff
// names in its index lines and that the repository holds are read, never the working tree: a file of the same name may be another one.
// Outside a repository none are. The error says that a part of the diff cannot be decoded, in a form in which it cannot be left out.
func (r Repository) Contents(ctx context.Context, raw []byte) (*Change, error) {
	var whole strings.Builder
	for i, text := range split(string(raw)) {
		plain, ok := decoded(text)
		switch {
		case ok:
		case strings.HasPrefix(text, "diff --git "):
			plain = hidden(text)
		case i == 0 && !strings.Contains("\n"+text, "\n@@ "): // the text of a mail
			plain = strings.ToValidUTF8(text, string(utf8.RuneError))
		default:
			return nil, errors.New("the diff has lines in an encoding that Tenet cannot read; let git make the diff, or give the files with --file")
		}
		whole.WriteString(plain)
	}
	c := &Change{Diff: whole.String()}
	files, err := diff.Parse(c.Diff)
	if err != nil {
		return c, nil //nolint:nilerr // the evaluation reports the error, with the line
	}
	var wanted []*part
	for i := range files {
		f := &files[i]
		if f.Change != diff.Deleted && f.Unseen != "" && isName(f.NewBlob) && f.NewMode != submodule && f.NewMode != symlink {
			wanted = append(wanted, &part{entry: entry{path: f.Path, blob: f.NewBlob}})
		}
	}
	if len(wanted) == 0 {
		return c, nil
	}
	o := &objects{Repository: r, environ: []string{"GIT_NO_LAZY_FETCH=1"}}
	if err := o.fetch(ctx, c, wanted); err != nil {
		c.Files, c.Unread = nil, nil // not examined then, as the diff itself shows
	}
	return c, nil
}

// isName reports whether s is the name of a content: at least as many hexadecimal digits as git writes by default.
func isName(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == "" && !zeros(s)
}
