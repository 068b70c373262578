package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"tenet/internal/subject"
)

// maxFile is how many bytes a file may have before and after an edit.
const maxFile = 8 << 20

// file is one that an edit names.
type file struct {
	disk string // where it lies
	path string // as rules see it: from the root of its repository, with forward slashes
}

// place finds out where a file lies and how rules see it. Outside of a repository paths count from dir.
func place(dir, name string) file {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if absolute, err := filepath.Abs(name); err == nil {
		name = absolute
	}
	f := file{disk: name}
	root := Root(filepath.Dir(name))
	if root == "" {
		root = dir
	}
	if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
		f.path = filepath.ToSlash(rel)
		return f
	}
	f.path = strings.TrimLeft(filepath.ToSlash(name[len(filepath.VolumeName(name)):]), "/")
	return f
}

// Root is the folder of the repository that a folder, which need not exist, lies in; empty outside of one.
func Root(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// errNone is the error for a file that is not there.
var errNone = errors.New("there is no such file")

// read reads a file as it is on disk.
func (f file) read() (string, error) {
	info, err := os.Stat(f.disk)
	switch {
	case os.IsNotExist(err):
		return "", errNone
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %w", f.path, err)
	case !info.Mode().IsRegular(): // reading a pipe or a device could last for ever
		return "", fmt.Errorf("%s is not a regular file", f.path)
	}
	opened, err := os.Open(f.disk)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", f.path, err)
	}
	defer func() { _ = opened.Close() }() // opened for reading
	b, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", f.path, err)
	}
	if len(b) > maxFile {
		return "", f.tooLarge()
	}
	return string(b), nil
}

func (f file) tooLarge() error {
	return fmt.Errorf("%s has more than %d MiB, which is too much to judge", f.path, maxFile>>20)
}

// edit replaces text by other text.
type edit struct {
	old, new string
	all      bool
}

// readEdits reads the edits that a tool call lists, or the one that it is.
func readEdits(o object) ([]edit, error) {
	raw, ok := o["edits"]
	if !ok {
		e, err := readEdit(o)
		return []edit{e}, err
	}
	var list []object
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil, errors.New("edits is not a list of edits")
	}
	edits := make([]edit, len(list))
	for i, one := range list {
		var err error
		if edits[i], err = readEdit(one); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

func readEdit(o object) (e edit, err error) {
	var oldOK, newOK bool
	e.old, oldOK = o.text("old_string")
	e.new, newOK = o.text("new_string")
	if !oldOK || !newOK {
		return e, errors.New("the edit has no old_string and new_string")
	}
	if raw, ok := o["replace_all"]; ok && json.Unmarshal(raw, &e.all) != nil {
		return e, errors.New("replace_all is not true or false")
	}
	return e, nil
}

// apply makes edits one after the other; false if one does not fit the text. An empty old text stands for an empty file.
func apply(text string, edits []edit) (string, bool) {
	for _, e := range edits {
		switch {
		case e.old == "" && text == "":
			text = e.new
		case e.old == "" || !strings.Contains(text, e.old):
			return "", false
		case e.all:
			text = strings.ReplaceAll(text, e.old, e.new)
		default:
			text = strings.Replace(text, e.old, e.new, 1)
		}
		if len(text) > maxFile {
			return "", false
		}
	}
	return text, true
}

// undo takes edits back that were made one after the other; false where it is not certain what stood there.
func undo(text string, edits []edit) (string, bool) {
	for _, e := range slices.Backward(edits) {
		if e.all || e.new == "" || strings.Count(text, e.new) != 1 {
			return "", false
		}
		text = strings.Replace(text, e.new, e.old, 1)
	}
	return text, true
}

// write makes the question about a file that is to get a content.
func (q *Question) write(f file, content string) error {
	before, err := f.read()
	if errors.Is(err, errNone) {
		q.Files = []subject.InputFile{{Path: f.path, Content: &content}}
		return nil
	}
	if err != nil {
		return err
	}
	return q.change(f, before, content)
}

// edit makes the question about edits that are to be made. Where they do not fit the file on disk, the tool will refuse them;
// what they bring is judged all the same.
func (q *Question) edit(f file, edits []edit) error {
	before, err := f.read()
	if err != nil && !errors.Is(err, errNone) {
		return err
	}
	if after, ok := apply(before, edits); ok {
		if err != nil {
			q.Files = []subject.InputFile{{Path: f.path, Content: &after}}
			return nil
		}
		return q.change(f, before, after)
	}
	var brings strings.Builder
	for _, e := range edits {
		brings.WriteString(strings.TrimSuffix(e.new, "\n") + "\n")
	}
	q.fragment(f, brings.String())
	return nil
}

// made makes the question about a file that was changed from what it was before.
func (q *Question) made(f file, before string) error {
	after, err := f.read()
	if err != nil {
		return err
	}
	return q.change(f, before, after)
}

// whole makes the question about all that is in a file.
func (q *Question) whole(f file) error {
	content, err := f.read()
	if err != nil {
		return err
	}
	q.Files = []subject.InputFile{{Path: f.path, Content: &content}}
	q.Note = "what stood in the file before is not known, so all of it was judged"
	return nil
}

// fragment makes the question about text that goes somewhere into a file.
func (q *Question) fragment(f file, text string) {
	q.Files = []subject.InputFile{{Path: f.path, Content: &text}}
	q.Note = "line numbers count within the edit"
}

// change makes the question about a change of a file's text, as a diff with the lines of the file.
func (q *Question) change(f file, before, after string) error {
	switch {
	case len(after) > maxFile || len(before) > maxFile:
		return f.tooLarge()
	case strings.IndexByte(before, 0) >= 0 || strings.IndexByte(after, 0) >= 0:
		return fmt.Errorf("%s is not a text file", f.path)
	}
	before, after = strings.ToValidUTF8(before, "\uFFFD"), strings.ToValidUTF8(after, "\uFFFD")
	if before == after {
		q.Skip = true
		return nil
	}
	text := diff.Diff("old", []byte(before), "new", []byte(after))
	for range 3 { // its own heading, which would not survive every path
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	q.Diff = "--- " + quoted("a/"+f.path) + "\n+++ " + quoted("b/"+f.path) + "\n" + string(text)
	return nil
}

// quoted writes a path in the quoting of git, so that no character of it ends the line or the name.
func quoted(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
