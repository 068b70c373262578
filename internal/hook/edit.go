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

// maxFile is the most bytes of a file before and after an edit.
const maxFile = 8 << 20

// file is a file of an edit.
type file struct {
	disk string // its absolute name
	path string // its path for rules: from the root of its repository, with forward slashes
	real string // the same of the file that links lead to, if that is another; else empty
}

// place returns the file of a name that is absolute or below dir.
func place(dir, name string) file {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if absolute, err := filepath.Abs(name); err == nil {
		name = absolute
	}
	f := file{disk: name, path: rulePath(dir, name)}
	if real := rulePath(dir, follow(name)); real != f.path {
		f.real = real
	}
	return f
}

// rulePath returns the path of a file for rules. Outside of a repository paths count from dir.
func rulePath(dir, name string) string {
	root := Root(filepath.Dir(name))
	if root == "" {
		root = dir
	}
	if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return strings.TrimLeft(filepath.ToSlash(name[len(filepath.VolumeName(name)):]), "/")
}

// maxLinks bounds the links that follow resolves, as operating systems do.
const maxLinks = 40

// follow returns the name of a file with all links resolved, also of a file that does not exist yet.
func follow(name string) string {
	rest := ""
	for links := 0; links < maxLinks; {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			return filepath.Join(real, rest)
		}
		if target, err := os.Readlink(name); err == nil { // a link to a file that does not exist yet
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(name), target)
			}
			name = target
			links++
			continue
		}
		parent := filepath.Dir(name)
		if parent == name {
			break
		}
		name, rest = parent, filepath.Join(filepath.Base(name), rest)
	}
	return filepath.Join(name, rest)
}

// paths returns the paths of the file for rules: a rule for either applies.
func (f file) paths() []string {
	if f.real == "" {
		return []string{f.path}
	}
	return []string{f.path, f.real}
}

// files returns the file with its content, under each of its paths.
func (f file) files(content string) []subject.InputFile {
	var list []subject.InputFile
	for _, path := range f.paths() {
		list = append(list, subject.InputFile{Path: path, Content: &content})
	}
	return list
}

// Root returns the root of the repository of a folder, which need not exist; empty outside of one.
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

// errNone is the error for a file that does not exist.
var errNone = errors.New("the file does not exist")

// read returns the content of a file on disk.
func (f file) read() (string, error) {
	info, err := os.Stat(f.disk)
	switch {
	case os.IsNotExist(err):
		return "", errNone
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %w", f.path, err)
	case !info.Mode().IsRegular(): // reading a pipe or a device may never end
		return "", fmt.Errorf("%s is not a regular file", f.path)
	}
	opened, err := os.Open(f.disk)
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", f.path, err)
	}
	defer func() { _ = opened.Close() }() // only read
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

// readEdits returns the edits that a tool call lists, or its only one.
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

// apply makes edits one after the other; false if one does not fit the text. An empty old text means an empty file.
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

// undo reverts edits, the last first; false if the text before them is not certain.
func undo(text string, edits []edit) (string, bool) {
	for _, e := range slices.Backward(edits) {
		if e.all || e.new == "" || strings.Count(text, e.new) != 1 {
			return "", false
		}
		text = strings.Replace(text, e.new, e.old, 1)
	}
	return text, true
}

// write asks about a new content of a file.
func (q *Question) write(f file, content string) error {
	before, err := f.read()
	if errors.Is(err, errNone) {
		q.touches(f, nil, &content)
		q.Files = f.files(content)
		return nil
	}
	if err != nil {
		return err
	}
	return q.change(f, before, content)
}

// edit asks about edits of a file. Tools adapt them to the line ends of the file.
func (q *Question) edit(f file, edits []edit) error {
	before, err := f.read()
	if err != nil && !errors.Is(err, errNone) {
		return err
	}
	after, ok := apply(before, edits)
	if !ok {
		before = plainEnds.Replace(before)
		plain := make([]edit, len(edits))
		for i, e := range edits {
			plain[i] = edit{plainEnds.Replace(e.old), plainEnds.Replace(e.new), e.all}
		}
		after, ok = apply(before, plain)
	}
	switch {
	case !ok: // a less exact tool may accept it, with a result that only the tool knows
		return fmt.Errorf("the edit does not fit the text of %s, so its result is not certain", f.path)
	case err != nil:
		q.touches(f, nil, &after)
		q.Files = f.files(after)
		return nil
	}
	return q.change(f, before, after)
}

var plainEnds = strings.NewReplacer("\r\n", "\n")

// changed asks about a change of a file that the tool has made.
func (q *Question) changed(f file, before string) error {
	after, err := f.read()
	if err != nil {
		return err
	}
	return q.change(f, before, after)
}

// whole asks about the whole content of a file.
func (q *Question) whole(f file) error {
	content, err := f.read()
	if err != nil {
		return err
	}
	q.Files = f.files(content)
	q.Note = "the earlier content of the file is not known, so Tenet judged all of it"
	return nil
}

// fragment asks about a text in a file at an unknown place.
func (q *Question) fragment(f file, text string) {
	q.Files = f.files(text)
	q.Note = "line numbers count within the edit"
}

// change asks about a change of a file's text, as a diff with the lines of the file.
func (q *Question) change(f file, before, after string) error {
	q.touches(f, &before, &after)
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
	for _, path := range f.paths() {
		q.Diff += changeOf(path, before, after)
	}
	return nil
}

// changeOf returns the diff of a file that is there before and after.
func changeOf(path, before, after string) string {
	before, after = strings.ToValidUTF8(before, "\uFFFD"), strings.ToValidUTF8(after, "\uFFFD")
	hunks := diff.Diff("old", []byte(before), "new", []byte(after))
	for range 3 { // its own heading, which does not quote paths
		_, hunks, _ = bytes.Cut(hunks, []byte("\n"))
	}
	return "--- " + quoted("a/"+path) + "\n+++ " + quoted("b/"+path) + "\n" + string(hunks)
}

// deletion returns the diff of a file that is removed.
func deletion(path, before string) string {
	head := "diff --git " + quoted("a/"+path) + " " + quoted("b/"+path) + "\ndeleted file mode 100644\n"
	if before == "" {
		return head
	}
	change := changeOf(path, before, "")
	_, hunks, _ := strings.Cut(change, "\n")
	_, hunks, _ = strings.Cut(hunks, "\n")
	return head + "--- " + quoted("a/"+path) + "\n+++ /dev/null\n" + hunks
}

// quoted returns a path in the quoting of git, so that no character of it ends the line or the name.
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
