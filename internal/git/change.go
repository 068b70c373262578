package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tenet/internal/charset"
	"tenet/internal/diff"
)

// Change is a change as git shows it, with the contents that it does not show.
type Change struct {
	// Diff is the diff as UTF-8. Lines in another encoding are decoded; a file whose lines cannot be decoded is shown as binary.
	Diff string
	// Files hold the new contents of the files that Diff does not show as a whole, in its order.
	Files []File
	// Unread are the files that Diff does not show as a whole and whose contents are not in Files.
	Unread []Unread
}

// File is the content of a file.
type File struct {
	// Path counts from the root of the repository.
	Path string
	// Blob is the name of the content in git, in full.
	Blob    string
	Content []byte
}

// Unread names a file whose content was not read.
type Unread struct{ Path, Reason string }

// Bounds on contents, in bytes. Bodies that a server takes are bounded as well, to 10 MiB unless it is set up otherwise.
const (
	MaxContent  = 4 << 20 // one content
	MaxContents = 7 << 20 // all contents of a change together with its diff
)

// what is a change: revisions and options as git diff takes them, and the paths that it is limited to, as pathspecs.
type what struct{ revisions, paths []string }

// args returns the arguments of git diff.
func (w what) args(options ...string) []string {
	return slices.Concat([]string{"diff"}, shown, options, w.revisions, []string{"--"}, w.paths)
}

// shown makes git show everything in one form, whatever the settings, the attributes and .gitmodules say.
var shown = []string{
	"--patch", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "--no-relative", "--unified=3", "--inter-hunk-context=0",
	"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=dirty", "--diff-algorithm=default", "-O/dev/null",
}

// settled are settings of git diff without an option.
var settled = []string{"-c", "diff.suppressBlankEmpty=false", "-c", "diff.autoRefreshIndex=true", "-c", "diff.renameLimit=1000"}

// Diff returns the change that git diff shows for revisions, such as main...HEAD or --cached, limited to paths as pathspecs; without
// any, of the whole repository. A file that is renamed or copied is one file with its old path, whose content is among the files.
func (r Repository) Diff(ctx context.Context, revisions, paths []string) (*Change, error) {
	w := what{revisions, paths}
	out, err := r.Output(ctx, slices.Concat(settled, w.args("--raw", "--no-abbrev", "--find-renames"))...)
	if err != nil {
		return nil, err
	}
	entries, patch, err := readRaw(out)
	if err != nil {
		return nil, err
	}
	if slices.Contains(revisions, "--cached") {
		if err := r.hasIndex(ctx, entries); err != nil {
			return nil, err
		}
	}
	parts, err := match(entries, patch)
	if err != nil {
		return nil, err
	}
	o := &objects{Repository: r}
	defer o.close()
	if err := r.showTexts(ctx, o, w, parts); err != nil {
		return nil, err
	}
	var c Change
	var wanted []*part
	var whole strings.Builder
	for _, p := range parts {
		if text, ok := decoded(p.text); ok && strings.IndexByte(text, 0) < 0 {
			p.text = text
		} else {
			p.text, p.hidden = hidden(p.text), true
		}
		whole.WriteString(p.text)
		if p.incomplete() {
			wanted = append(wanted, p)
		}
	}
	c.Diff = whole.String()
	return &c, o.fetch(ctx, &c, wanted)
}

// hasIndex returns an error if entries come from an index that a bare repository does not have: git shows that as a change that deletes
// every file, while nothing is going to be committed there.
func (r Repository) hasIndex(ctx context.Context, entries []entry) error {
	if slices.ContainsFunc(entries, func(e entry) bool { return e.status != 'D' }) {
		return nil
	}
	out, err := r.Output(ctx, "rev-parse", "--is-bare-repository", "--git-path", "index")
	if err != nil {
		return err
	}
	bare, index, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	if bare != "true" {
		return nil
	}
	if !filepath.IsAbs(index) {
		index = filepath.Join(r.Dir, index)
	}
	if _, err := os.Stat(index); errors.Is(err, fs.ErrNotExist) {
		return errors.New("nothing can be staged in a bare repository; give the range of commits to be judged, such as main~1..main")
	}
	return nil
}

