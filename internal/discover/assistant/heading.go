package assistant

import (
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// languages are the files of a language that a heading names.
var languages = map[string][]string{
	"go": {"**/*.go"}, "golang": {"**/*.go"}, "python": {"**/*.py"}, "typescript": {"**/*.ts", "**/*.tsx"}, "javascript": {"**/*.js", "**/*.jsx"},
	"rust": {"**/*.rs"}, "java": {"**/*.java"}, "kotlin": {"**/*.kt"}, "ruby": {"**/*.rb"}, "php": {"**/*.php"}, "swift": {"**/*.swift"},
	"c#": {"**/*.cs"}, "css": {"**/*.css"}, "html": {"**/*.html"}, "sql": {"**/*.sql"}, "terraform": {"**/*.tf"}, "yaml": {"**/*.yaml", "**/*.yml"},
	"markdown": {"**/*.md"}, "dockerfile": {"**/Dockerfile"}, "dockerfiles": {"**/Dockerfile"}, "bash": {"**/*.sh"}, "shell": {"**/*.sh"},
}

// filler are words that a heading may have besides the language.
var filler = text.Words(`
code style coding rules guidelines guide conventions standards best practices specific files idioms scripts & and for in the
`)

// headingGlobs returns the files that the innermost heading which names some is about: a path in backquotes, or a language.
func headingGlobs(section []string) []string {
	for _, heading := range slices.Backward(section) {
		if globs := globsOf(heading); len(globs) > 0 {
			return globs
		}
	}
	return nil
}

func globsOf(heading string) []string {
	if _, rest, ok := strings.Cut(heading, "`"); ok {
		name, _, closed := strings.Cut(rest, "`")
		return pathGlob(name, closed)
	}
	var globs []string
	for w := range strings.FieldsSeq(strings.ToLower(heading)) {
		w = strings.Trim(w, "*_:.,()-")
		switch found := languages[w]; {
		case len(found) > 0 && globs == nil:
			globs = found
		case len(found) > 0 || w != "" && !filler[w]:
			return nil
		}
	}
	return globs
}

// pathGlob makes a glob of a path in a heading.
func pathGlob(name string, closed bool) []string {
	name = strings.TrimPrefix(name, "./")
	if !closed || len(name) > rule.MaxLabel-3 || strings.ContainsAny(name, " ()<>:=$") || !strings.Contains(strings.Trim(name, "/"), "/") && !strings.HasSuffix(name, "/") && !strings.Contains(name, "*.") {
		return nil
	}
	if strings.HasSuffix(name, "/") {
		name += "**"
	} else if base := name[strings.LastIndexByte(name, '/')+1:]; !strings.ContainsAny(base, ".*") {
		name += "/**"
	}
	if !compiles(name) {
		return nil
	}
	return []string{name}
}
