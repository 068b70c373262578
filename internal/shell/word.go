package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Hole marks, in the text of a Word, a part whose value is not known, such as the output of a command.
const Hole = "\uFFFD"

// Word is one argument as a program receives it.
type Word struct {
	// Text is the value. In it a Hole or $NAME marks what is not known, such as the output of a command or a variable of the
	// environment, and patterns and ~ are as written.
	Text string
	// Known means that Text is exactly the value. Without it Text only shows what is known.
	Known bool
}

// known returns a word with a known value.
func known(text string) Word { return Word{text, true} }

// defaultIFS is the separator of words that every shell starts with.
const defaultIFS = " \t\n"

// Bounds of an expansion: the words that one word may become, and the bytes of one word.
const (
	maxWords = 1000
	maxText  = 4 * MaxLength
)

// value is the value of a variable.
type value struct {
	text       string
	set, known bool
}

// expander turns words of a program into arguments.
type expander struct {
	dialect Dialect
	// lookup returns the value of a variable.
	lookup func(name string) value
	// params are $1, $2 and so on; paramsKnown means that there are no others.
	params      []Word
	paramsKnown bool
	// output returns the output of a command substitution, without the newlines at its end.
	output func(stmts []*syntax.Stmt) (string, bool)
	// process reads the program of a process substitution, and returns the text of a word for it, which begins with Hole.
	process func(*syntax.ProcSubst) string
	// assign sets a variable, for ${x:=word}.
	assign func(name string, v value)
	// differs reports an expansion that shells of the dialect disagree on.
	differs func(why string)
	// heredoc means that the words are those of a here-document, where a double quote means nothing.
	heredoc bool
}

// fields returns the arguments that words become.
func (e *expander) fields(words []*syntax.Word) []Word {
	var list []Word
	for _, w := range words {
		if len(list) > maxWords {
			return append(list, Word{Text: Hole})
		}
		list = append(list, e.field(w)...)
	}
	return list
}

func (e *expander) field(w *syntax.Word) []Word {
	if e.dialect == Bash {
		split := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
		if syntax.SplitBraces(split) {
			return e.braces(split)
		}
	} else if strings.ContainsAny(w.Lit(), "{}") && w.Lit() != "{}" {
		e.differs("braces")
	}
	b := &builder{ifs: e.ifs()}
	e.parts(b, w.Parts, false, true)
	return b.finish()
}

// braces returns the arguments of a word with {a,b} in it.
func (e *expander) braces(split *syntax.Word) []Word {
	var list []Word
	for one, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(list) > maxWords {
			return append(list, Word{Text: Hole})
		}
		b := &builder{ifs: e.ifs()}
		e.parts(b, one.Parts, false, true)
		list = append(list, b.finish()...)
	}
	return list
}

// text returns the value of a word where shells split nothing: of an assignment, a redirection, a here-document. Quoted means
// that of a here-document, where quotes and patterns mean nothing.
func (e *expander) text(w *syntax.Word, quoted bool) Word {
	if w == nil {
		return known("")
	}
	b := &builder{ifs: "", whole: true}
	e.parts(b, w.Parts, quoted, true)
	list := b.finish()
	if len(list) == 0 {
		return known("")
	}
	return list[0]
}

// document returns the text of a here-document.
func (e *expander) document(r *syntax.Redirect) Word {
	if r.Hdoc == nil {
		return known("")
	}
	raw := false // quotes around its delimiter keep all as written
	for _, part := range r.Word.Parts {
		lit, ok := part.(*syntax.Lit)
		raw = raw || !ok || strings.Contains(lit.Value, "\\")
	}
	b := &builder{whole: true}
	e.heredoc = true
	defer func() { e.heredoc = false }()
	begins := true // the part begins a line
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			if raw {
				e.differs("a here-document whose delimiter is quoted in part")
			}
			e.parts(b, []syntax.WordPart{part}, true, false)
			begins = false
			continue
		}
		text := lit.Value
		if r.Op == syntax.DashHdoc {
			text = withoutTabs(text, begins)
		}
		begins = strings.HasSuffix(text, "\n")
		if raw {
			b.add(text)
		} else {
			e.literal(b, text, true, false)
		}
	}
	list := b.finish()
	if len(list) == 0 {
		return known("")
	}
	return list[0]
}

// withoutTabs removes the tabs that lines begin with.
func withoutTabs(text string, begins bool) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if i > 0 || begins {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
	}
	return strings.Join(lines, "\n")
}

