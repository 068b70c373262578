package oracletest

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Modes of entries, as git writes them.
const (
	plainMode = "100644"
	execMode  = "100755"
	linkMode  = "120000"
	gitMode   = "160000"
)

// entry is a file, a symbolic link or a submodule. The data of a link is its target, that of a submodule the name of a commit.
type entry struct {
	mode string
	data string
}

// tree is the content of a repository, by path.
type tree map[string]entry

// paths returns the paths of a tree in order.
func (t tree) paths() []string { return slices.Sorted(maps.Keys(t)) }

// free reports whether a path can be added: no file lies at it, above it or below it.
func (t tree) free(path string) bool {
	for other := range t {
		if other == path || strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return false
		}
	}
	return true
}

// write puts a tree into an empty folder. A submodule is an empty folder.
func (t tree) write(dir string) error {
	for path, e := range t {
		to := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			return err
		}
		var err error
		switch e.mode {
		case gitMode:
			err = os.Mkdir(to, 0o750)
		case linkMode:
			err = os.Symlink(e.data, to)
		case execMode:
			err = os.WriteFile(to, []byte(e.data), 0o700) //nolint:gosec // the mode is the subject of the test
		default:
			err = os.WriteFile(to, []byte(e.data), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readTree reads the files and the links below a folder.
func readTree(dir string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			t[name] = entry{linkMode, target}
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := plainMode
		if info.Mode()&0o100 != 0 {
			mode = execMode
		}
		t[name] = entry{mode, string(data)}
		return nil
	})
	return t, err
}

// lines returns the lines of a file as a reader of any encoding sees their ASCII characters: UTF-16 and UTF-32 are ASCII with
// NULs between.
func (e entry) lines() []string {
	if e.mode == gitMode || isImage(e.data) {
		return nil
	}
	text := strings.NewReplacer("\x00", "", "\xEF\xBB\xBF", "", "\xFF\xFE", "", "\xFE\xFF", "").Replace(e.data)
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// image begins the real images that trees hold; no reader takes them for text.
var image = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")

func isImage(data string) bool { return bytes.HasPrefix([]byte(data), image) }
