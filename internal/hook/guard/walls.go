package guard

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/shell"
)

// wall is a file or a folder that guards.
type wall struct {
	// pattern is the end of its path, in lower case. Segments are patterns of path.Match; ** at the end is everything below.
	pattern string
	// what says in words what it guards.
	what string
	// keeps compares the file before and after an edit; nil if no edit passes.
	keeps keeper
	// byContent means that only a file with a line of Tenet in it is a wall.
	byContent bool
}

const (
	ofClaude   = "the settings and hooks of Claude Code"
	ofCursor   = "the settings and hooks of Cursor"
	ofCodex    = "the settings and hooks of Codex"
	ofGemini   = "the settings and hooks of Gemini CLI"
	ofCopilot  = "the hooks of Copilot"
	ofWindsurf = "the settings and hooks of Windsurf"
	ofGit      = "the hooks of git, or the settings that name them"
	ofTenet    = "the settings and rules of Tenet"
	ofMCP      = "the MCP servers of the agents"
	ofRefs     = "the branches of git, which only a commit that was judged should move"
	ofProgram  = "the program of Tenet, which the hooks call"
)

// table lists all walls. The first whose pattern fits counts.
var table = []wall{
	{pattern: ".claude/settings*.json", what: ofClaude, keeps: jsonFile{}},
	{pattern: ".claude/hooks", what: ofClaude},
	{pattern: ".claude/hooks/**", what: ofClaude},
	{pattern: ".claude", what: ofClaude},
	{pattern: ".claude.json", what: ofClaude, keeps: jsonFile{}},
	{pattern: ".claude.json.*", what: ofClaude},
	{pattern: "managed-settings*.json", what: ofClaude},
	{pattern: "managed-mcp.json", what: ofClaude},
	{pattern: "managed-settings.d/**", what: ofClaude},
	{pattern: "etc/claude-code", what: ofClaude},
	{pattern: "etc/claude-code/**", what: ofClaude},
	{pattern: ".cursor", what: ofCursor},
	{pattern: ".cursor/hooks.json", what: ofCursor, keeps: jsonFile{}},
	{pattern: ".cursor/mcp.json", what: ofMCP, keeps: jsonFile{}},
	{pattern: ".cursor/hooks", what: ofCursor},
	{pattern: ".cursor/hooks/**", what: ofCursor},
	{pattern: ".cursor/cli*.json", what: ofCursor, keeps: jsonFile{}},
	{pattern: "etc/cursor/**", what: ofCursor},
	{pattern: ".mcp.json", what: ofMCP, keeps: jsonFile{}},
	{pattern: ".vscode/mcp.json", what: ofMCP, keeps: jsonFile{}},
	{pattern: ".codex", what: ofCodex},
	{pattern: ".codex/hooks.json", what: ofCodex, keeps: jsonFile{}},
	{pattern: ".codex/*.md", what: ""},
	{pattern: ".codex/**", what: ofCodex},
	{pattern: "etc/codex/**", what: ofCodex},
	{pattern: ".gemini", what: ofGemini},
	{pattern: ".gemini/settings.json", what: ofGemini, keeps: jsonFile{}},
	{pattern: ".gemini/*.md", what: ""},
	{pattern: ".gemini/tmp/**", what: ""},
	{pattern: ".gemini/**", what: ofGemini},
	{pattern: "etc/gemini-cli/**", what: ofGemini},
	{pattern: ".github/hooks", what: ofCopilot},
	{pattern: ".github/hooks/*.json", what: ofCopilot, keeps: jsonFile{}},
	{pattern: ".github/hooks/**", what: ofCopilot},
	{pattern: ".github/copilot/settings*.json", what: ofCopilot, keeps: jsonFile{}},
	{pattern: ".copilot", what: ofCopilot},
	{pattern: ".copilot/**", what: ofCopilot},
	{pattern: ".windsurf", what: ofWindsurf},
	{pattern: ".windsurf/*.json", what: ofWindsurf, keeps: jsonFile{}},
	{pattern: ".windsurf/hooks/**", what: ofWindsurf},
	{pattern: ".codeium/windsurf/*.json", what: ofWindsurf, keeps: jsonFile{}},
	{pattern: "etc/windsurf/**", what: ofWindsurf},
	{pattern: ".codeium", what: ofWindsurf},
	{pattern: ".codeium/windsurf", what: ofWindsurf},
	{pattern: ".git", what: ofGit},
	{pattern: ".git/hooks", what: ofGit},
	{pattern: ".git/hooks/*.sample", what: ""},
	{pattern: ".git/hooks/**", what: ofGit},
	{pattern: ".git/config", what: ofGit},
	{pattern: ".git/config.worktree", what: ofGit},
	{pattern: ".gitconfig", what: ofGit},
	{pattern: ".config/git/config", what: ofGit},
	{pattern: "etc/gitconfig", what: ofGit},
	{pattern: ".git/head", what: ofRefs},
	{pattern: ".git/packed-refs", what: ofRefs},
	{pattern: ".git/refs/**", what: ofRefs},
	{pattern: ".githooks", what: ofGit},
	{pattern: ".githooks/**", what: ofGit},
	{pattern: ".husky", what: ofGit},
	{pattern: ".husky/**", what: ofGit},
	{pattern: "lefthook*.y*ml", what: ofGit, keeps: lines{}, byContent: true},
	{pattern: ".lefthook*", what: ofGit, keeps: lines{}, byContent: true},
	{pattern: "lefthook*.toml", what: ofGit, keeps: lines{}, byContent: true},
	{pattern: "lefthook*.json", what: ofGit, keeps: lines{}, byContent: true},
	{pattern: ".pre-commit-config.y*ml", what: ofGit, keeps: lines{}, byContent: true},
	{pattern: ".overcommit.yml", what: ofGit, keeps: lines{}, byContent: true},
	{pattern: "tenet.yaml", what: ofTenet},
	{pattern: "tenet.yml", what: ofTenet},
	{pattern: ".tenet", what: ofTenet},
	{pattern: ".tenet/**", what: ofTenet},
	{pattern: ".config/tenet", what: ofTenet},
	{pattern: ".config/tenet/**", what: ofTenet},
	{pattern: ".local/share/tenet", what: ofTenet},
	{pattern: ".local/share/tenet/**", what: ofTenet},
	{pattern: ".local/state/tenet", what: ofTenet},
	{pattern: ".local/state/tenet/**", what: ofTenet},
	{pattern: "application support/tenet/**", what: ofTenet},
	{pattern: ".github/workflows/*.y*ml", what: "the line of Tenet in CI", keeps: lines{}, byContent: true},
	{pattern: ".gitlab-ci.yml", what: "the line of Tenet in CI", keeps: lines{}, byContent: true},
	{pattern: "azure-pipelines.y*ml", what: "the line of Tenet in CI", keeps: lines{}, byContent: true},
	{pattern: "bitbucket-pipelines.yml", what: "the line of Tenet in CI", keeps: lines{}, byContent: true},
	{pattern: ".circleci/config.yml", what: "the line of Tenet in CI", keeps: lines{}, byContent: true},
	{pattern: "jenkinsfile", what: "the line of Tenet in CI", keeps: lines{}, byContent: true},
}

