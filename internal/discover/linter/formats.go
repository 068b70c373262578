package linter

import (
	"errors"
	"path"
	"strings"
)

// format reads the settings of one kind of file.
type format func(*page) error

// byName are the formats of files that are known by their name.
var byName = map[string]format{
	".editorconfig":            readEditorconfig,
	".eslintrc":                readESLint,
	".eslintrc.json":           readESLint,
	".eslintrc.yaml":           readESLint,
	".eslintrc.yml":            readESLint,
	".eslintrc.js":             readESLint,
	".eslintrc.cjs":            readESLint,
	".eslintrc.mjs":            readESLint,
	".oxlintrc.json":           readOxlint,
	"oxlintrc.json":            readOxlint,
	"biome.json":               readBiome,
	"biome.jsonc":              readBiome,
	".prettierrc":              readPrettier,
	".prettierrc.json":         readPrettier,
	".prettierrc.json5":        readPrettier,
	".prettierrc.yaml":         readPrettier,
	".prettierrc.yml":          readPrettier,
	".prettierrc.toml":         readPrettier,
	".prettierrc.js":           readPrettier,
	".prettierrc.cjs":          readPrettier,
	".prettierrc.mjs":          readPrettier,
	"prettier.config.js":       readPrettier,
	"prettier.config.cjs":      readPrettier,
	"prettier.config.mjs":      readPrettier,
	"package.json":             readPackage,
	".jshintrc":                readJSHint,
	"ruff.toml":                readRuffFile,
	".ruff.toml":               readRuffFile,
	"pyproject.toml":           readPyproject,
	"setup.cfg":                readPythonINI,
	"tox.ini":                  readPythonINI,
	".flake8":                  readPythonINI,
	"mypy.ini":                 readPythonINI,
	".mypy.ini":                readPythonINI,
	".pylintrc":                readPythonINI,
	"pylintrc":                 readPythonINI,
	".isort.cfg":               readPythonINI,
	".coveragerc":              readPythonINI,
	".golangci.yml":            readGolangci,
	".golangci.yaml":           readGolangci,
	".golangci.toml":           readGolangci,
	".golangci.json":           readGolangci,
	"staticcheck.conf":         readStaticcheck,
	"revive.toml":              readReviveFile,
	".rubocop.yml":             readRubocop,
	".rubocop.yaml":            readRubocop,
	"clippy.toml":              readClippy,
	".clippy.toml":             readClippy,
	"rustfmt.toml":             readClippy,
	".rustfmt.toml":            readClippy,
	"Cargo.toml":               readCargo,
	".markdownlint.json":       readMarkdownlint,
	".markdownlint.jsonc":      readMarkdownlint,
	".markdownlint.yaml":       readMarkdownlint,
	".markdownlint.yml":        readMarkdownlint,
	".markdownlintrc":          readMarkdownlint,
	".markdownlint-cli2.jsonc": readMarkdownlint,
	".markdownlint-cli2.yaml":  readMarkdownlint,
	".stylelintrc":             readStylelint,
	".stylelintrc.json":        readStylelint,
	".stylelintrc.yaml":        readStylelint,
	".stylelintrc.yml":         readStylelint,
	".stylelintrc.js":          readStylelint,
	".stylelintrc.cjs":         readStylelint,
	"stylelint.config.js":      readStylelint,
	"stylelint.config.cjs":     readStylelint,
	"stylelint.config.mjs":     readStylelint,
	".hadolint.yaml":           readHadolint,
	".hadolint.yml":            readHadolint,
	"hadolint.yaml":            readHadolint,
	".yamllint":                readYamllint,
	".yamllint.yaml":           readYamllint,
	".yamllint.yml":            readYamllint,
	".shellcheckrc":            readShellcheck,
	"shellcheckrc":             readShellcheck,
	".commitlintrc":            readCommitlint,
	".commitlintrc.json":       readCommitlint,
	".commitlintrc.yaml":       readCommitlint,
	".commitlintrc.yml":        readCommitlint,
	".commitlintrc.js":         readCommitlint,
	".commitlintrc.cjs":        readCommitlint,
	"commitlint.config.js":     readCommitlint,
	"commitlint.config.cjs":    readCommitlint,
	"commitlint.config.mjs":    readCommitlint,
	".pre-commit-config.yaml":  readPreCommit,
	".pre-commit-config.yml":   readPreCommit,
	"google_checks.xml":        readCheckstyle,
	"sun_checks.xml":           readCheckstyle,
}

// formatOf is the format of a file by its path; nil for a file that is none.
func formatOf(file string) format {
	base := path.Base(file)
	if inDependencies(file) {
		return nil
	}
	if f, ok := byName[base]; ok {
		return f
	}
	lower := strings.ToLower(base)
	switch ext := path.Ext(lower); {
	case strings.HasPrefix(lower, "eslint.config."):
		return readESLint
	case strings.HasPrefix(lower, ".eslintrc.") && ext == ".json":
		return readESLint
	case (strings.HasPrefix(lower, "tsconfig") || strings.HasPrefix(lower, "jsconfig")) && ext == ".json":
		return readTSConfig
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

// data reads a file as the language that its name, or else its first character, tells.
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
	if first := strings.TrimSpace(withoutLead(p.src)); strings.HasPrefix(first, "{") {
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

// withoutLead leaves out the comments that a file begins with.
func withoutLead(src string) string {
	s := &script{src: src, line: 1}
	s.space()
	return src[s.pos:]
}

// rooted is the table that a file consists of.
func (p *page) rooted() (*node, error) {
	n, err := p.data()
	if err != nil || n == nil || n.form == table || n.form == nothing {
		return n, err
	}
	return nil, errors.New("it does not hold settings as keys and values")
}

// under joins the names of keys to the path of one.
func under(keys ...string) string { return strings.Join(keys, ".") }
