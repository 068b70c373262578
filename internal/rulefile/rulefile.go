// Package rulefile reads rule files in YAML and JSON. It reports everything that is wrong with the form of a file at once, each with its
// line, its column and what may have been meant, and writes the JSON Schema of the files.
package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Problem is something that is wrong at a place of a file.
type Problem struct {
	Line, Column int    // from 1
	Width        int    // columns that are wrong
	Field        string // such as rules[3].severity; empty for the file as a whole
	Message      string
	soft         bool  // the file can be read all the same, and an import reports the value
	value        *node // the wrong value, or its key; nil for a value that is missing
}

// Error implements [error].
func (p *Problem) Error() string {
	at := fmt.Sprintf("line %d, column %d: ", p.Line, p.Column)
	if p.Field == "" {
		return at + p.Message
	}
	return at + p.Field + " " + p.Message
}

// Error is an invalid file.
type Error struct {
	Problems []*Problem // in the order of the file
	source   *Source
	read     *wire.RuleFile
}

// File returns the file if only values of it are wrong, such as a severity that does not exist: an import names those together with what it
// finds itself. It is nil for a file in the wrong form.
func (e *Error) File() *wire.RuleFile { return e.read }

// soft returns the error of a check if only values are wrong.
func soft(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok || slices.ContainsFunc(e.Problems, func(p *Problem) bool { return !p.soft }) {
		return nil
	}
	return e
}

// Error implements [error].
func (e *Error) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error as callers of the API get it.
func (e *Error) Unwrap() error {
	if len(e.Problems) == 1 && e.Problems[0].Field == "" {
		return rule.Errorf(rule.CodeInvalid, "the rule file is not valid: %s", e.Problems[0].Error())
	}
	var p rule.Problems
	for _, one := range e.Problems {
		field := one.Field
		if field == "" {
			field = "rules"
		}
		p.Add(field, "%s (line %d, column %d)", one.Message, one.Line, one.Column)
	}
	return p.Err("the rule file is not valid")
}

// Source returns the text that the problems are in.
func (e *Error) Source() *Source { return e.source }

// Rest returns the rules of an invalid file without the values that are wrong, each with its number in the file, so that what else is wrong can be
// said together with the form. Rules that are no mappings are left out.
func (e *Error) Rest() (rules []wire.RuleInput, numbers []int) {
	if e.source.root == nil || e.source.root.get("rules") == nil {
		return nil, nil
	}
	wrong := map[*node]bool{}
	for _, p := range e.Problems {
		if p.value != nil {
			wrong[p.value] = true
		}
	}
	for i, n := range e.source.root.get("rules").items {
		rest := n.without(wrong)
		if rest == nil {
			continue
		}
		var in wire.RuleInput
		plain, err := json.Marshal(rest.plain(file.find("rules").shape.items))
		if err == nil && json.Unmarshal(plain, &in) == nil {
			rules, numbers = append(rules, in), append(numbers, i)
		}
	}
	return rules, numbers
}

// Named returns the slugs and ids of the rules of an invalid file; all is false if it may have others: a rule with neither, or rules that cannot be
// read.
func (e *Error) Named() (names []string, all bool) {
	if e.source.hidesRules() {
		return nil, false
	}
	all = true
	for _, r := range e.source.list("rules") {
		before := len(names)
		for _, key := range []string{"slug", "id"} {
			if n := r.get(key); n != nil && n.text != "" {
				names = append(names, n.text)
			}
		}
		all = all && len(names) > before
	}
	return names, all
}

// Cases returns the rules that the test cases of an invalid file name, each with the number of its case.
func (e *Error) Cases() (rules []string, numbers []int) {
	for i, c := range e.source.list("cases") {
		if n := c.get("rule"); n != nil && n.kind == isText && n.text != "" {
			rules, numbers = append(rules, n.text), append(numbers, i)
		}
	}
	return rules, numbers
}

// list returns the entries of a field of the file; none if it has no such field, or could not be read at all.
func (s *Source) list(name string) []*node {
	if s.root == nil {
		return nil
	}
	if n := s.root.get(name); n != nil {
		return n.items
	}
	return nil
}

// hidesRules reports whether a file may have rules that [Source.list] does not see: it could not be read at all, what should be the list of its
// rules is none, or the list may be below a name that is not known.
func (s *Source) hidesRules() bool {
	if s.root == nil || s.root.kind != isObject {
		return true
	}
	if rules := s.root.get("rules"); rules != nil {
		return rules.kind != isList
	}
	return slices.ContainsFunc(s.root.keys, func(k key) bool { return file.find(k.name.text) == nil })
}

