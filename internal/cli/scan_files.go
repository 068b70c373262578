package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/subject"
)

// maxScanFile bounds a file that is scanned, in bytes. What is larger is written by a program, not by a person.
const maxScanFile = 2 << 20

// leftOut is a file that is not scanned although it is of a kind that was asked for.
type leftOut struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// artifacts are the files of a folder that rules may be found in.
type artifacts struct {
	files    map[string]string
	left     []leftOut
	excluded exclude.Tally
	seen     int // files there are, of any kind
}

// gather reads the files below a folder, or in an archive, that one of the readers reads, without those that git ignores and those that the selection
// leaves out.
func gather(ctx context.Context, dir string, readers []source.Reader, wanted exclude.Selection) (*artifacts, error) {
	if isFile(dir) {
		return gatherArchive(ctx, dir, readers, wanted)
	}
	paths, err := listFiles(ctx, dir, !wanted.All && len(wanted.Include) == 0)
	if err != nil {
		return nil, err
	}
	filter, err := exclude.New(wanted, paths)
	if err != nil {
		return nil, err
	}
	a := &artifacts{files: map[string]string{}, seen: len(paths)}
	for _, name := range paths {
		if !slices.ContainsFunc(readers, func(r source.Reader) bool { return r.Reads(name) }) {
			continue
		}
		if reason := filter.Reason(name); reason != "" {
			a.excluded.Add(reason, name)
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text, reason := readArtifact(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case reason != "":
			a.left = append(a.left, leftOut{name, reason})
		case text != "":
			a.files[name] = text
		}
	}
	return a, nil
}

// readArtifact reads a file, or returns why it is left out. One that has gone, or is no plain file, is passed over.
func readArtifact(name string) (text, reason string) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "", ""
	}
	if info.Size() > maxScanFile {
		return "", fmt.Sprintf("it has %d KiB; files of at most %d KiB are scanned", info.Size()>>10, maxScanFile>>10)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", "it cannot be read"
	}
	return textOf(name, data)
}

// textOf returns the text of a file, or why it is left out.
func textOf(name string, data []byte) (text, reason string) {
	switch ext := strings.ToLower(path.Ext(name)); {
	case ext == ".pdf" || ext == ".docx":
		return "", "it is no text; use tenet documents upload, and then tenet documents extract"
	case bytes.IndexByte(data, 0) >= 0:
		return "", "it is no text"
	case !utf8.Valid(data):
		return strings.ToValidUTF8(string(data), "\ufffd"), ""
	}
	return string(data), ""
}

// listFiles lists the files below a folder by their path in it, with slashes, without those that git ignores: by git where the
// folder is of a repository, else by the .gitignore files there are. Prune passes over whole folders of other people's packages in the
// latter case.
func listFiles(ctx context.Context, dir string, prune bool) ([]string, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	// A repository may be a stranger's: its settings must start no program.
	list, err := gitOutput(ctx, "-C", dir, "-c", "core.quotepath=false", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return walkFiles(ctx, dir, prune)
	}
	paths := strings.Split(strings.TrimRight(list, "\x00"), "\x00")
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(p string) bool { return p == "" }), nil
}

// histories are folders of version control, and large those of other people's packages that may hold very many files.
var (
	histories = []string{".git", ".hg", ".svn"}
	large     = []string{"node_modules", "__pycache__", ".venv", ".tox"}
)

// walkFiles lists files without git.
func walkFiles(ctx context.Context, dir string, prune bool) ([]string, error) {
	var paths []string
	ignored := map[string][]ignore{} // by folder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel != "." && (ignores(ignored, rel, d.IsDir()) || d.IsDir() && (slices.Contains(histories, d.Name()) || prune && slices.Contains(large, d.Name()))) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			if data, err := os.ReadFile(filepath.Join(name, ".gitignore")); err == nil {
				ignored[rel] = parseIgnore(string(data))
			}
		} else if d.Type().IsRegular() {
			paths = append(paths, rel)
		}
		return nil
	})
	return paths, err
}

// ignore is a line of a .gitignore file.
type ignore struct {
	globs        subject.Globs
	folders, not bool
}

// parseIgnore reads a .gitignore file. Lines that cannot be understood ignore nothing.
func parseIgnore(text string) []ignore {
	var list []ignore
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, " \t\r\n")
		if l == "" || l[0] == '#' {
			continue
		}
		var one ignore
		l, one.not = strings.CutPrefix(l, "!")
		l, one.folders = strings.CutSuffix(l, "/")
		if strings.HasSuffix(l, "/**") { // what is in a folder, but not the folder
			l += "/*"
		}
		// Here braces are nothing special.
		globs, err := subject.CompileGlobs([]string{strings.NewReplacer("{", `\{`, "}", `\}`).Replace(l)})
		if err != nil {
			continue
		}
		one.globs = globs
		list = append(list, one)
	}
	return list
}

// ignores reports whether the .gitignore files of the folders above a file ignore it: the last line that matches, of the
// nearest folder, counts.
func ignores(ignored map[string][]ignore, rel string, isDir bool) bool {
	for folder := path.Dir(rel); ; folder = path.Dir(folder) {
		below := rel
		if folder != "." {
			below = strings.TrimPrefix(rel, folder+"/")
		}
		for _, one := range slices.Backward(ignored[folder]) {
			if (isDir || !one.folders) && one.globs.Match(below) {
				return !one.not
			}
		}
		if folder == "." {
			return false
		}
	}
}

// maxScanPart is how many bytes of JSON are sent in one scan, below the limit of a server's bodies.
const maxScanPart = 8 << 20

// parts divides files into scans that a server takes, in the order of their paths.
func (a *artifacts) parts() []map[string]string {
	var parts []map[string]string
	size := maxScanPart + 1
	for _, name := range sortedKeys(a.files) {
		n := jsonSize(name) + jsonSize(a.files[name])
		if size+n > maxScanPart || len(parts[len(parts)-1]) >= 10_000 {
			parts, size = append(parts, map[string]string{}), 0
		}
		parts[len(parts)-1][name] = a.files[name]
		size += n
	}
	return parts
}

// halves divides a part that was too large.
func halves(part map[string]string) []map[string]string {
	names := sortedKeys(part)
	out := []map[string]string{{}, {}}
	for i, name := range names {
		out[i*2/len(names)][name] = part[name]
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// jsonSize bounds the bytes of a text as JSON.
func jsonSize(text string) int {
	n := len(text) + 4
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < ' ' || c == '<' || c == '>' || c == '&':
			n += 5
		case c == 0xe2: // two line ends of Unicode are escaped
			n += 3
		}
	}
	return n
}