// ruleFiles is the wall for files that any name may have: those that hold rules of Tenet.
var ruleFiles = wall{what: "a file of rules of Tenet", keeps: rules{}, byContent: true}

// places are where walls may be on disk, below the root of a repository or the home folder, for acts on the folders around them.
var places = []string{
	".claude/settings.json", ".claude/settings.local.json", ".claude.json", ".cursor/hooks.json", ".cursor/mcp.json", ".mcp.json", ".codex/hooks.json",
	".codex/config.toml", ".gemini/settings.json", ".github/hooks", ".windsurf/hooks.json", ".codeium/windsurf/hooks.json", ".copilot", ".git/hooks/pre-commit",
	".git/config", ".gitconfig", ".githooks", ".husky", "tenet.yaml", ".tenet", ".config/tenet", ".local/share/tenet", ".local/state/tenet",
}

// wallAt returns the wall at an absolute path.
func (v *visit) wallAt(name string) (wall, bool) {
	if own, ok := v.own(name); ok {
		return own, true
	}
	segments := segmentsOf(name)
	for _, w := range table {
		if fits(strings.Split(w.pattern, "/"), segments) {
			return w, w.what != ""
		}
	}
	if last := segments[len(segments)-1]; strings.HasSuffix(last, ".yaml") || strings.HasSuffix(last, ".yml") || strings.HasSuffix(last, ".json") {
		return ruleFiles, true
	}
	return wall{}, false
}

// own returns the wall of a path that the guard was given, or of a program that would be found before Tenet's.
func (v *visit) own(name string) (wall, bool) {
	for _, program := range v.Programs {
		if same(name, program) {
			return wall{what: ofProgram}, true
		}
	}
	base := strings.ToLower(path.Base(filepath.ToSlash(name)))
	if base == "tenet" || base == "tenet.exe" {
		dir := filepath.Dir(name)
		if slices.ContainsFunc(v.Path, func(folder string) bool { return same(dir, folder) }) {
			return wall{what: ofProgram}, true
		}
	}
	for _, at := range v.Files {
		if same(name, at) || strings.HasPrefix(strings.ToLower(name), strings.ToLower(strings.TrimSuffix(at, "/"))+"/") {
			return wall{what: ofTenet}, true
		}
	}
	return wall{}, false
}

func same(a, b string) bool {
	return b != "" && strings.EqualFold(filepath.Clean(a), filepath.Clean(b))
}

