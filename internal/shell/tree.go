package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// node is a file, folder or link. Two names of one file after a move share it, as do open files.
type node struct {
	kind     Kind
	text     string // content of a file, target of a link
	guess    bool   // the text is not certain
	loaded   bool   // the text has been read
	readOnly bool
	shared   bool
	mode     bool // its permissions have been changed
}

// tree is a file system in memory over another one.
type tree struct {
	fs      FS
	root    string           // the folder in which the program begins
	nodes   map[string]*node // by real name, what has been looked at; nil for nothing
	before  map[string]*node // copies of what was there first
	earlier map[string][]string
	names   map[string]map[string]bool
	bytes   int
	// reads and writes are the names that have been looked at and changed since the last clearing; changed counts changes.
	reads, writes map[string]bool
	changed       int
	unsure        func(format string, args ...any)
}

func newTree(fsys FS, unsure func(string, ...any)) *tree {
	return &tree{
		fs: fsys, nodes: map[string]*node{}, before: map[string]*node{}, earlier: map[string][]string{}, names: map[string]map[string]bool{},
		reads: map[string]bool{}, writes: map[string]bool{}, unsure: unsure,
	}
}

// errUnsure is the error of a name that cannot be looked up; the reason is in the effect.
var errUnsure = errors.New("not known")

// lstat returns the node with a name whose folders are real; nil for nothing.
func (t *tree) lstat(name string) (*node, error) {
	t.reads[name] = true
	if n, ok := t.nodes[name]; ok {
		return n, nil
	}
	if len(t.nodes) >= maxEntries {
		t.unsure("the program names more than %d files", maxEntries)
		return nil, errUnsure
	}
	e, err := t.fs.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.nodes[name] = nil
		return nil, nil
	}
	if err != nil {
		t.unsure("%s cannot be read", name)
		return nil, errUnsure
	}
	n := &node{kind: e.Kind, readOnly: !e.Writable, shared: e.Shared}
	if e.Kind == Link {
		n.text, n.loaded = e.Target, true
	}
	t.nodes[name] = n
	was := *n
	t.before[name] = &was
	return n, nil
}

// load reads the content of a file.
func (t *tree) load(name string, n *node) error {
	if n.loaded || n.kind != Regular {
		n.loaded = true
		return nil
	}
	text, err := t.fs.ReadFile(name)
	if err != nil {
		t.unsure("%s cannot be read", name)
		return errUnsure
	}
	t.grow(len(text))
	n.text, n.loaded = text, true
	if was := t.before[name]; was != nil {
		was.text = text
	}
	return nil
}

func (t *tree) grow(n int) {
	if t.bytes += n; t.bytes > maxTreeBytes {
		t.unsure("the program handles more than %d MiB", maxTreeBytes>>20)
	}
}

// resolve returns the real name of an absolute name and what has it. Last means that a link at the end is followed too.
func (t *tree) resolve(name string, last bool) (string, *node, error) {
	const maxLinks = 20
	links := 0
	real := "/"
	parts := strings.Split(name, "/")
	var n *node
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		switch part {
		case "", ".":
			continue
		case "..":
			real, n = path.Dir(real), nil
			continue
		}
		if i > 0 && n != nil && n.kind != Folder {
			t.unsure("%s is no folder", real)
			return "", nil, errUnsure
		}
		next := path.Join(real, part)
		found, err := t.lstat(next)
		if err != nil {
			return "", nil, err
		}
		rest := hasMore(parts[i+1:])
		switch {
		case found == nil && rest:
			return "", nil, fs.ErrNotExist
		case found != nil && found.kind == Link && (rest || last || strings.HasSuffix(name, "/")):
			if links++; links > maxLinks || found.guess {
				t.unsure("%s leads through too many links", name)
				return "", nil, errUnsure
			}
			target := strings.Split(found.text, "/")
			if path.IsAbs(found.text) {
				real = "/"
			}
			parts = append(append([]string{}, target...), parts[i+1:]...)
			i, n = -1, nil
			continue
		}
		real, n = next, found
	}
	if n == nil {
		var err error
		if n, err = t.lstat(real); err != nil {
			return "", nil, err
		}
	}
	if strings.HasSuffix(name, "/") && n != nil && n.kind != Folder {
		t.unsure("%s is no folder", name)
		return "", nil, errUnsure
	}
	if clean := path.Clean(name); clean != real {
		if t.names[real] == nil {
			t.names[real] = map[string]bool{}
		}
		t.names[real][clean] = true
	}
	return real, n, nil
}

func hasMore(parts []string) bool {
	for _, p := range parts {
		if p != "" && p != "." {
			return true
		}
	}
	return false
}

// change notes that the entry with a real name is about to change. It reports whether that is certain to succeed.
func (t *tree) change(real string) {
	t.writes[real] = true
	t.changed++
	if strings.Contains(real+"/", "/.git/") {
		t.unsure("%s is a file of git itself", real)
	}
	if n := t.nodes[real]; n != nil && n.kind == Regular && n.loaded && len(t.earlier[real]) < maxEarlier {
		if was := t.before[real]; (was == nil || was.text != n.text) && n.text != "" {
			list := t.earlier[real]
			if len(list) == 0 || list[len(list)-1] != n.text {
				t.earlier[real] = append(list, n.text)
			}
		}
	}
}