// Covers reports whether one of the problems is about a field, or about something around it or within it: what else is wrong with the field may
// follow from that. Rules as a whole are no field in this sense.
func (e *Error) Covers(field string) bool {
	if wholeRule.MatchString(field) {
		return false
	}
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(e.Problems, func(p *Problem) bool { return p.Field != "" && (within(field, p.Field) || within(p.Field, field)) })
}

// wholeRule is the field of a rule as a whole.
var wholeRule = regexp.MustCompile(`^rules\[\d+\]$`)

// Source is the text of a file, whose fields have places.
type Source struct {
	lines []string
	root  *node
}

// Parse reads a file. A file in the wrong form gives an [Error] with all that is wrong with it. Unknown and repeated keys, anchors and
// aliases are refused.
func Parse(data []byte) (*wire.RuleFile, *Source, error) {
	if !utf8.Valid(data) {
		return nil, nil, rule.Errorf(rule.CodeInvalid, "the rule file is not valid UTF-8")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, nil, rule.Errorf(rule.CodeInvalid, "the rule file holds a NUL character")
	}
	s := &Source{}
	var f *wire.RuleFile
	var err error
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		f, err = s.parseJSON(data)
	} else {
		f, err = s.parseYAML(data)
	}
	s.lines = strings.Split(string(data), "\n")
	if err == nil {
		return f, s, nil
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return nil, nil, &Error{Problems: []*Problem{p}, source: s}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.source = s
	}
	return nil, nil, err
}

func (s *Source) parseJSON(data []byte) (*wire.RuleFile, error) {
	root, err := fromJSON(data)
	if err != nil {
		return nil, err
	}
	wrong := s.check(root)
	if wrong != nil && soft(wrong) == nil {
		return nil, wrong
	}
	plain, err := json.Marshal(root.plain(file))
	if err != nil {
		return nil, &Problem{Line: 1, Column: 1, Message: err.Error()}
	}
	f := &wire.RuleFile{}
	if err := json.Unmarshal(plain, f); err != nil {
		return nil, &Problem{Line: 1, Column: 1, Message: strings.TrimPrefix(err.Error(), "json: ")}
	}
	return withSoft(f, wrong)
}

// withSoft returns a file, or the error about its values, which keeps the file.
func withSoft(f *wire.RuleFile, wrong error) (*wire.RuleFile, error) {
	if e := soft(wrong); e != nil {
		e.read = f
		return nil, e
	}
	return f, nil
}

func (s *Source) parseYAML(data []byte) (*wire.RuleFile, error) {
	tokens := lexer.Tokenize(string(data))
	if err := noAliases(tokens); err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntax(err)
	}
	var found ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body == nil {
			continue
		}
		if found != nil {
			t := doc.Body.GetToken()
			return nil, &Problem{Line: t.Position.Line, Column: t.Position.Column, Message: "the rule file holds more than one YAML document"}
		}
		found = doc.Body
	}
	f := &wire.RuleFile{}
	if found == nil {
		return f, nil
	}
	root, err := fromYAML(found)
	if err != nil {
		return nil, err
	}
	wrong := s.check(root)
	if wrong != nil && soft(wrong) == nil {
		return nil, wrong
	}
	if root.kind == isNull {
		return f, nil
	}
	dec := yaml.NewDecoder(strings.NewReader(""), yaml.Strict(), yaml.CustomUnmarshaler(readTime))
	if err := dec.DecodeFromNode(found, f); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntax(err)
	}
	for i := range f.Cases {
		f.Cases[i].Facts = numbers(f.Cases[i].Facts)
	}
	return withSoft(f, wrong)
}

// syntax returns an error of the YAML library with its place.
func syntax(err error) error {
	p := &Problem{Line: 1, Column: 1, Width: 1, Message: strings.TrimSpace(yaml.FormatError(err, false, false))}
	located, ok := err.(yaml.Error) //nolint:errorlint // the library wraps none
	if ok && located.GetToken() != nil {
		p.Line, p.Column, p.Message = located.GetToken().Position.Line, located.GetToken().Position.Column, located.GetMessage()
	}
	return p
}

// maxDepth bounds the nesting of a file; rules need six levels.
const maxDepth = 32

// noAliases refuses what lets a small file grow large or deep when it is read.
func noAliases(tokens token.Tokens) error {
	depth := 0
	for _, t := range tokens {
		switch t.Type { //nolint:exhaustive // only these can do harm
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return &Problem{Line: t.Position.Line, Column: t.Position.Column, Width: 1, Message: "anchors, aliases and merge keys are not supported in rule files"}
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxDepth || t.Position.IndentNum > 4*maxDepth {
			return &Problem{Line: t.Position.Line, Column: t.Position.Column, Width: 1, Message: "the file is nested too deeply"}
		}
	}
	return nil
}

// readTime reads a time or a date, in UTC unless it has an offset. The YAML library reads an invalid time as the year 1, which
// would put a rule out of force by a typing error.
func readTime(t *time.Time, text []byte) error {
	s := strings.Trim(strings.TrimSpace(string(text)), `"'`)
	parsed, ok := timeOf(s)
	if !ok {
		return fmt.Errorf("%q is not a time such as 2026-01-31 or 2026-01-31T12:00:00Z", s)
	}
	*t = parsed
	return nil
}

func timeOf(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if parsed, err := time.Parse(layout, s); err == nil {
			return parsed, true
		}
	}
	return time.Time{}, false
}

