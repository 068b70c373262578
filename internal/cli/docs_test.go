package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var (
	// A command in a block of code, at the beginning of a line or behind what may precede a command: up to a comment, a pipe, or the end of the line.
	blockCommand = regexp.MustCompile(`(?:^\s*|[;&|(]\s*|[A-Z_]+=\S+ |-- |(?:exec|run:|sudo|sudo -u tenet) )(?:bin/)?tenet ([a-z-][^#|&;\n]*)`)
	// A command within a sentence.
	spanCommand = regexp.MustCompile("`(?:bin/)?tenet ([a-z-][^`]*)`")
	flagName    = regexp.MustCompile(`^--([a-z][a-z-]*)`)
)

// Every command that the documentation shows exists, with the flags that it shows.
func TestDocsShowCommandsThatExist(t *testing.T) {
	parser, err := kong.New(&grammar{}, kong.Name("tenet"), kong.NamedMapper("filled", kong.MapperFunc(filled)))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"../../README.md", "../../CONTRIBUTING.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				block = !block
				continue
			}
			expr := spanCommand
			if block {
				expr = blockCommand
			}
			for _, m := range expr.FindAllStringSubmatch(line, -1) {
				seen++
				if problem := unknownIn(parser.Model.Node, strings.Fields(m[1])); problem != "" {
					t.Errorf("%s:%d: tenet %s: %s", strings.TrimPrefix(file, "../../"), i+1, m[1], problem)
				}
			}
		}
	}
	if seen < 400 {
		t.Errorf("%d commands found in the documentation; are they still found?", seen)
	}
}

// unknownIn returns what of a command line the grammar does not have: a command or a flag; "" if it has all of them.
func unknownIn(node *kong.Node, words []string) string {
	if len(words) > 0 && words[0] == "help" {
		words = words[1:]
	}
	for i, word := range words {
		if m := flagName.FindStringSubmatch(word); m != nil {
			if m[1] != "help" && !slices.ContainsFunc(node.AllFlags(false), func(group []*kong.Flag) bool { return slices.ContainsFunc(group, hasName(m[1])) }) {
				return "there is no flag --" + m[1]
			}
			continue
		}
		at := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		switch {
		case at >= 0:
			node = node.Children[at]
		case i == 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(word):
			return "there is no command " + word
		case word == "--" || node.Name == "mcp":
			return "" // what follows is for another program
		}
	}
	return ""
}

// hasName reports whether a flag has a name; the negated one too.
func hasName(name string) func(*kong.Flag) bool {
	return func(f *kong.Flag) bool {
		return f.Name == name || slices.Contains(f.Aliases, name) || (f.Tag.Negatable != "" && "no-"+f.Name == name)
	}
}