// inside reports whether a real name is below the folder in which the program begins, where changes are certain to succeed.
func (t *tree) inside(real string) bool {
	return strings.HasPrefix(real, strings.TrimSuffix(t.root, "/")+"/")
}

// parent returns an error unless entries can be made in and removed from the folder of a real name.
func (t *tree) parent(real string) error {
	dir := path.Dir(real)
	n, err := t.lstat(dir)
	if err != nil {
		return err
	}
	switch {
	case n == nil:
		return fs.ErrNotExist
	case n.kind != Folder:
		return fmt.Errorf("%s is no folder", dir)
	case n.readOnly:
		return fmt.Errorf("%s cannot be written", dir)
	}
	return nil
}

// file returns the regular file with a name for writing, and makes it if need be.
func (t *tree) file(name string) (string, *node, error) {
	real, n, err := t.resolve(name, true)
	if errors.Is(err, fs.ErrNotExist) {
		t.unsure("the folder of %s is not there", name)
		t.assume(path.Dir(path.Clean(name)))
		real, n, err = t.resolve(name, true)
	}
	switch {
	case err != nil:
		return "", nil, err
	case strings.HasSuffix(name, "/"):
		return "", nil, fmt.Errorf("%s is a folder", name)
	case n == nil:
		if err := t.parent(real); err != nil {
			return "", nil, err
		}
		t.change(real)
		n = &node{kind: Regular, loaded: true}
		t.nodes[real] = n
		return real, n, nil
	case n.kind != Regular:
		return "", nil, fmt.Errorf("%s is no regular file", name)
	case n.readOnly:
		return "", nil, fmt.Errorf("%s cannot be written", name)
	case n.shared:
		return "", nil, fmt.Errorf("%s has another name", name)
	}
	return real, n, t.load(real, n)
}

// assume takes the folders of a name for given, which something that is not followed may have made.
func (t *tree) assume(name string) {
	for i := 1; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if real, n, err := t.resolve(name[:i], true); err == nil && n == nil {
			t.nodes[real] = &node{kind: Folder, loaded: true, guess: true}
		}
	}
}

// put replaces the content of a file.
func (t *tree) put(real string, n *node, text string) {
	t.change(real)
	if len(text) > maxFileBytes {
		t.unsure("%s becomes larger than %d MiB", real, maxFileBytes>>20)
		text, n.guess = text[:maxFileBytes], true
	}
	t.grow(len(text))
	n.text, n.loaded = text, true
}

// children returns the real names of the entries below a folder, deepest last.
func (t *tree) children(real string) ([]string, error) {
	var list []string
	seen := map[string]bool{}
	if t.before[real] != nil && t.before[real].kind == Folder {
		names, err := t.fs.ReadDir(real)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.unsure("%s cannot be read", real)
			return nil, errUnsure
		}
		for _, name := range names {
			seen[path.Join(real, name)] = true
			list = append(list, path.Join(real, name))
		}
	}
	for name := range t.nodes {
		if path.Dir(name) == real && name != real && !seen[name] {
			list = append(list, name)
		}
	}
	var all []string
	for _, name := range list {
		n, err := t.lstat(name)
		if err != nil {
			return nil, err
		}
		if n == nil {
			continue
		}
		all = append(all, name)
		if n.kind == Folder {
			below, err := t.children(name)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// remove removes an entry, and all below it.
func (t *tree) remove(real string) error {
	n, err := t.lstat(real)
	if err != nil {
		return err
	}
	list := []string{real}
	if n != nil && n.kind == Folder {
		below, err := t.children(real)
		if err != nil {
			return err
		}
		list = append(list, below...)
	}
	for _, name := range list {
		if err := t.parent(name); err != nil {
			return err
		}
		n := t.nodes[name]
		if n != nil {
			if err := t.load(name, n); err != nil {
				return err
			}
		}
	}
	for _, name := range list {
		t.change(name)
		t.nodes[name] = nil
	}
	return nil
}

// move gives an entry, and all below it, another name that is free or a file.
func (t *tree) move(from, to string) error {
	list := []string{from}
	if t.nodes[from].kind == Folder {
		below, err := t.children(from)
		if err != nil {
			return err
		}
		list = append(list, below...)
	}
	for _, name := range list {
		if err := t.load(name, t.nodes[name]); err != nil {
			return err
		}
		target := to + strings.TrimPrefix(name, from)
		if _, err := t.lstat(target); err != nil {
			return err
		}
		if n := t.nodes[target]; n != nil {
			if err := t.load(target, n); err != nil {
				return err
			}
		}
	}
	for _, name := range list {
		target := to + strings.TrimPrefix(name, from)
		t.change(name)
		t.change(target)
		t.nodes[target], t.nodes[name] = t.nodes[name], nil
	}
	return nil
}
