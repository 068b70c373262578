// Package code finds the conventions that code keeps: it counts the places that keep one and those that break it, and makes a
// candidate of what is kept nearly everywhere. Go is read with the parser of its standard library, Python, TypeScript and
// JavaScript with small lexers of our own; docs/adr/0015 says why.
package code

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/discover/source"
	"tenet/internal/wire"
)

// maxFile is the size in bytes up to which files are counted. What people write by hand is far smaller.
const maxFile = 1 << 20

// Reader finds conventions in code. It is a [source.Reader] and safe for concurrent use. The zero value is ready to use.
type Reader struct{}

// New makes a reader.
func New() *Reader { return &Reader{} }

// Kind implements [source.Reader].
func (*Reader) Kind() wire.SourceKind { return wire.CodePatterns }

// Reads reports whether a file is code in a language that it knows, and not built by a program.
func (*Reader) Reads(file string) bool { return languageOf(file) != "" }

// Read counts the conventions over all files together and returns those that are kept, in the order of their first place.
// When ctx ends it returns what was counted until then.
func (*Reader) Read(ctx context.Context, files []source.File) ([]source.Found, []source.Problem) {
	s := newSurvey(files)
	var problems []source.Problem
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		if err := s.file(files[i]); err != nil {
			problems = append(problems, *err)
		}
	}
	s.finishGo()
	return s.found(), problems
}

// Languages, by the name that their conventions begin with.
const (
	golang = "go"
	python = "python"
	script = "script" // TypeScript and JavaScript
)

var languages = map[string]string{
	".go": golang, ".py": python, ".ts": script, ".tsx": script, ".mts": script, ".cts": script, ".js": script, ".jsx": script,
	".mjs": script, ".cjs": script,
}

// languageOf returns the language of a file; empty for one that is not read.
func languageOf(file string) string {
	for part := range strings.SplitSeq(path.Dir(file), "/") {
		switch part {
		case "dist", "build", "coverage", ".git":
			return ""
		}
	}
	base := path.Base(file)
	if strings.HasSuffix(base, ".d.ts") || strings.Contains(base, ".min.") || strings.Contains(base, ".config.") {
		return ""
	}
	return languages[strings.ToLower(path.Ext(base))]
}

// file counts one file.
func (s *survey) file(f source.File) *source.Problem {
	language := languageOf(f.Path)
	if language == "" {
		return nil
	}
	content := bytes.TrimPrefix(f.Content, []byte("\xef\xbb\xbf"))
	switch {
	case len(content) > maxFile:
		return &source.Problem{File: f.Path, Reason: "it is larger than 1 MiB and not counted"}
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return &source.Problem{File: f.Path, Reason: "it is not text in UTF-8"}
	case len(bytes.TrimSpace(content)) == 0:
		return nil
	}
	u := &unit{survey: s, path: f.Path, src: string(content), language: language, test: testFile(f.Path)}
	if line := generated(u.src); line > 0 {
		s.vote(language+".generated", "yes", place{file: f.Path, line: line, text: lineAt(u.src, line)})
		return nil // nobody keeps a convention in it
	}
	u.names()
	u.licence()
	switch language {
	case golang:
		return u.golang()
	case python:
		u.python()
	case script:
		u.script()
	}
	return nil
}

// unit is one file while it is counted.
type unit struct {
	survey   *survey
	path     string
	src      string
	language string
	test     bool
}

// vote counts a place of this file.
func (u *unit) vote(question, choice string, line int) {
	u.survey.vote(question, choice, place{file: u.path, line: line, text: ""})
}

// count counts a place that keeps or breaks a convention which has no alternatives.
func (u *unit) count(question string, keeps bool, line int) {
	choice := "no"
	if keeps {
		choice = "yes"
	}
	u.vote(question, choice, line)
}

// place is a line of a file.
type place struct {
	file string
	line int
	text string // empty until a finding needs it, which looks it up
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// lineAt returns the text of a line that counts from 1.
func lineAt(src string, line int) string {
	for l := range strings.Lines(src) {
		if line--; line == 0 {
			return strings.TrimRight(l, "\r\n")
		}
	}
	return ""
}

// generated returns the line that says a file is generated, among the first few; 0 without one.
func generated(src string) int {
	line := 0
	for l := range strings.Lines(src) {
		if line++; line > 20 {
			return 0
		}
		mark := strings.ToLower(l)
		comment := strings.HasPrefix(strings.TrimLeft(l, " \t"), "//") || strings.HasPrefix(l, "#") || strings.HasPrefix(strings.TrimLeft(l, " "), "*") || strings.HasPrefix(l, "/*")
		if comment && (strings.Contains(mark, "do not edit") || strings.Contains(mark, "@generated")) {
			return line
		}
	}
	return 0
}

// testFile reports whether a file holds tests, by its path.
func testFile(file string) bool {
	base := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if strings.HasSuffix(base, "_test") || strings.HasSuffix(base, ".test") || strings.HasSuffix(base, ".spec") || strings.HasPrefix(base, "test_") || base == "conftest" {
		return true
	}
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(part string) bool {
		return part == "test" || part == "tests" || part == "__tests__" || part == "e2e"
	})
}

// licence counts whether a file begins with a notice of copyright or licence.
func (u *unit) licence() {
	line := 0
	for l := range strings.Lines(u.src) {
		line++
		bare := strings.TrimSpace(l)
		if line > 15 || bare != "" && !strings.HasPrefix(bare, "//") && !strings.HasPrefix(bare, "#") && !strings.HasPrefix(bare, "/*") && !strings.HasPrefix(bare, "*") {
			break
		}
		if strings.Contains(bare, "Copyright") || strings.Contains(bare, "SPDX-License-Identifier") || strings.Contains(bare, "@license") {
			u.survey.vote(u.language+".licence", "yes", place{file: u.path, line: line, text: strings.TrimRight(l, "\r\n")})
			return
		}
	}
	u.count(u.language+".licence", false, 1)
}
