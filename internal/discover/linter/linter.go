// Package linter finds rules in the settings of linters and formatters. Each setting that is switched on becomes a statement that
// a person can read, from tables of well-known rules in this package's own words.
package linter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Reader reads the settings of linters. It is a [source.Reader] and safe for concurrent use. The zero value is ready to use.
type Reader struct{}

// New makes a reader.
func New() *Reader { return &Reader{} }

// Kind implements [source.Reader].
func (*Reader) Kind() wire.SourceKind { return wire.LinterConfig }

// Reads reports whether a file is one of a linter that is known, by its path alone.
func (*Reader) Reads(file string) bool { return formatOf(file) != nil }

// Read finds the rules in settings files. A file that cannot be read is a problem and leaves the others alone.
func (*Reader) Read(ctx context.Context, files []source.File) ([]source.Found, []source.Problem) {
	var found []source.Found
	var problems []source.Problem
	for _, f := range files {
		if ctx.Err() != nil {
			break
		}
		read := formatOf(f.Path)
		if read == nil {
			continue
		}
		p, err := open(f)
		if err == nil {
			err = read(p)
		}
		if err != nil {
			problems = append(problems, problemOf(f.Path, err))
		}
		if p != nil {
			found = append(found, p.sorted()...)
			problems = append(problems, p.problems...)
		}
	}
	return found, problems
}

func problemOf(file string, err error) source.Problem {
	p := source.Problem{File: file, Reason: err.Error()}
	if s, ok := errors.AsType[*syntaxError](err); ok {
		p.Line, p.Reason = s.line, s.reason
	}
	return p
}

// page is one settings file and the findings in it. The functions that read the settings of one tool take it.
type page struct {
	path     string
	dir      string // folder of the file, "." for the root
	src      string
	lines    []string
	found    []source.Found
	problems []source.Problem
	// globs holds each glob of the file in the form that rules have; empty for one that no rule can have.
	globs map[string]string
}

func open(f source.File) (*page, error) {
	content := bytes.TrimPrefix(f.Content, []byte("\xef\xbb\xbf"))
	switch {
	case len(content) > maxFile:
		return nil, errors.New("it is larger than 1 MiB, which no settings file is")
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return nil, errors.New("it is not text in UTF-8")
	}
	src := string(content)
	return &page{path: f.Path, dir: path.Dir(f.Path), src: src, lines: strings.Split(src, "\n"), globs: map[string]string{}}, nil
}

// sorted returns the findings in the order of lines.
func (p *page) sorted() []source.Found {
	slices.SortStableFunc(p.found, func(a, b source.Found) int { return cmp.Compare(a.Line, b.Line) })
	return p.found
}

// quote returns the text of some lines, as far as 2,000 characters go, and the last line that it holds.
func (p *page) quote(line, end int) (string, int) {
	const most = 2000
	line = min(max(line, 1), len(p.lines))
	end = min(max(end, line), len(p.lines))
	quote := text.FitRunes(strings.TrimRight(p.lines[line-1], "\r"), most, "…")
	size := utf8.RuneCountInString(quote)
	for i := line; i < end; i++ {
		next := strings.TrimRight(p.lines[i], "\r")
		if size += 1 + utf8.RuneCountInString(next); size > most {
			return quote, i
		}
		quote += "\n" + next
	}
	return quote, end
}

// remark returns the comment at the end of a line: why people have switched a rule on is worth more than what it does.
func (p *page) remark(line int) string {
	if line < 1 || line > len(p.lines) {
		return ""
	}
	l := p.lines[line-1]
	for _, mark := range []string{" # ", " // "} {
		if i := strings.LastIndex(l, mark); i >= 0 && strings.TrimSpace(l[:i]) != "" {
			return text.FitRunes(strings.TrimSpace(l[i+len(mark):]), 500, "…")
		}
	}
	return ""
}

// glob returns a path glob from the root of the scan for one from the folder of the file.
func (p *page) glob(g string) string {
	g = strings.TrimPrefix(g, "./")
	if p.dir == "." {
		return g
	}
	if !strings.Contains(strings.TrimSuffix(g, "/"), "/") {
		return escapeGlob(p.dir) + "/**/" + g
	}
	return escapeGlob(p.dir) + "/" + strings.TrimPrefix(g, "/")
}

var globSigns = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

func escapeGlob(s string) string { return globSigns.Replace(s) }

// labelled drops what cannot be a glob of a rule: too long, empty, or more than there may be.
func labelled(globs []string) []string {
	var out []string
	for _, g := range globs {
		if n := utf8.RuneCountInString(g); n > 0 && n <= rule.MaxLabel && !slices.Contains(out, g) && len(out) < rule.MaxListItems {
			out = append(out, g)
		}
	}
	return out
}
