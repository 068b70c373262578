package linter

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"tenet/internal/rule"
)

// class says what a rule is about. Severity follows from it and from the level.
type class string

const (
	security    class = "security"
	correctness class = "correctness"
	performance class = "performance"
	trials      class = "testing"
	design      class = "maintainability"
	docs        class = "documentation"
	naming      class = "naming"
	layout      class = "formatting"
)

var classes = map[string]class{
	"sec": security, "bug": correctness, "perf": performance, "test": trials, "design": design, "docs": docs,
	"name": naming, "form": layout,
}

// severity of a broken rule: HIGH for what fails the build and can do harm, LOW for layout and for most of what is only warned of.
func (c class) severity(l level) rule.Severity {
	harmful := c == security || c == correctness
	switch {
	case harmful && l == fail:
		return rule.High
	case harmful, l == fail && c != layout && c != naming && c != docs:
		return rule.Medium
	}
	return rule.Low
}

// entry is a row of a table: the class and the statement of a rule.
type entry struct {
	class     class
	statement string
}

// words are our tables of well-known rules, a file for each tool. A line is: name, or name=value for what the rule demands with that
// option; class; statement. Lines of a # are comments.
//
//go:embed words/*.txt
var words embed.FS

var tables = sync.OnceValue(func() map[string]map[string]entry {
	all := map[string]map[string]entry{}
	files, err := words.ReadDir("words")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	for _, f := range files {
		content, err := words.ReadFile("words/" + f.Name())
		if err != nil {
			panic(err)
		}
		read, err := parseWords(string(content))
		if err != nil {
			panic(f.Name() + ": " + err.Error())
		}
		all[strings.TrimSuffix(f.Name(), ".txt")] = read
	}
	return all
})

func parseWords(content string) (map[string]entry, error) {
	read := map[string]entry{}
	number := 0
	for line := range strings.Lines(content) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, "|", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("line %d has no three parts", number)
		}
		c, ok := classes[strings.TrimSpace(parts[1])]
		statement := strings.TrimSpace(parts[2])
		if !ok || !strings.HasSuffix(statement, ".") {
			return nil, fmt.Errorf("line %d: the class is unknown, or the statement is no sentence", number)
		}
		for key := range strings.SplitSeq(parts[0], ",") {
			key = strings.TrimSpace(key)
			if _, twice := read[key]; twice {
				return nil, fmt.Errorf("line %d: %s is there already", number, key)
			}
			read[key] = entry{class: c, statement: statement}
		}
	}
	return read, nil
}

// lookup finds a rule of a tool: with its option, or without.
func lookup(tool, key, value string) (entry, bool) {
	t := tables()[tool]
	if e, ok := t[key+"="+value]; ok && value != "" {
		return e, true
	}
	e, ok := t[key]
	return e, ok
}

// inTable reports whether a tool's table has a key with a value, and without one.
func inTable(tool, key string, value *node) (exact, plain bool) {
	t := tables()[tool]
	_, exact = t[key+"="+value.scalarText()]
	_, plain = t[key]
	return exact, plain
}

// rowsOf returns the lines of a table, except empty ones and comments.
func rowsOf(content string) []string {
	var rows []string
	for line := range strings.Lines(content) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && line[0] != '#' {
			rows = append(rows, line)
		}
	}
	return rows
}