// entry is a line of git diff --raw.
type entry struct {
	mode         string // of the new side
	oldBlob      string
	blob         string // of the new side; zeros if it is in the working tree or deleted
	status       byte
	path         string
	oldMode, old string // old is the path before a rename or copy
}

const (
	submodule = "160000"
	symlink   = "120000"
)

// readRaw splits the output of git diff --raw --patch.
func readRaw(out string) (entries []entry, patch string, err error) {
	for strings.HasPrefix(out, ":") {
		line, rest, _ := strings.Cut(out, "\n")
		e, ok := readEntry(line)
		if !ok {
			return nil, "", fmt.Errorf("git lists a change in a form that Tenet cannot read: %.200q; give a range of two commits", line)
		}
		entries, out = append(entries, e), rest
	}
	return entries, strings.TrimPrefix(out, "\n"), nil
}

func readEntry(line string) (e entry, ok bool) {
	about, names, ok := strings.Cut(line, "\t")
	fields := strings.Fields(strings.TrimPrefix(about, ":"))
	if !ok || len(fields) != 5 || strings.HasPrefix(about, "::") {
		return e, false
	}
	e = entry{oldMode: fields[0], mode: fields[1], oldBlob: fields[2], blob: fields[3], status: fields[4][0]}
	first, second, two := strings.Cut(names, "\t")
	if e.path, ok = unquoted(first); ok && two {
		e.old = e.path
		e.path, ok = unquoted(second)
	}
	return e, ok
}

// unquoted reads a name that git writes in quotes if it must.
func unquoted(name string) (string, bool) {
	if !strings.HasPrefix(name, `"`) {
		return name, name != ""
	}
	plain, err := strconv.Unquote(name)
	return plain, err == nil
}

// part is the part of a diff that concerns one file.
type part struct {
	entry

	text   string
	hidden bool   // git shows no hunks of it, for it takes it for binary
	size   int64  // of the new content, in bytes; set by objects.find
	unread string // why the new content cannot be read; empty if it can
}

// header begins the part of a diff that concerns one file. No line of a hunk begins so.
const header = "diff --"

// split splits a diff by its files.
func split(diff string) []string {
	var parts []string
	from, at := 0, 0
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, header) {
			if at > from {
				parts = append(parts, diff[from:at])
			}
			from = at
		}
		at += len(line)
	}
	if at > from {
		parts = append(parts, diff[from:])
	}
	return parts
}

// match finds the entry of each part of a diff; both are in the same order. A file that becomes one of another kind, such as a
// symbolic link, has two parts.
func match(entries []entry, patch string) ([]*part, error) {
	texts := slices.DeleteFunc(split(withoutUnmerged(patch)), func(t string) bool { return strings.TrimSpace(t) == "" })
	var parts []*part
	for _, e := range entries {
		n := 1
		switch {
		case e.status == 'U' && !slices.ContainsFunc(entries, func(o entry) bool { return o.path == e.path && o.status != 'U' }):
			return nil, fmt.Errorf("%q is not merged; resolve the conflict first", e.path)
		case e.status == 'U':
			continue
		case e.status == 'T':
			n = 2
		}
		if len(texts) < n {
			return nil, fmt.Errorf("git diff names %q as changed and does not show it; give a range of two commits", e.path)
		}
		for _, text := range texts[:n] {
			p := &part{entry: e, text: text, hidden: isHidden(text)}
			if strings.Contains(before(text, "\n@@ "), "\ndeleted file mode ") {
				p.status = 'D'
			}
			parts = append(parts, p)
		}
		texts = texts[n:]
	}
	if len(texts) > 0 {
		return nil, errors.New("git diff shows files that it does not list; somebody is changing the repository")
	}
	return parts, nil
}

