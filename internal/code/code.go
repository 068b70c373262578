// Package code reads facts from source code that rules ask about: calls, imports, assignments, strings and decorators. Go is read by its own
// parser, where a whole file is at hand; Python, JavaScript, TypeScript, Java and Rust, and parts of Go files, are read by tokens.
//
// The bytes are hostile. Whatever could hide a fact, such as a string that is not closed or a slash that may begin a regular expression, is a
// doubt, and [Facts.Doubt] says so: a reader must then not conclude that a fact is absent. Time is linear in the length of the source.
package code

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Languages.
const (
	Go         = "go"
	Python     = "python"
	JavaScript = "javascript"
	TypeScript = "typescript"
	Java       = "java"
	Rust       = "rust"
)

// Limits of one source.
const (
	// MaxSource is the longest source, in bytes, that is read.
	MaxSource = 512 << 10

	maxDepth = 200    // brackets inside one another
	maxFacts = 20_000 // of one kind
	maxArgs  = 30     // of a call
	maxText  = 500    // bytes of an argument or a value
	maxName  = 300    // bytes of a name
)

// Span is the place of a fact.
type Span struct {
	// Line and End are its first and last line, from 1.
	Line, End int
	// at is its first byte, by which readings of the same text recognise it.
	at int
}

// Call is a call of a function, a method, a constructor or a macro.
type Call struct {
	Span

	// Name is the name as written, without spaces: os.system, std::process::exit, println!. A part that is no name is (), [] or "".
	Name string
	// Targets are Name and what it may mean by the imports and assignments of the same source: subprocess.run for sp.run after
	// "import subprocess as sp".
	Targets []string
	// Args are the arguments as written, on one line each, cut to 500 bytes.
	Args []string
	// Constant says that the arguments are literals.
	Constant bool
}

// Import is an import of a module, or of one of its names.
type Import struct {
	Span

	// Module is the module or package: os.path, node:fs, java.util.List, std::process::Command.
	Module string
	// Name is the imported name; empty for the module itself, * for all names.
	Name string
	// Path is both: os.path, os.system.
	Path string
	// Alias is the name that the source uses for it; empty if it uses none.
	Alias string
}

// Assignment is an assignment to a name or a field, also one that declares it.
type Assignment struct {
	Span

	Name     string
	Value    string // as written, on one line, cut to 500 bytes
	Constant bool   // Value is a literal
}

// String is a text literal.
type String struct {
	Span

	Value string // with escapes resolved
}

// Decorator is a decorator, an annotation or an attribute.
type Decorator struct {
	Span

	Name string
	Args []string
}

// Facts are the facts of a source.
type Facts struct {
	// Package is the name in the package clause of Go and Java.
	Package     string
	Calls       []Call
	Imports     []Import
	Assignments []Assignment
	Strings     []String
	Decorators  []Decorator
	// Doubt says why facts may be absent here that the source has; empty if none can be. ImportDoubt says so of imports alone.
	Doubt, ImportDoubt string
}

// endings are the languages by the ending of a path.
var endings = map[string]string{
	".go": Go, ".py": Python, ".pyi": Python, ".pyw": Python,
	".js": JavaScript, ".jsx": JavaScript, ".mjs": JavaScript, ".cjs": JavaScript, ".ts": TypeScript, ".tsx": TypeScript, ".mts": TypeScript, ".cts": TypeScript,
	".java": Java, ".rs": Rust,
}

// LanguageOf returns the language of a file by the ending of its path, or by the program that its first line names after "#!"; empty for
// another one.
func LanguageOf(file, first string) string {
	if l, ok := endings[strings.ToLower(path.Ext(file))]; ok {
		return l
	}
	if program, ok := strings.CutPrefix(first, "#!"); ok {
		switch {
		case strings.Contains(program, "python"):
			return Python
		case strings.Contains(program, "node"), strings.Contains(program, "deno"), strings.Contains(program, "bun"):
			return JavaScript
		}
	}
	return ""
}

// embedding are the languages in files of other forms, by the ending of a path.
var embedding = map[string]string{".ipynb": Python, ".pyx": Python, ".pxd": Python, ".vue": JavaScript, ".svelte": JavaScript, ".astro": JavaScript}

// EmbeddedIn returns the language whose code a file holds without being a source file of it, by the ending of its path; empty for another one,
// and for a page, about which [HoldsScript] reports.
func EmbeddedIn(file string) string { return embedding[strings.ToLower(path.Ext(file))] }

// Read reads a whole file.
func Read(file, language, src string) *Facts {
	src, doubt := prepare(language, src)
	if doubt != "" {
		return &Facts{Doubt: doubt}
	}
	s := scan(language, file, src, inCode)
	f := s.facts(false)
	if language == Go {
		f = readGo(file, src, f)
	}
	f.resolve(language)
	return f
}

