package linter

import (
	_ "embed" // the tables
	"errors"
	"path"
	"strings"
	"sync"
)

// format reads the settings of one kind of file.
type format func(*page) error

// rooted reads settings that are keys and values, in the language that the file is in.
func rooted(read func(*page, *node)) format {
	return func(p *page) error {
		n, err := p.data()
		if err == nil && n != nil && n.form != table && n.form != nothing {
			err = errors.New("it does not hold settings as keys and values")
		}
		if err == nil {
			read(p, n)
		}
		return err
	}
}

// parsed reads settings in one language.
func parsed(parse func(string) (*node, error), read func(*page, *node)) format {
	return func(p *page) error {
		n, err := parse(p.src)
		if err == nil {
			read(p, n)
		}
		return err
	}
}

func ini(read func(*page, *node)) format {
	return parsed(func(src string) (*node, error) { return readINI(src), nil }, read)
}

// readers are the formats by their names in tables/files.txt.
var readers = map[string]format{
	"editorconfig": readEditorconfig,
	"eslint":       readESLint,
	"oxlint":       rooted(readOxlint),
	"biome":        rooted(readBiome),
	"prettier":     rooted(func(p *page, n *node) { readPrettier(p, n, "") }),
	"package":      rooted(readPackage),
	"jshint":       rooted(readJSHint),
	"ruff":         parsed(readTOML, func(p *page, n *node) { readRuff(p, n, "") }),
	"pyproject":    parsed(readTOML, readPyproject),
	"python":       ini(readPythonINI),
	"golangci":     rooted(readGolangci),
	"staticcheck":  parsed(readTOML, func(p *page, n *node) { readStaticcheck(p, staticcheck, n.get("checks"), "checks") }),
	"revive":       parsed(readTOML, readReviveFile),
	"rubocop":      rooted(readRubocop),
	"clippy":       parsed(readTOML, readClippy),
	"cargo":        parsed(readTOML, readCargo),
	"markdownlint": rooted(readMarkdownlint),
	"stylelint":    rooted(readStylelint),
	"hadolint":     rooted(readHadolint),
	"yamllint":     parsed(readYAML, readYamllint),
	"shellcheck":   ini(readShellcheck),
	"commitlint":   rooted(readCommitlint),
	"precommit":    parsed(readYAML, readPreCommit),
	"checkstyle":   readCheckstyle,
	"tsconfig":     rooted(readTSConfig),
}

//go:embed tables/files.txt
var files string

// byName returns the formats of files that have a fixed name.
var byName = sync.OnceValue(func() map[string]format {
	all := map[string]format{}
	for _, row := range rowsOf(files) {
		name, list, _ := strings.Cut(row, " | ")
		for file := range strings.FieldsSeq(list) {
			all[file] = readers[name]
		}
	}
	return all
})

// formatOf returns the format of a file by its path; nil for a file that is none.
func formatOf(file string) format {
	base := path.Base(file)
	if inDependencies(file) {
		return nil
	}
	if f, ok := byName()[base]; ok {
		return f
	}
	lower := strings.ToLower(base)
	switch ext := path.Ext(lower); {
	case strings.HasPrefix(lower, "eslint.config."):
		return readESLint
	case strings.HasPrefix(lower, ".eslintrc.") && ext == ".json":
		return readESLint
	case (strings.HasPrefix(lower, "tsconfig") || strings.HasPrefix(lower, "jsconfig")) && ext == ".json":
		return readers["tsconfig"]
	case strings.Contains(lower, "checkstyle") && ext == ".xml":
		return readCheckstyle
	}
	return nil
}

// inDependencies reports whether a file belongs to the code of others.
func inDependencies(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if part == "node_modules" || part == "vendor" || part == "site-packages" {
			return true
		}
	}
	return false
}

// data reads a file in the language of its name, or else of its first character.
func (p *page) data() (*node, error) {
	switch strings.ToLower(path.Ext(p.path)) {
	case ".json", ".jsonc", ".json5":
		return p.json()
	case ".yaml", ".yml":
		return readYAML(p.src)
	case ".toml":
		return readTOML(p.src)
	case ".js", ".cjs", ".mjs", ".ts", ".mts", ".cts":
		return readScript(p.src)
	}
	if newScript(p.src, false).mark() == "{" { // behind comments
		return p.json()
	}
	return readYAML(p.src)
}

// json reads JSON; an empty file says nothing, and is none the worse.
func (p *page) json() (*node, error) {
	if strings.TrimSpace(p.src) == "" {
		return nil, nil
	}
	return readJSON(p.src)
}

// under joins the names of keys to the path of one.
func under(keys ...string) string { return strings.Join(keys, ".") }