// withoutUnmerged takes out the lines that name files of a merge under way; the working tree's content follows them.
func withoutUnmerged(patch string) string {
	if !strings.Contains(patch, "* Unmerged path ") {
		return patch
	}
	var rest strings.Builder
	for line := range strings.Lines(patch) {
		if !strings.HasPrefix(line, "* Unmerged path ") {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

func before(s, sep string) string {
	head, _, _ := strings.Cut(s, sep)
	return head
}

// isHidden reports whether a part says only that its file is binary.
func isHidden(text string) bool {
	text = strings.TrimSuffix(text, "\n")
	return strings.HasPrefix(text[strings.LastIndexByte(text, '\n')+1:], "Binary files ")
}

// showTexts has git show as text the files that it takes for binary. What git takes for binary is up to the attributes of the judged
// tree, so a text could hide itself. The parts of files with a NUL character, or of more than maxShown bytes, stay as they are.
func (r Repository) showTexts(ctx context.Context, o *objects, w what, parts []*part) error {
	var binary []*part
	for _, p := range parts {
		if p.hidden && (p.status == 'M' || p.status == 'A') {
			binary = append(binary, p)
		}
	}
	texts := map[string]*part{}
	var paths []string
	err := o.read(ctx, binary, maxShown, func(p *part, content []byte) {
		if bytes.IndexByte(content, 0) < 0 {
			texts[p.path] = p
			paths = append(paths, ":(top,literal)"+p.path)
		}
	})
	for some := range slices.Chunk(paths, 200) {
		if err != nil {
			return err
		}
		var out string
		out, err = r.Output(ctx, slices.Concat(settled, what{w.revisions, some}.args("--text", "--no-renames", "--raw", "--no-abbrev"))...)
		if err != nil {
			return err
		}
		entries, patch, err := readRaw(out)
		if err != nil {
			return err
		}
		again, err := match(entries, patch)
		if err != nil {
			return err
		}
		for _, p := range again {
			if first := texts[p.path]; first != nil && first.status == p.status {
				first.text, first.hidden = p.text, p.hidden
			}
		}
	}
	return err
}

// maxShown bounds the files that git is asked to show as text although it takes them for binary, in bytes.
const maxShown = 8 << 20

// decoded returns a part of a diff as UTF-8. It returns false if a line cannot be decoded.
func decoded(text string) (string, bool) {
	if utf8.ValidString(text) {
		return text, true
	}
	if strings.IndexByte(text, 0) >= 0 {
		return "", false // maybe of two bytes a character; the whole content shows which
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !utf8.ValidString(line) {
			if line = charset.Line(line); strings.Contains(line, string(utf8.RuneError)) {
				return "", false
			}
		}
		out.WriteString(line)
	}
	return out.String(), true
}

// hidden returns a part of a diff in the form of git with the statement that its file is binary in place of its hunks.
func hidden(text string) string {
	head, rest, shown := strings.Cut(text, "\n--- ")
	if !shown {
		return strings.ToValidUTF8(text, string(utf8.RuneError))
	}
	old, rest, _ := strings.Cut(rest, "\n")
	now, _, _ := strings.Cut(strings.TrimPrefix(rest, "+++ "), "\n")
	text = fmt.Sprintf("%s\nBinary files %s and %s differ\n", head, strings.TrimRight(old, "\t\r"), strings.TrimRight(now, "\t\r"))
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

// incomplete reports whether a part does not show all that its file brings to its path.
func (p *part) incomplete() bool {
	if p.status == 'D' || p.mode == submodule || p.mode == symlink {
		return false
	}
	if p.hidden || p.status == 'R' || p.status == 'C' {
		return true
	}
	files, err := diff.Parse(p.text)
	return err != nil || len(files) != 1 || files[0].Unseen != "" || files[0].Binary || files[0].Missing
}