// numbers turns the numbers that YAML decodes into those that JSON decodes, as facts have them.
func numbers[T any](v T) T {
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case uint64:
			return float64(v)
		case int64:
			return float64(v)
		case map[string]any:
			for key, inner := range v {
				v[key] = walk(inner)
			}
		case []any:
			for i, inner := range v {
				v[i] = walk(inner)
			}
		}
		return v
	}
	out, _ := walk(v).(T)
	return out
}

var step = regexp.MustCompile(`([A-Za-z_]+)|\[(\d+)\]`)

// inText is the place within a text that a message begins with, behind the name of a rule.
var inText = regexp.MustCompile(`^(?:[^\s:]+: )?(\d{1,5}):(\d{1,5}): `)

// Place returns the problem of a field such as rules[3].check.cel, at the field or at the innermost thing around it that the file has. Where the
// message begins with a place within the field's text, such as 2:14, it is that place.
func (s *Source) Place(f rule.FieldError) Problem {
	p := Problem{Line: 1, Column: 1, Width: 1, Field: f.Field, Message: f.Message}
	at := s.find(f.Field)
	if at == nil {
		return p
	}
	p.Line, p.Column, p.Width = at.line, at.column, at.width
	if m := inText.FindStringSubmatch(f.Message); m != nil && at.kind == isText {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		if l, c, ok := s.within(at, line, column); ok {
			p.Line, p.Column, p.Width = l, c, 1
		}
	}
	return p
}

// within returns the place in the file of a place in a text. It reports false for a text that the file writes in another way, such as with escapes
// or with its lines folded.
func (s *Source) within(n *node, line, column int) (int, int, bool) {
	rows := strings.Split(strings.TrimRight(n.text, "\n"), "\n")
	if line < 1 || line > len(rows) {
		return 0, 0, false
	}
	for first := n.line - 1; first <= n.line; first++ { // the text of a block begins on the line below its mark
		from := 0 // runes of the first line before the text
		if first == n.line-1 {
			from = max(n.column-1, 0)
		}
		if at, ok := s.rowAt(rows, first, from, line); ok {
			return first + line, at + column, true
		}
	}
	return 0, 0, false
}

// rowAt returns how many characters are before a row of a text whose rows are those of the file from a line on, if they are.
func (s *Source) rowAt(rows []string, first, from, row int) (at int, ok bool) {
	for i, text := range rows {
		if first+i >= len(s.lines) {
			return 0, false
		}
		line := s.lines[first+i]
		before := 0
		if i == 0 {
			runes := []rune(line)
			before = min(from, len(runes))
			line = string(runes[before:])
		}
		index := strings.Index(line, text)
		if index < 0 {
			return 0, false
		}
		if i == row-1 {
			at = before + utf8.RuneCountInString(line[:index])
		}
	}
	return at, true
}

// find returns a field, or the innermost thing around it that the file has; nil of a file without content.
func (s *Source) find(field string) *node {
	at := s.root
	if at == nil {
		return nil
	}
	for _, m := range step.FindAllStringSubmatch(field, -1) {
		var next *node
		if m[1] != "" {
			next = at.get(m[1])
		} else if n, err := strconv.Atoi(m[2]); err == nil && n < len(at.items) {
			next = at.items[n]
		}
		if next == nil {
			break
		}
		at = next
	}
	return at
}

// maxExcerpt is how many columns of a line an excerpt shows.
const maxExcerpt = 100

// Excerpt shows the line of a problem and marks its columns, on two lines; it is empty if the file has no such line.
func (s *Source) Excerpt(p *Problem) string {
	if p.Line < 1 || p.Line > len(s.lines) {
		return ""
	}
	line := []rune(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.TrimRight(s.lines[p.Line-1], "\r")))
	from := 0
	if p.Column > maxExcerpt-20 {
		from = min(p.Column-maxExcerpt/2, len(line))
	}
	shown := line[from:min(len(line), from+maxExcerpt)]
	column := max(p.Column-1-from, 0)
	width := max(1, min(p.Width, len(shown)-column))
	return fmt.Sprintf("%6d | %s\n       | %s%s", p.Line, string(shown), strings.Repeat(" ", column), strings.Repeat("^", width))
}
