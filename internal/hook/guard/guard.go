// Package guard finds what would take Tenet's own walls out: its hooks in the settings of tools, its rules and settings, its program, its
// server, and the ways around a hook of git. It looks at acts before they happen, whatever rules a project has, and errs on the side of
// asking. Acts are hostile: nothing in them changes how they are read.
package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tenet/internal/hook/settings"
	"tenet/internal/shell"
)

// Act is an intended command, edit or call of a tool.
type Act struct {
	// Command is a shell program. Text is one in another language, or words that could be one.
	Command, Text string
	// Unread names something whose arguments were not all looked at.
	Unread string
	// Effect are the files that Command leaves; nil if they were not worked out.
	Effect *shell.Effect
	// Path is a file that the tool writes, edits or removes: absolute, or as it counts from Dir.
	Path string
	// Before and After are the contents of that file, nil if it is missing. Certain means that both are known.
	Before, After *string
	Certain       bool
	// Dir is the folder in which the act happens.
	Dir string
}

// Guard knows where Tenet's parts are.
type Guard struct {
	// Home is the home folder; empty if it is not known.
	Home string
	// Programs are absolute paths of Tenet's program.
	Programs []string
	// Path are the folders in which programs are looked for.
	Path []string
	// Files are further files and folders, absolute: the settings file that is in use, the folder of the database.
	Files []string
	// Servers are the addresses of Tenet's server, as host:port.
	Servers []string
}

// maxFindings is the most findings of an act.
const maxFindings = 10

// Judge returns in words what the acts would take out, each once; nothing if they leave all walls as they are.
func (g *Guard) Judge(acts []Act) []string {
	var list []string
	for i := range acts {
		for _, found := range g.judge(&acts[i]) {
			if len(list) < maxFindings && !slices.Contains(list, found) {
				list = append(list, found)
			}
		}
	}
	return list
}

func (g *Guard) judge(a *Act) []string {
	v := &visit{Guard: g, act: a, dir: a.Dir}
	if v.dir == "" {
		v.dir = "/"
	}
	switch {
	case a.Unread != "":
		v.add("it is %s, which may name anything", show(a.Unread))
	case a.Path != "":
		v.file(a.Path, a.Before, a.After, a.Certain)
	case a.Command != "":
		v.program(a.Command)
	case a.Text != "":
		v.text(a.Text)
	}
	return v.found
}

// Touches returns in words what a file of a repository guards, if a change of the lines touches that; empty otherwise. The name counts from
// the root of the repository.
func Touches(name string, changed []string) string {
	v := &visit{Guard: &Guard{}, act: &Act{}, dir: "/"}
	w, ok := v.wallAt("/" + name)
	switch {
	case !ok, w.what == ruleFiles.what: // whose change is reported with the rules
		return ""
	case w.byContent && !w.keeps.guards(strings.Join(changed, "\n")):
		return ""
	}
	return w.what
}

// visit is the judgement of one act.
type visit struct {
	*Guard

	act   *Act
	dir   string
	found []string
	// standing are the walls on disk around dir; filled on first use.
	standing []string
	looked   bool
	depth    int  // of the program that is judged
	programs *int // that were judged
}

func (v *visit) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(v.found) < maxFindings && !slices.Contains(v.found, text) {
		v.found = append(v.found, text)
	}
}

// file judges a change of a file.
func (v *visit) file(name string, before, after *string, certain bool) {
	for _, p := range v.spellings(name) {
		w, ok := v.wallAt(p)
		if !ok {
			continue
		}
		if why := w.taken(v.Guard, before, after, certain); why != "" {
			v.add("it %s %s (%s): %s", verb(before, after, certain), show(name), w.what, why)
			return
		}
	}
}

func verb(before, after *string, certain bool) string {
	switch {
	case certain && after == nil:
		return "removes"
	case certain && before == nil:
		return "makes"
	}
	return "changes"
}

// taken says in words why a change of a file is one of the wall; empty if the wall is left as it is.
func (w *wall) taken(g *Guard, before, after *string, certain bool) string {
	switch {
	case certain && before != nil && after != nil && *before == *after:
		return ""
	case w.byContent && before != nil && !w.keeps.guards(*before):
		return ""
	case w.byContent && before == nil:
		return ""
	case !certain || w.keeps == nil:
		return "Tenet does not know that the wall stays as it is"
	case after == nil:
		return "the wall goes with it"
	case before == nil:
		return "a new file there can turn the wall off"
	}
	return w.keeps.taken(*before, *after, g.Programs)
}

// keeper compares a file before and after an edit.
type keeper interface {
	// guards reports whether a wall is in the file.
	guards(before string) bool
	// taken says in words what the edit takes out; empty if nothing.
	taken(before, after string, programs []string) string
}

// jsonFile is a settings file of a tool.
type jsonFile struct{}

func (jsonFile) guards(string) bool { return true }

func (jsonFile) taken(before, after string, programs []string) string {
	if why := settings.Taken([]byte(before), []byte(after), programs...); why != "" {
		return why
	}
	for line := range strings.Lines(after) {
		if word := mentioned(line); word != "" && !strings.Contains(before, strings.TrimSpace(line)) && !settings.IsHook(line, programs...) {
			return "a new line names " + word
		}
	}
	return ""
}

// spellings returns the names under which a file may be guarded: as it is written, and where links lead.
func (v *visit) spellings(name string) []string {
	full := v.absolute(name)
	list := []string{full}
	if strings.ContainsAny(full, "$*?[{"+shell.Hole) || filepath.Separator != '/' {
		return list
	}
	rest := ""
	for at := full; at != "/" && at != "."; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			if real = filepath.Join(real, rest); real != full {
				list = append(list, real)
			}
			break
		}
	}
	return list
}

// absolute returns a name as it counts from the folder of the act, with the home folder in place.
func (v *visit) absolute(name string) string {
	for _, home := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(name, home); ok && (rest == "" || rest[0] == '/') && v.Home != "" {
			return filepath.Clean(v.Home + rest)
		}
	}
	if !filepath.IsAbs(name) && !strings.HasPrefix(name, "~") && !strings.HasPrefix(name, "$") {
		name = filepath.Join(v.dir, name)
	}
	return filepath.Clean(name)
}

// show makes a name fit for a line.
func show(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, name)
	if list := []rune(name); len(list) > 120 {
		name = string(list[:120]) + "..."
	}
	return name
}

// walls returns the walls on disk around the folder of the act: below the roots of its repository, and in the home folder.
func (v *visit) walls() []string {
	if v.looked {
		return v.standing
	}
	v.looked = true
	roots := []string{v.Home}
	for dir := filepath.Clean(v.dir); ; dir = filepath.Dir(dir) {
		roots = append(roots, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) || len(roots) > 40 {
			break
		}
	}
	for _, root := range roots {
		if root == "" {
			continue
		}
		for _, name := range places {
			full := filepath.Join(root, name)
			if _, err := os.Lstat(full); err == nil {
				v.standing = append(v.standing, full)
			}
		}
	}
	v.standing = append(v.standing, v.Programs...)
	v.standing = append(v.standing, v.Files...)
	return v.standing
}
