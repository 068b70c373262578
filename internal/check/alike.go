package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"tenet/internal/charset"
)

// errAlike is why two texts have no result: people and many programs take them for equal.
const errAlike = "texts that differ only in blanks at their ends, in characters that hide others or in how accents are written may mean the same; " +
	"send them as they are meant"

// lookAlike reports whether two texts that are not equal are equal without blanks at their ends, in their second reading, and whichever way letters
// with accents are written. It reads them only as far as they are equal; texts with more hidden characters than it reads are alike. Signs alone, such
// as separators, are meant as they are.
func lookAlike(a, b string) bool {
	if a != "" && b != "" && a[0] != b[0] && shows(a[0]) && shows(b[0]) {
		return false
	}
	x, y := rereading{rest: a}, rereading{rest: b}
	r, s := x.skipBlanks(), y.skipBlanks()
	for r == s && r != endOfText {
		r, s = x.next(), y.next()
	}
	if !x.onlyBlanks(r) || !y.onlyBlanks(s) {
		return x.beyond || y.beyond
	}
	return x.beyond || y.beyond || a == "" || b == "" || !onlySigns(a) && !onlySigns(b)
}

// onlySigns reports whether a text has only blanks and signs.
func onlySigns(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsPunct(r) && !unicode.IsSymbol(r) }) < 0
}

// rereading reads a text in its second reading, with letters and their accents apart.
type rereading struct {
	rest, form string
	// ahead was read and is next, if it is more than 0.
	ahead rune
	// apart are the letters and accents of a character that was read.
	apart []byte
	// hidden counts the characters that were left out, and beyond says that they were too many to read on.
	hidden int
	beyond bool
}

// Bounds of what a comparison reads.
const (
	maxHidden = 1_000 // characters that are left out
	maxMarks  = 100   // bytes of the accents of one letter
)

// endOfText is no character.
const endOfText = rune(-1)

// next returns the next character of the reading.
func (t *rereading) next() rune {
	if len(t.apart) > 0 {
		r, size := utf8.DecodeRune(t.apart)
		t.apart = t.apart[size:]
		return r
	}
	r := t.ahead
	if t.ahead = 0; r == 0 {
		r = t.read()
	}
	if r < utf8.RuneSelf {
		return r
	}
	whole := utf8.AppendRune(nil, r)
	for {
		t.ahead = t.read()
		if t.ahead < utf8.RuneSelf || !charset.IsMark(t.ahead) {
			break
		}
		if whole = utf8.AppendRune(whole, t.ahead); len(whole) > maxMarks {
			return t.stop()
		}
	}
	t.apart = charset.Apart(whole)
	return t.next()
}

// read returns the next character, with its accents if it was written so.
func (t *rereading) read() rune {
	for t.form == "" {
		if t.rest == "" || t.beyond {
			return endOfText
		}
		if t.rest[0] == '\\' {
			reads, n := backslash(t.rest)
			t.form, t.rest = reads, t.rest[n:]
			break
		}
		r, size := utf8.DecodeRuneInString(t.rest)
		t.rest = t.rest[size:]
		switch kindOfChar(r) {
		case invisible:
			if t.hides() {
				return endOfText
			}
		case lineEnd:
			return '\n'
		case space:
			return ' '
		case variant:
			t.form = charset.ASCIIForm(r)
		case plainChar:
			return r
		}
	}
	r, size := utf8.DecodeRuneInString(t.form)
	t.form = t.form[size:]
	return r
}

// hides counts a character that is left out, and reports whether it is one too many.
func (t *rereading) hides() bool {
	if t.hidden++; t.hidden > maxHidden {
		t.stop()
	}
	return t.beyond
}

// stop gives up reading.
func (t *rereading) stop() rune {
	t.beyond, t.apart, t.ahead = true, nil, endOfText
	return endOfText
}

// skipBlanks returns the first character that is no blank.
func (t *rereading) skipBlanks() rune {
	r := t.next()
	for unicode.IsSpace(r) && !t.hides() {
		r = t.next()
	}
	return r
}

// onlyBlanks reports whether a character, which was read last, and all that follow are blanks.
func (t *rereading) onlyBlanks(last rune) bool {
	if unicode.IsSpace(last) {
		last = t.skipBlanks()
	}
	return last == endOfText
}

// shows reports whether a byte is an ASCII character that no reading takes away and no escape begins with.
func shows(c byte) bool { return c > ' ' && c < 0x7F && c != '\\' }

// exactFields are the fields of objects whose texts are meant as they are written: lines of files, and words of commands.
var exactFields = map[string][]string{
	"Line":     {"text"},
	"Command":  {"name", "program", "args", "words", "env", "dir", "input"},
	"Redirect": {"fd", "op", "target"},
}

// comparesExactly reports whether a call compares texts of [exactFields] with each other or with literals. No two of them look alike.
func (c *compiling) comparesExactly(node ast.NavigableExpr) bool {
	switch node.AsCall().FunctionName() {
	case operators.Equals, operators.NotEquals, operators.In:
	default:
		return false
	}
	exact := false
	for _, arg := range node.Children() {
		if c.exactText(arg) {
			exact = true
		} else if !isLiteral(arg) {
			return false
		}
	}
	return exact
}

// isLiteral reports whether an expression is a literal or a list of them.
func isLiteral(e ast.NavigableExpr) bool {
	for _, child := range e.Children() {
		if child.Kind() != ast.LiteralKind {
			return false
		}
	}
	return e.Kind() == ast.LiteralKind || e.Kind() == ast.ListKind
}

// exactText reports whether an expression is one of [exactFields], an element of it, or the variable of a loop over it.
func (c *compiling) exactText(e ast.NavigableExpr) bool {
	switch e.Kind() {
	case ast.SelectKind:
		read := e.AsSelect()
		return !read.IsTestOnly() && slices.Contains(exactFields[c.ast.GetType(read.Operand().ID()).TypeName()], read.FieldName())
	case ast.CallKind:
		return e.AsCall().FunctionName() == operators.Index && c.exactText(e.Children()[0])
	case ast.IdentKind:
		over, ok := rangeOf(e)
		return ok && c.exactText(over)
	default:
		return false
	}
}

// rangeOf returns the range of the loop whose variable an expression is.
func rangeOf(variable ast.NavigableExpr) (over ast.NavigableExpr, ok bool) {
	name, inner := variable.AsIdent(), variable
	for {
		outer, inside := inner.Parent()
		if !inside {
			return nil, false
		}
		if outer.Kind() == ast.ComprehensionKind {
			loop := outer.AsComprehension()
			over := outer.Children()[0]
			if inner.ID() != over.ID() {
				switch name {
				case loop.IterVar():
					return over, !loop.HasIterVar2()
				case loop.IterVar2(), loop.AccuVar():
					return nil, false
				}
			}
		}
		inner = outer
	}
}

// sameTexts returns the result of a comparison of texts as they are, or nil for any other call.
func sameTexts(function string, args []ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok || len(args) != 2 {
		return nil
	}
	switch other := args[1].(type) {
	case types.String:
		switch function {
		case operators.Equals:
			return types.Bool(text == other)
		case operators.NotEquals:
			return types.Bool(text != other)
		}
	case traits.Lister:
		if function != operators.In {
			return nil
		}
		for it := other.Iterator(); it.HasNext() == types.True; {
			e, isText := it.Next().(types.String)
			if !isText {
				return nil
			}
			if e == text {
				return types.True
			}
		}
		return types.False
	}
	return nil
}