// onlyParams reports whether a quoted text is "$@", which may be no word at all.
func onlyParams(q *syntax.DblQuoted) bool {
	if len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && p.Param.Value == "@"
}

func (e *expander) ifs() string {
	if v := e.lookup("IFS"); v.known && v.set {
		return v.text
	}
	return defaultIFS
}

// parts adds parts of a word. First means that the word begins with them.
func (e *expander) parts(b *builder, parts []syntax.WordPart, quoted, first bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if p.Value == "[" && first && len(parts) == 1 && !quoted { // the command, and no pattern
				b.add("[")
				continue
			}
			if e.dialect == Sh && i+1 < len(parts) && strings.HasSuffix(p.Value, "$") {
				e.differs("a $ before a quote")
			}
			if i+1 < len(parts) && strings.HasSuffix(p.Value, "$") {
				if next, ok := parts[i+1].(*syntax.Lit); ok && next.Value != "" && strings.IndexByte("~^=+:#", next.Value[0]) >= 0 {
					e.differs("a $ before " + next.Value[:1])
				}
			}
			e.literal(b, p.Value, quoted, first && i == 0)
		case *syntax.SglQuoted:
			e.single(b, p)
		case *syntax.DblQuoted:
			if p.Dollar {
				e.differs(`$"`)
			}
			if !onlyParams(p) {
				b.quote()
			}
			e.parts(b, p.Parts, true, false)
		case *syntax.ParamExp:
			if p.Short && i+1 < len(parts) {
				if next, ok := parts[i+1].(*syntax.Lit); ok && (strings.HasPrefix(next.Value, ":") || strings.HasPrefix(next.Value, "[")) {
					e.differs("a variable with : or [ after it")
				}
			}
			if digit := p.Param; p.Short && digit != nil && i+1 < len(parts) && digit.Value >= "0" && digit.Value <= "9" {
				if next, ok := parts[i+1].(*syntax.Lit); ok && next.Value != "" && next.Value[0] >= '0' && next.Value[0] <= '9' {
					e.differs("$1 with a digit after it")
				}
			}
			e.param(b, p, quoted)
		case *syntax.CmdSubst:
			out, ok := e.output(p.Stmts)
			if ok {
				b.expansion(out, quoted, e.differs)
			} else {
				b.hole(Hole)
			}
		case *syntax.ArithmExp:
			if n, ok := e.arithmetic(p.X, 0); ok {
				b.expansion(strconv.FormatInt(n, 10), quoted, e.differs)
			} else {
				e.visit(p.X)
				b.hole(Hole)
			}
		case *syntax.ProcSubst:
			b.hole(e.process(p))
		case *syntax.ExtGlob:
			b.pattern(p.Op.String() + p.Pattern.Value + ")")
		default:
			b.hole(Hole)
		}
	}
}

// visit reads the commands inside an expansion whose own value is not worked out.
func (e *expander) visit(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch p := n.(type) {
		case *syntax.CmdSubst:
			e.output(p.Stmts)
			return false
		case *syntax.ProcSubst:
			e.process(p)
			return false
		}
		return true
	})
}

// literal adds text as written. Within double quotes and here-documents a backslash quotes only some characters.
func (e *expander) literal(b *builder, text string, quoted, first bool) {
	if !quoted && first {
		switch {
		case strings.HasPrefix(text, "~"):
			b.written() // the folder of a user
		case strings.HasPrefix(text, "=") && len(text) > 1:
			e.differs("a word that begins with =")
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			switch {
			case text[i] == '\n':
			case quoted && (!strings.ContainsRune("$`\"\\", rune(text[i])) || e.heredoc && text[i] == '"'):
				b.add(text[i-1 : i+1])
			default:
				b.add(text[i : i+1])
			}
			b.quote()
		case c == '$' && i+1 < len(text) && strings.IndexByte("~^=+:#", text[i+1]) >= 0:
			e.differs("a $ before " + text[i+1:i+2])
			b.add("$")
		case !quoted && (c == '*' || c == '?' || c == '['):
			b.pattern(text[i : i+1])
		default:
			b.add(text[i : i+1])
		}
	}
}

func (e *expander) single(b *builder, q *syntax.SglQuoted) {
	b.quote()
	if !q.Dollar {
		b.add(q.Value)
		return
	}
	text, ok := ansi(q.Value)
	if e.dialect == Sh {
		ok = false
		e.differs("$'")
	}
	b.add(text)
	if !ok {
		b.written()
	}
}
