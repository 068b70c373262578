package rulefile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"tenet/internal/rule"
	"tenet/internal/text"
)

// maxProblems bounds the problems of one file.
const maxProblems = 200

// checking is one check of a tree against the shape of files.
type checking struct{ problems []*Problem }

// check returns an [Error] with all that is wrong with the form of a file, or nil.
func (s *Source) check(root *node) error {
	s.root = root
	if root.kind == isNull {
		return nil
	}
	c := &checking{}
	c.value(root, file, "")
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b *Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if len(c.problems) > maxProblems {
		more := len(c.problems) - maxProblems
		c.problems = c.problems[:maxProblems]
		c.problems[maxProblems-1].Message += fmt.Sprintf("; %d more places are wrong", more)
	}
	return &Error{Problems: c.problems, source: s}
}

// add adds that something is wrong with a value.
func (c *checking) add(n *node, field, format string, args ...any) {
	c.addMissing(n, field, format, args...)
	c.problems[len(c.problems)-1].value = n
}

// addMissing adds that a value lacks a field.
func (c *checking) addMissing(n *node, field, format string, args ...any) {
	c.problems = append(c.problems, &Problem{Line: n.line, Column: n.column, Width: n.width, Field: field, Message: fmt.Sprintf(format, args...)})
}

// addSoft adds a value that an import reports too.
func (c *checking) addSoft(n *node, field, format string, args ...any) {
	c.add(n, field, format, args...)
	c.problems[len(c.problems)-1].soft = true
}

func (c *checking) value(n *node, s *shape, at string) {
	switch s.kind {
	case object:
		c.object(n, s, at)
	case list:
		if n.kind != isList {
			c.wrong(n, s, at)
			return
		}
		for i, item := range n.items {
			c.value(item, s.items, fmt.Sprintf("%s[%d]", at, i))
		}
		switch {
		case len(n.items) < s.shortest:
			c.add(n, at, "must not be empty")
		case s.longest > 0 && len(n.items) > s.longest:
			c.add(n, at, "has %d entries; at most %d are allowed", len(n.items), s.longest)
		}
	case words, moment:
		if n.kind != isText {
			c.wrong(n, s, at)
			return
		}
		c.text(n, s, at)
	case whole:
		if n.kind != isWhole {
			c.wrong(n, s, at)
		}
	case truth:
		if n.kind != isTruth {
			c.wrong(n, s, at)
		}
	case anything:
	}
}

// wrong adds that a value is of another kind.
func (c *checking) wrong(n *node, s *shape, at string) {
	is := n.kind.String()
	if n.kind == isWhole || n.kind == isNumber || n.kind == isTruth {
		is = n.text
	}
	hint := ""
	switch {
	case s.kind == words && (n.kind == isWhole || n.kind == isNumber || n.kind == isTruth):
		hint = fmt.Sprintf(`; write it in quotes: "%s"`, text.Clip(n.text, 40, "…"))
	case s.kind == list && n.kind != isObject && n.kind != isNull:
		hint = "; write it as [" + text.Clip(strings.TrimSpace(n.text), 40, "…") + "]"
	case s.name == "Pattern" && n.kind == isText:
		hint = "; write it as {regex: " + quoted(text.Clip(n.text, 60, "…")) + "}"
	case s.kind == truth && n.kind == isText:
		hint = "; write true or false without quotes"
	}
	if at == "" {
		at = "the file"
	}
	c.add(n, at, "must be %s, not %s%s", s.kind.noun(), text.Clip(is, 40, "…"), hint)
}

// quoted returns a text in single quotes, in which YAML has no escapes but doubled quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (c *checking) object(n *node, s *shape, at string) {
	if n.kind != isObject {
		c.wrong(n, s, at)
		return
	}
	if s.fields == nil {
		return // facts
	}
	prefix := at
	if at != "" {
		prefix += "."
	}
	for _, k := range n.keys {
		f := s.find(k.name.text)
		if f == nil {
			c.unknown(k.name, s, prefix)
			continue
		}
		if k.value.kind == isNull && !f.never {
			continue
		}
		c.value(k.value, f.shape, prefix+f.name)
	}
	for _, f := range s.fields {
		if f.required && n.get(f.name) == nil {
			c.addMissing(n, prefix+f.name, "is missing")
		}
	}
	present := func(names []string) (found []string) {
		for _, name := range names {
			if n.get(name) != nil {
				found = append(found, name)
			}
		}
		return found
	}
	if len(s.some) > 0 && len(present(s.some)) == 0 {
		c.addMissing(n, prefix+s.some[0], "is missing; one of %s is needed", strings.Join(s.some, ", "))
	}
	if found := present(s.exactly); len(s.exactly) > 0 && len(found) != 1 {
		is := "none of them"
		if len(found) > 0 {
			is = strings.Join(found, " and ")
		}
		if at == "" {
			at = "the file"
		}
		c.add(n, at, "needs exactly one of %s, and has %s", strings.Join(s.exactly, ", "), is)
	}
}

func (c *checking) unknown(n *node, s *shape, prefix string) {
	field := prefix + text.Clip(n.text, 60, "…")
	if s.name == "Defaults" && slices.Contains(ownFields, n.text) {
		c.add(n, field, "must not be in defaults: it belongs to one rule")
		return
	}
	if near := text.Near(n.text, s.names(), 2); len(near) > 0 {
		c.add(n, field, "is not a field here%s", text.DidYouMean(near))
		return
	}
	c.add(n, field, "is not a field here; use one of %s", strings.Join(s.names(), ", "))
}

// expressions are the compiled patterns of the shape.
var expressions sync.Map

func matches(pattern, s string) bool {
	re, ok := expressions.Load(pattern)
	if !ok {
		re, _ = expressions.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return re.(*regexp.Regexp).MatchString(s)
}

func (c *checking) text(n *node, s *shape, at string) {
	count := utf8.RuneCountInString(n.text)
	shown := text.Clip(n.text, 60, "…")
	switch {
	case s.values != nil:
		is := func(v string) bool { return v == n.text || s.folds && strings.EqualFold(v, n.text) }
		if slices.ContainsFunc(s.values, is) {
			return
		}
		near := text.Near(strings.TrimSpace(n.text), s.values, 2)
		c.addSoft(n, at, "is %q; use one of %s%s", shown, strings.Join(s.values, ", "), text.DidYouMean(near))
	case strings.ContainsRune(n.text, 0):
		c.addSoft(n, at, "holds a NUL character")
	case s.shortest > 0 && strings.TrimSpace(n.text) == "":
		c.addSoft(n, at, "must not be empty")
	case s.longest > 0 && count > s.longest:
		c.addSoft(n, at, "has %d characters; at most %d are allowed", count, s.longest)
	case s.pattern != "" && !matches(s.pattern, n.text), s.without != "" && matches(s.without, n.text):
		c.addSoft(n, at, "is %q; it %s", shown, s.mismatch)
	case s.kind == moment:
		if _, ok := timeOf(n.text); !ok {
			c.add(n, at, "is %q; it %s", shown, s.mismatch)
		}
	}
}

// With returns an [Error] of what is wrong with fields of a file that has the right form, at their places.
func (s *Source) With(fields []rule.FieldError) *Error {
	e := &Error{source: s}
	for _, f := range fields {
		p := s.Place(f)
		e.Problems = append(e.Problems, &p)
	}
	slices.SortStableFunc(e.Problems, func(a, b *Problem) int { return a.Line - b.Line })
	return e
}
