package settings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// preCommitFile is the part of .pre-commit-config.yaml that must be valid.
type preCommitFile struct {
	Repos []map[string]any `yaml:"repos"`
}

var (
	reposLine = regexp.MustCompile(`(?m)^repos:[ \t]*(#.*)?\r?$`)
	firstItem = regexp.MustCompile(`\A(?:[ \t]*(?:#.*)?\r?\n)*([ ]*)- `)
)

// addPreCommit puts the hook before the other repositories. It inserts lines and does not encode the file again, which would
// lose its comments.
func addPreCommit(old []byte, command string) ([]byte, error) {
	text, _, err := cutBlock(string(old))
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		text = "repos:\n"
	} else if err := validPreCommit(text); err != nil {
		return nil, err
	}
	lines := reposLine.FindAllStringIndex(text, -1)
	if len(lines) != 1 {
		return nil, malformed("it has no line repos: with a list below it; add the hook `%s` yourself", command)
	}
	at := lines[0][1]
	if at == len(text) {
		text += "\n"
	}
	at += strings.IndexByte(text[at:], '\n') + 1
	indent := "  "
	if m := firstItem.FindStringSubmatch(text[at:]); m != nil {
		indent = m[1]
	}
	block := []string{
		beginMark,
		"- repo: local",
		"  hooks:",
		"    - id: tenet",
		"      name: tenet",
		"      entry: " + yamlString(command),
		"      language: system",
		"      require_serial: true",
		"      always_run: true",
		endMark,
	}
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	after := text[:at] + indent + strings.Join(block, end+indent) + end + text[at:]
	if err := validPreCommit(after); err != nil {
		return nil, malformed("the hook does not fit into it; add `%s` yourself", command)
	}
	return []byte(after), nil
}

func validPreCommit(text string) (err error) {
	defer func() {
		if v := recover(); v != nil { // the YAML library panics on some malformed files
			err = malformed("it is not a configuration of pre-commit: %v", v)
		}
	}()
	var f preCommitFile
	if err := yaml.Unmarshal([]byte(text), &f); err != nil {
		return malformed("it is not a configuration of pre-commit: %v", err)
	}
	if f.Repos == nil && !reposLine.MatchString(text) {
		return malformed("it has no list of repos")
	}
	return nil
}

// yamlString quotes any text for YAML.
func yamlString(s string) string {
	return fmt.Sprintf("'%s'", strings.ReplaceAll(s, "'", "''"))
}
