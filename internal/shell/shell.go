// Package shell reads shell programs without running them. Commands lists every simple command that a program may run, with
// quoting, variables and wrappers such as sudo or sh -c resolved. Effect works out which files a program leaves behind, and names
// everything that it could not work out. Programs are hostile: length, nesting and work are bounded.
//
// # Where things are
//
//	shell.go, line.go     what callers use: Parse, Commands, command lines among prose
//	word.go, param.go     words, their quotes, variables and holes for what is not known
//	command.go            simple commands and pipes; compound.go those with commands in them
//	wrapper.go, xargs.go  programs that run another, such as sudo and xargs
//	flowing.go, echo.go   what checks ask of a command: its program, its output
//	effect.go             Effect and the file system that it starts from; disk.go is that of the machine
//	tree.go               files in memory over a file system
//	trace.go, program.go  following a program; flow.go its conditions and loops, stream.go its files and pipes
//	filing.go, sed.go     programs that change files; patch.go those that apply patches; reader.go those that change none
package shell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a program.
const (
	// MaxLength is the most bytes of a program.
	MaxLength = 64 << 10
	maxDepth  = 100   // nested constructs of one program, and programs within programs
	maxNodes  = 50000 // nodes of the syntax tree
)

// Dialect is the shell whose reading of a program counts.
type Dialect int

// Dialects. Bash is bash, and zsh where the two agree: Effect does not know what they read differently. Sh is the part that
// POSIX shells such as dash, and bash under the name sh, agree on.
const (
	Bash Dialect = iota
	Sh
)

func (d Dialect) variant() syntax.LangVariant {
	if d == Sh {
		return syntax.LangPOSIX
	}
	return syntax.LangBash
}

// Script is a program that has been parsed.
type Script struct {
	dialect Dialect
	stmts   []*syntax.Stmt
	unsure  string // why shells may read the text in another way; empty if they do not
}

// Parse reads a program of the dialect Bash. Its error says in words why the program cannot be read.
func Parse(command string) (Script, error) { return ParseAs(command, Bash) }

// ParseAs reads a program of a dialect.
func ParseAs(command string, d Dialect) (s Script, err error) {
	switch {
	case len(command) > MaxLength:
		return Script{}, fmt.Errorf("the command has %d bytes, and at most %d can be read", len(command), MaxLength)
	case strings.IndexByte(command, 0) >= 0:
		return Script{}, errors.New("the command has a NUL")
	case strings.IndexByte(command, '\r') >= 0:
		// The parser takes CR LF for an end of line, where shells keep the CR.
		return Script{}, errors.New("the command has a carriage return, which programs read differently")
	case nesting(command) > maxDepth:
		return Script{}, fmt.Errorf("the command has more than %d nested brackets", maxDepth)
	}
	defer func() {
		if p := recover(); p != nil {
			s, err = Script{}, fmt.Errorf("the command cannot be read: %v", p)
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(d.variant())).Parse(strings.NewReader(command), "")
	for range maxUnclosed {
		m := unclosed.FindStringSubmatch(errorText(err))
		if m == nil {
			break
		}
		s.unsure = "a here-document ends with the program"
		command += "\n" + m[1] + "\n"
		file, err = syntax.NewParser(syntax.Variant(d.variant())).Parse(strings.NewReader(command), "")
	}
	if err != nil {
		return Script{}, fmt.Errorf("the command cannot be read: %w", err)
	}
	if err := bounded(file); err != nil {
		return Script{}, err
	}
	if strayDocument(file) {
		return Script{}, errors.New("the text of a here-document is outside of the brackets that it begins in, which shells read in several ways")
	}
	return Script{dialect: d, stmts: file.Stmts, unsure: s.unsure}, nil
}

// unclosed matches the error of the parser about a here-document that the end of the program ends, which shells accept.
var unclosed = regexp.MustCompile("unclosed here-document [`']([^`'\\s]+)[`']")

// maxUnclosed is the most here-documents that the end of a program ends.
const maxUnclosed = 5

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// nesting returns the most brackets that are open at one place, ignoring quotes. The parser takes time in proportion to the square
// of the nesting.
func nesting(text string) int {
	open, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			open++
			most = max(most, open)
		case ')', '}', ']':
			open = max(0, open-1)
		}
	}
	return most
}

// bounded returns an error for a tree that is too deep or too large.
func bounded(file *syntax.File) error {
	depth, nodes, deepest := 0, 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		nodes++
		deepest = max(deepest, depth)
		return true
	})
	switch {
	case deepest > 8*maxDepth: // a nested construct is several nodes
		return fmt.Errorf("the command has more than %d nested parts", maxDepth)
	case nodes > maxNodes:
		return fmt.Errorf("the command has more than %d parts", maxNodes)
	}
	return nil
}

// strayDocument reports whether the text of a here-document is after the end of the substitution that has its operator. Some shells
// take its lines for commands.
func strayDocument(file *syntax.File) bool {
	stray := false
	var check func(n syntax.Node, end syntax.Pos)
	check = func(n syntax.Node, end syntax.Pos) {
		syntax.Walk(n, func(inner syntax.Node) bool {
			switch x := inner.(type) {
			case *syntax.CmdSubst:
				if inner != n {
					check(x, x.Right)
					return false
				}
			case *syntax.ProcSubst:
				if inner != n {
					check(x, x.Rparen)
					return false
				}
			case *syntax.Redirect:
				if x.Hdoc != nil && end.IsValid() && x.Hdoc.Pos().After(end) {
					stray = true
				}
			}
			return true
		})
	}
	check(file, syntax.Pos{})
	return stray
}
