package assistant

import (
	"path"
	"slices"
	"strings"

	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
)

// matter holds the files that the rules of a file apply to, by its path and its front matter.
type matter struct {
	paths    []string
	exclude  []string
	folder   string // with a slash at its end; empty for the root
	note     string
	problems []source.Problem
}

// readMatter reads front matter. It takes what assistants take, such as globs: **/*, which is not YAML; so it is no YAML reader,
// and knows neither anchors nor nesting.
func readMatter(file, s string) *matter {
	m := &matter{folder: folderOf(file)}
	if strings.EqualFold(path.Base(file), "skill.md") {
		m.folder = "" // a skill is about tasks, wherever it lies
	}
	if len(escape(m.folder)) > rule.MaxLabel/2 {
		m.folder = ""
		m.wrong(file, 0, "its folder has a name too long for a glob")
	}
	values, lines := fields(s)
	always := strings.EqualFold(first(values["alwaysApply"]), "true")
	var globs []string
	at := 0
	for _, key := range []string{"globs", "applyTo", "paths"} {
		if len(values[key]) > 0 {
			globs, at = values[key], lines[key]
			break
		}
	}
	if !always {
		m.globs(file, globs, at)
	}
	about := first(values["description"])
	if always || len(globs) > 0 || about == "" || m.note != "" {
		return m
	}
	m.note = "The assistant reads this file when it concerns the task; its description: " + text.Clip(about, 300, "…")
	return m
}

// globs takes in the globs of the front matter at a line.
func (m *matter) globs(file string, globs []string, line int) {
	var wrong []string
	for _, g := range globs {
		g, not := strings.CutPrefix(g, "!")
		if everything(g) && !not {
			m.paths = nil
			return
		}
		broken := idle(g)
		g = within(m.folder, g)
		switch full := len(m.paths) == rule.MaxListItems || len(m.exclude) == rule.MaxListItems; {
		case broken || len(g) > rule.MaxLabel || full || !compiles(g):
			wrong = append(wrong, g)
		case not:
			m.exclude = append(m.exclude, g)
		case !slices.Contains(m.paths, g):
			m.paths = append(m.paths, g)
		}
	}
	if len(wrong) == 0 {
		return
	}
	m.wrong(file, line, "its front matter names "+text.Plural(len(wrong), "glob")+" that cannot be read, such as "+short(wrong[0]))
}

// wrong notes, for the scan and for each candidate, why rules of the file may apply to more than meant.
func (m *matter) wrong(file string, line int, reason string) {
	m.problems = append(m.problems, source.Problem{File: file, Line: line, Reason: reason + "; rules in it may apply to other files than meant"})
	m.note = "Check what it applies to: " + reason + "."
}

// idle reports whether a glob can match no file: it leads out of the repository, or is a piece of YAML. Rules narrowed to it
// would never apply.
func idle(g string) bool {
	return g == ".." || strings.HasPrefix(g, "../") || strings.Contains(g, "/../") || g == "{}" || g == "[]" || strings.HasPrefix(g, "&") || strings.Contains(g, ": ")
}

func compiles(glob string) bool {
	_, err := subject.CompileGlobs([]string{glob})
	return err == nil
}

// appliesTo returns the files that rules of the file are narrowed to; nil for all files.
func (m *matter) appliesTo() *rule.AppliesTo {
	paths := m.paths
	if len(paths) == 0 && m.folder != "" {
		paths = []string{escape(m.folder) + "**"}
	}
	if len(paths)+len(m.exclude) == 0 {
		return nil
	}
	return &rule.AppliesTo{Paths: slices.Clone(paths), ExcludePaths: slices.Clone(m.exclude)}
}

// below narrows a rule to the globs of a heading.
func (m *matter) below(globs []string) *rule.AppliesTo {
	if len(globs) == 0 {
		return nil
	}
	return &rule.AppliesTo{Paths: slices.Clone(globs)}
}

// everything reports whether a glob narrows nothing.
func everything(g string) bool {
	return g == "*" || g == "**" || g == "**/*" || g == "/**" || g == "/**/*" || g == "**/**" || g == "*.*" || g == "**/*.*"
}

// folderOf returns the folder that the rules of a file hold in: that of AGENTS.md, and the one that holds .cursor or .github.
func folderOf(file string) string {
	dir := path.Dir(strings.ReplaceAll(file, "\\", "/")) + "/"
	for part := range strings.SplitSeq(dir, "/") {
		if strings.HasPrefix(part, ".") && len(part) > 1 && part != ".." {
			at := strings.Index("/"+dir, "/"+part+"/")
			dir = dir[:at]
			break
		}
	}
	if base := strings.ToLower(path.Base(file)); !names[base] && !strings.Contains(file, "/.") && !strings.HasPrefix(file, ".") {
		return "" // rules that are kept somewhere, not those of that folder
	}
	return strings.TrimPrefix(strings.TrimPrefix(dir, "./"), "/")
}

// within moves a glob below a folder.
func within(folder, glob string) string {
	glob = strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
	if folder == "" {
		return glob
	}
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob
	}
	return escape(folder) + glob
}

// escape takes the meaning off the signs of a path that a glob would have.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(s)
}

// maxField bounds the values of one key.
const maxField = 256

// fields reads key: value, key: [a, b], and key: with a list below it. lines holds the line of each key, from 1.
func fields(text string) (values map[string][]string, lines map[string]int) {
	values, lines = map[string][]string{}, map[string]int{}
	key, number := "", 1
	for line := range strings.Lines(text) {
		number++
		s := strings.TrimSpace(line)
		if item, ok := strings.CutPrefix(s, "- "); ok && key != "" {
			values[key] = append(values[key], scalar(item))
			if len(values[key]) > maxField {
				key = ""
			}
			continue
		}
		if s == "" || s[0] == '#' || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		name, value, ok := strings.Cut(s, ":")
		if !ok || strings.ContainsAny(name, " \"'{[") || values[name] != nil {
			key = ""
			continue
		}
		key, lines[name] = name, number
		if value = strings.TrimSpace(value); value != "" {
			values[name] = list(value)
			if name == "description" {
				values[name] = []string{scalar(value)}
			}
			key = ""
		}
	}
	return values, lines
}

// list reads the values of a line, parted by commas outside of braces and quotation marks.
func list(s string) []string {
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		s = inner[:len(inner)-1]
	} else if s[0] == '"' || s[0] == '\'' {
		s = scalar(s)
	}
	var out []string
	from, depth, quote := 0, 0, byte(0)
	for i := 0; i <= len(s) && len(out) < maxField; i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0 && quote == 0:
			if v := scalar(strings.TrimSpace(s[from:i])); v != "" {
				out = append(out, v)
			}
			from = i + 1
		case quote != 0:
			if s[i] == quote {
				quote = 0
			}
		case s[i] == '"' || s[i] == '\'':
			quote = s[i]
		case s[i] == '{':
			depth++
		case s[i] == '}':
			depth = max(depth-1, 0)
		}
	}
	return out
}

// scalar takes the quotation marks, or a comment, off a value.
func scalar(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') {
		if end := strings.LastIndexByte(s, s[0]); end > 0 {
			return s[1:end]
		}
	}
	if before, _, ok := strings.Cut(s, " #"); ok {
		s = strings.TrimSpace(before)
	}
	return s
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// short shows a piece of what someone else has written.
func short(s string) string {
	return "\"" + text.Clip(s, 60, "…") + "\""
}