// Fragment is a part of a file, such as a hunk of a diff, in three readings: what the lines before it are is not known, so it may begin within
// a comment or a string.
type Fragment struct {
	// Normal is the reading from code on. Least has the facts that all readings have, Most those that any has.
	Normal, Least, Most *Facts
}

// ReadFragment reads a part of a file. Starts says that the part is the beginning of the file, so that it begins within nothing.
func ReadFragment(file, language, src string, starts bool) Fragment {
	src, doubt := prepare(language, src)
	if doubt != "" {
		f := &Facts{Doubt: doubt}
		return Fragment{f, f, f}
	}
	s := scan(language, file, src, inCode)
	normal := s.facts(true)
	normal.resolve(language)
	out := Fragment{normal, normal, normal}
	if starts {
		return out
	}
	most := *normal
	most.Calls, most.Imports, most.Assignments = slices.Clone(normal.Calls), slices.Clone(normal.Imports), slices.Clone(normal.Assignments)
	most.Strings, most.Decorators = slices.Clone(normal.Strings), slices.Clone(normal.Decorators)
	for _, start := range otherStarts(language) {
		other := scan(language, file, src, start)
		f := other.facts(true)
		if other.fault != "" { // it cannot be read so
			continue
		}
		f.resolve(language)
		most.join(f)
	}
	out.Least, out.Most = &Facts{Doubt: normal.Doubt}, &most // all of the part may be within a comment
	return out
}

// join adds the facts of another reading of the same source.
func (f *Facts) join(g *Facts) {
	f.Calls = union(f.Calls, g.Calls, func(c Call) (int, string) { return c.at, c.Name })
	f.Imports = union(f.Imports, g.Imports, func(i Import) (int, string) { return i.at, i.Module + " " + i.Name + " " + i.Alias })
	f.Assignments = union(f.Assignments, g.Assignments, func(a Assignment) (int, string) { return a.at, a.Name + " " + a.Value })
	f.Strings = union(f.Strings, g.Strings, func(s String) (int, string) { return s.at, s.Value })
	f.Decorators = union(f.Decorators, g.Decorators, func(d Decorator) (int, string) { return d.at, d.Name })
	if f.Doubt == "" {
		f.Doubt = g.Doubt
	}
	if f.ImportDoubt == "" {
		f.ImportDoubt = g.ImportDoubt
	}
}

func union[T any](a, b []T, key func(T) (int, string)) []T {
	type place struct {
		at   int
		name string
	}
	seen := make(map[place]bool, len(a))
	for _, x := range a {
		at, name := key(x)
		seen[place{at, name}] = true
	}
	for _, x := range b {
		if at, name := key(x); !seen[place{at, name}] {
			a = append(a, x)
		}
	}
	return a
}

// prepare returns a source with line ends of one kind, or says why it is not read.
func prepare(language, src string) (string, string) {
	switch {
	case len(src) > MaxSource:
		return "", "it is longer than 512 KB"
	case !utf8.ValidString(src):
		return "", "it is not UTF-8"
	}
	src = strings.ReplaceAll(strings.TrimPrefix(src, "\ufeff"), "\r\n", "\n")
	if strings.Contains(src, "\r") {
		return "", "it has a carriage return that some programs read as the end of a line"
	}
	switch language {
	case JavaScript, TypeScript:
		if strings.ContainsAny(src, "\u2028\u2029") {
			return "", "it has a character that ends a line in JavaScript only"
		}
	case Python:
		if name := encodingOf(src); name != "" {
			return "", "it says that it is written in " + name
		}
	case Java:
		return javaEscapes(src)
	}
	return src, ""
}

// encodingOf returns the encoding that a comment in the first two lines of a Python file names, if it is not one in which ASCII is itself.
func encodingOf(src string) string {
	for i, line := range strings.SplitN(src, "\n", 3) {
		if i == 2 || !strings.HasPrefix(strings.TrimLeft(line, " \t\f"), "#") {
			continue
		}
		_, rest, ok := strings.Cut(line, "coding")
		if !ok || rest == "" || rest[0] != ':' && rest[0] != '=' {
			continue
		}
		name := strings.ToLower(strings.TrimLeft(rest[1:], " \t"))
		end := strings.IndexFunc(name, func(r rune) bool {
			return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		})
		if end >= 0 {
			name = name[:end]
		}
		switch strings.ReplaceAll(name, "_", "-") {
		case "utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "iso-8859-15", "cp1252":
		default:
			return "the encoding " + name
		}
	}
	return ""
}
