package shell

import (
	"maps"
	"path"
	"slices"
)

// FS is the file system before a program runs. Names are absolute and clean. Its methods return an error that is fs.ErrNotExist
// where nothing has the name.
type FS interface {
	// Lstat returns what has a name; a link at its end is not followed.
	Lstat(name string) (Entry, error)
	// ReadFile returns the content of a regular file.
	ReadFile(name string) (string, error)
	// ReadDir returns the names in a folder.
	ReadDir(name string) ([]string, error)
}

// Kind is the kind of an entry of a file system.
type Kind int

// Kinds. Other is a pipe, a device or a socket.
const (
	Regular Kind = iota
	Folder
	Link
	Other
)

// Entry is an entry of a file system.
type Entry struct {
	Kind Kind
	// Target is the text of a link.
	Target string
	// Writable means that the user may change the file, or make and remove entries in the folder.
	Writable bool
	// Shared means that a regular file has other names (hard links).
	Shared bool
}

// Effect holds the files that a program changes.
type Effect struct {
	// Files are the entries that the program leaves other than it finds them, by path. If Unknown is not empty, they are those
	// that could be worked out.
	Files []File
	// Unknown says in words what could not be worked out. If it is empty, the program changes Files and nothing else.
	Unknown []string
}

// File is an entry of the file system that a program makes, changes or removes.
type File struct {
	// Path is absolute, and links in it are resolved.
	Path string
	// Names are other absolute names that the program has for it, through links.
	Names []string
	// Kind is Regular, Folder or Link; of an entry that is removed, what it was.
	Kind Kind
	// Before and After are the content, for a link the text of its target; nil if nothing has the name.
	Before, After *string
	// Earlier are contents that the file has for a while. They are kept if something is unknown, because the program may then leave
	// one of them.
	Earlier []string
	// Mode means that the program changes the permissions.
	Mode bool
}

// Bounds of an effect.
const (
	maxFileBytes  = 8 << 20  // of one file
	maxTreeBytes  = 32 << 20 // of all files and outputs together
	maxEntries    = 2000     // of the file system that a program touches
	maxReasons    = 20
	maxEarlier    = 20
	maxLoopTurns  = 1000
	maxReasonText = 80
)

// Effect works out which files the program changes if it begins in a folder with an absolute name. It runs nothing, and reads
// only what the program names. Whatever it does not understand is in Unknown: a program, an option, a variable of the
// environment, a pattern, a construct that shells read in several ways.
func (s Script) Effect(fsys FS, dir string) Effect {
	t := newTracer(fsys, s.dialect)
	if !path.IsAbs(dir) {
		t.unsure("the folder in which the program begins is not known")
		dir = "/"
	}
	t.tree.root = path.Clean(dir)
	t.dir = t.tree.root
	if _, n, err := t.tree.resolve(t.dir, true); err != nil || n == nil || n.kind != Folder {
		t.unsure("the folder in which the program begins is not there")
		t.tree.assume(t.dir)
	}
	if s.unsure != "" {
		t.unsure("%s", s.unsure)
	}
	t.stmts(s.stmts)
	return Effect{Files: t.tree.changes(len(t.reasons) > 0), Unknown: t.reasons}
}

// changes returns the entries that are other than before.
func (t *tree) changes(earlier bool) []File {
	var list []File
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		was, is := t.before[name], t.nodes[name]
		f := File{Path: name}
		if is != nil {
			f.Kind, f.After, f.Mode = is.kind, &is.text, is.mode
		} else if was != nil {
			f.Kind = was.kind
		}
		if was != nil {
			f.Before = &was.text
		}
		if is != nil && is.kind == Folder && is.guess {
			continue
		}
		if is != nil && is.guess && is.text == "" && len(t.earlier[name]) == 0 {
			continue // nothing of its content is known
		}
		if earlier {
			f.Earlier = t.earlier[name]
		}
		same := (was == nil) == (is == nil) && (was == nil || was.kind == is.kind && was.text == is.text)
		if same && !f.Mode && len(f.Earlier) == 0 {
			continue
		}
		f.Names = slices.Sorted(maps.Keys(t.names[name]))
		list = append(list, f)
	}
	return list
}