// segmentsOf splits a path as the loosest file system reads it: letters of any case, dots and blanks at the end of a name left out.
func segmentsOf(name string) []string {
	var list []string
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.ToLower(name), `\`, "/"), "/") {
		if part = strings.TrimRight(part, ". "); part != "" {
			list = append(list, part)
		}
	}
	if len(list) == 0 {
		list = []string{""}
	}
	return list
}

// fits reports whether a path ends in a pattern. Segments of the path may be patterns of a shell themselves.
func fits(pattern, segments []string) bool {
	if pattern[len(pattern)-1] == "**" {
		folder := pattern[:len(pattern)-1]
		for end := len(folder); end < len(segments); end++ {
			if fits(folder, segments[:end]) {
				return true
			}
		}
		return false
	}
	if len(segments) < len(pattern) {
		return false
	}
	for i, p := range pattern {
		if !overlap(p, segments[len(segments)-len(pattern)+i]) {
			return false
		}
	}
	return true
}

// overlap reports whether a segment of a path, which may be a pattern of a shell, names something that a pattern of a wall names.
func overlap(pattern, segment string) bool {
	if ok, err := path.Match(pattern, segment); err == nil && ok {
		return true
	}
	if !strings.ContainsAny(segment, "*?["+shell.Hole) {
		return false
	}
	glob := strings.ReplaceAll(segment, shell.Hole, "*")
	if strings.Trim(glob, "*?") == "" && !strings.HasPrefix(glob, ".") {
		return false // every name: what is on disk decides
	}
	for _, name := range []string{pattern, strings.ReplaceAll(pattern, "*", ""), strings.ReplaceAll(pattern, "*", ".local")} {
		if ok, err := path.Match(glob, name); err == nil && ok && (strings.HasPrefix(name, ".") == strings.HasPrefix(glob, ".") || !strings.HasPrefix(name, ".")) {
			return true
		}
	}
	return false
}

// holds reports whether an act on a folder is one on a wall on disk below it. The name may be a pattern of a shell.
func (v *visit) holds(name string) string {
	if strings.Trim(strings.TrimPrefix(name, "./"), shell.Hole+"/") == "" && strings.Contains(name, shell.Hole) {
		return "" // nothing of the name is known
	}
	full := strings.ReplaceAll(v.absolute(name), shell.Hole, "*")
	for _, standing := range v.walls() {
		at := standing
		for at != "/" && at != "." {
			if at == full || strings.ContainsAny(full, "*?[") && globbed(full, at) {
				return standing
			}
			at = filepath.Dir(at)
		}
	}
	if full == "/" && len(v.walls()) > 0 {
		return v.walls()[0]
	}
	return ""
}

// globbed reports whether a pattern of a shell names a path. A * at its beginning does not match a leading dot.
func globbed(glob, name string) bool {
	ok, err := path.Match(glob, name)
	last := path.Base(glob)
	return err == nil && ok && (strings.HasPrefix(last, ".") || !strings.HasPrefix(path.Base(name), "."))
}

// lines is a file in which a line calls Tenet, such as that of a pipeline.
type lines struct{}

var (
	callsTenet = regexp.MustCompile(`(?i)\btenet\b.*\b(check|hook|test|rules|submit)\b|(uses|image|repo|id|entry|name):.*\btenet\b|\btenet\b.*\|\||# tenet:`)
	turnsOff   = regexp.MustCompile(`(?i)continue-on-error|allow_failure|\bif:\s|\bexit 0\b|set \+e|\|\|\s*(true|:)|default_stages|\bstages:|\bskip:|\bexclude:|\bfiles:|\bwhen:\s*(never|manual)`)
)

func (lines) guards(before string) bool { return callsTenet.MatchString(before) }

func (lines) taken(before, after string, _ []string) string {
	left := map[string]int{}
	for line := range strings.Lines(after) {
		left[strings.TrimRight(line, "\r\n")]++
	}
	for line := range strings.Lines(before) {
		line = strings.TrimRight(line, "\r\n")
		if left[line]--; left[line] < 0 && (callsTenet.MatchString(line) || turnsOff.MatchString(line)) {
			return "it changes or removes the line " + show(strings.TrimSpace(line))
		}
	}
	for line, n := range left {
		if n > 0 && (callsTenet.MatchString(line) || turnsOff.MatchString(line)) {
			return "it adds the line " + show(strings.TrimSpace(line))
		}
	}
	return ""
}

// rules is a file of rules.
type rules struct{}

var ruleForm = regexp.MustCompile(`(?s)^(.*\n)?\s*"?(rules|federation)"?\s*:.*\n?.*\b"?(statement|slug|severity)"?\s*:`)

func (rules) guards(before string) bool {
	return len(before) < 1<<20 && ruleForm.MatchString(before) && strings.Contains(before, "statement")
}

func (rules) taken(string, string, []string) string { return "rules that judge the agent change" }
