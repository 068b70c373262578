package wordtest

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// habit is a way of writing that makes a reader look twice, and what to write for it.
type habit struct {
	found   *regexp.Regexp
	instead string
}

// habits lists what stays out. Each row needs an example in TestHabits.
var habits = []habit{
	{words(`tell|tells|telling|told`), "the verb that says how: reports, returns, logs, publishes, lists"},
	{words(`anew`), "again"},
	{words(`for ever`), "without limit, or permanently"},
	{words(`whoever|whosoever`), "the person or part that is meant: the caller, the reader"},
	{words(`by itself|by themselves|of its own accord|of their own accord`), "automatically, or nothing"},
	{words(`stands? (?:in|for|at|on|there|where|before|behind|beside|as)`), "is in, occurs in, means"},
	{words(`but for`), "except"},
	{words(`bears? (?:with|to|being|it|what)`), "tolerates"},
	{words(`(?:is|are|was|were) what`), "the noun that is meant"},
	{words(`(?:hearing|hearings|docket|dockets|keepsake|keepsakes|maimed|lump|lumps)`), "the field's word"},
}

func words(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + alternatives + `)\b`)
}

// TestPlainWords reads all comments and help texts of programs, and all documents.
func TestPlainWords(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != root && skipped(e.Name()):
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		var found []string
		switch {
		case strings.HasSuffix(file, "_test.go"):
			return nil
		case filepath.Ext(file) == ".go":
			found, err = program(file)
		case filepath.Ext(file) == ".md":
			found, err = document(file)
		default:
			return nil
		}
		files++
		for _, line := range found {
			t.Error(line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("read only %d files; the walk must have missed the others", files)
	}
}

// skipped reports whether a folder holds nothing of our own writing.
func skipped(name string) bool {
	return name == "testdata" || name == "bin" || name == "node_modules" || name[0] == '.'
}

// program finds habits in the comments and help tags of a Go file.
func program(file string) ([]string, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	var found []string
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			found = append(found, inText(file, fset.Position(c.Pos()).Line, c.Text)...)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			return true
		}
		for _, key := range []string{"help", "doc"} {
			found = append(found, inText(file, fset.Position(field.Tag.Pos()).Line, reflect.StructTag(tag).Get(key))...)
		}
		return true
	})
	return found, nil
}

// document finds habits in a Markdown file, outside its blocks of code.
func document(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found []string
	code := false
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, 1<<20)
	for n := 1; scanner.Scan(); n++ {
		if strings.HasPrefix(strings.TrimSpace(scanner.Text()), "```") {
			code = !code
		}
		if !code {
			found = append(found, inText(file, n, scanner.Text())...)
		}
	}
	return found, scanner.Err()
}

// inText finds habits in a text that begins at a line of a file.
func inText(file string, first int, text string) []string {
	var found []string
	for i, line := range strings.Split(text, "\n") {
		for _, h := range habits {
			if m := h.found.FindString(line); m != "" {
				name, err := filepath.Rel(root, file)
				if err != nil {
					name = file
				}
				found = append(found, fmt.Sprintf("%s:%d: %q: write %s", name, first+i, m, h.instead))
			}
		}
	}
	return found
}

// TestHabits finds each habit once, and none in plain text.
func TestHabits(t *testing.T) {
	const text = `The reader tells the caller.
It runs anew.
It waits for ever.
Whoever calls it waits.
It ends by itself.
The word stands in the text.
All rules but for one apply.
It bears being called twice.
This is what callers see.
The docket holds the units.
The reader reports the error, waits without limit, and is in the text, but only for one rule.`
	var got []string
	for _, line := range inText(root+"/a.md", 1, text) {
		got = append(got, line[:strings.Index(line, ": write")])
	}
	want := []string{
		`a.md:1: "tells"`, `a.md:2: "anew"`, `a.md:3: "for ever"`, `a.md:4: "Whoever"`, `a.md:5: "by itself"`, `a.md:6: "stands in"`,
		`a.md:7: "but for"`, `a.md:8: "bears being"`, `a.md:9: "is what"`, `a.md:10: "docket"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found (-want +got)\n%s", diff)
	}
}
