package patch

import (
	"embed"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// The lexers are files of chroma (see lexers/COPYING). Its package lexers would read all of its 280 languages as each command starts,
// which takes 5 ms and 3 MB; here a language is read when a page first shows it.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

// languages finds lexers by the names of files.
type languages struct {
	byName map[string]chroma.Lexer // by a name, or by an extension with its dot
}

var known = sync.OnceValue(func() languages {
	l := languages{map[string]chroma.Lexer{".go": golang()}}
	registry := chroma.NewLexerRegistry() // for languages inside others, such as Bash in a Dockerfile
	names, err := fs.Glob(lexerFiles, "lexers/*.xml")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, name := range names {
		lexer := registry.Register(chroma.MustNewXMLLexer(lexerFiles, name))
		for _, pattern := range lexer.Config().Filenames {
			key := strings.TrimPrefix(pattern, "*")
			if _, taken := l.byName[key]; !taken && !strings.ContainsAny(key, "*[?") {
				l.byName[key] = lexer
			}
		}
	}
	return l
})

// golang is the lexer of Go, which chroma has in code.
func golang() chroma.Lexer {
	return chroma.MustNewLexer(&chroma.Config{Name: "Go"}, func() chroma.Rules {
		return chroma.Rules{"root": {
			{Pattern: `\s+`, Type: chroma.Text},
			{Pattern: `//[^\n]*`, Type: chroma.Comment},
			{Pattern: `/\*[^*]*\*+(?:[^/*][^*]*\*+)*/`, Type: chroma.Comment},
			{Pattern: "`[^`]*`", Type: chroma.String},
			{Pattern: `"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*'`, Type: chroma.String},
			{
				Pattern: `(break|case|chan|const|continue|default|defer|else|fallthrough|for|func|go|goto|if|import|interface|map|package|range|return|select|struct|switch|type|var|nil|true|false|iota)\b`,
				Type:    chroma.Keyword,
			},
			{Pattern: `\d[\w.]*`, Type: chroma.Number},
			{Pattern: `[A-Za-z_]\w*(?=\()`, Type: chroma.NameFunction},
			{Pattern: `[^\W\d]\w*`, Type: chroma.Name},
			{Pattern: `.`, Type: chroma.Text},
		}}
	})
}

func (l languages) of(file string) chroma.Lexer {
	base := path.Base(file)
	if lexer, ok := l.byName[base]; ok {
		return lexer
	}
	return l.byName[path.Ext(base)]
}

// Bounds of colouring. Lexers take a millisecond for a kilobyte: what lies beyond the bounds of a page stays plain.
const (
	maxPainted = 1_000       // bytes of a line
	maxPage    = 24_000      // bytes of a page
	paintTime  = time.Second // for a hostile text that makes a lexer slow
)

// painter colours the rows of one page.
type painter struct {
	until time.Time
	left  int // bytes
}

func newPainter() *painter { return &painter{time.Now().Add(paintTime), maxPage} }

// paint colours rows: those of the new version of each hunk as one text, and its removed ones as another.
func (p *painter) paint(files []string, rows []Row) {
	for i := 0; i < len(rows); {
		if k := rows[i].Kind; k != Context && k != Added && k != Removed {
			i++
			continue
		}
		end := i
		var now, old []*Row
		for end < len(rows) && rows[end].file == rows[i].file && (rows[end].Kind == Context || rows[end].Kind == Added || rows[end].Kind == Removed) {
			if rows[end].Kind == Removed {
				old = append(old, &rows[end])
			} else {
				now = append(now, &rows[end])
			}
			end++
		}
		if lexer := known().of(files[rows[i].file]); lexer != nil {
			p.run(lexer, now)
			p.run(lexer, old)
		}
		i = end
	}
}

// run colours neighbouring lines, as far as the bounds allow. Colours are not worth a page: where a lexer panics, the lines stay plain.
func (p *painter) run(lexer chroma.Lexer, rows []*Row) {
	var b strings.Builder
	for i, r := range rows {
		if len(r.Text) > maxPainted || p.left < len(r.Text) {
			rows = rows[:i]
			break
		}
		p.left -= len(r.Text) + 1
		b.WriteString(r.Text + "\n")
	}
	if len(rows) == 0 || time.Now().After(p.until) {
		return
	}
	defer func() { _ = recover() }()
	next, err := lexer.Tokenise(nil, b.String())
	if err != nil {
		return
	}
	line := 0
	var pieces []Piece
	var length int
	done := func() bool {
		if length == len(rows[line].Text) { // else the lexer has changed the text
			rows[line].Pieces = pieces
		}
		pieces, length = nil, 0
		line++
		return line == len(rows)
	}
	for t := next(); t != chroma.EOF; t = next() {
		class := classOf(t.Type)
		for text := t.Value; text != ""; {
			part, rest, broken := strings.Cut(text, "\n")
			if part != "" {
				if n := len(pieces); n > 0 && pieces[n-1].Class == class {
					pieces[n-1].Text += part
				} else {
					pieces = append(pieces, Piece{Text: part, Class: class})
				}
				length += len(part)
			}
			if broken && done() {
				return
			}
			text = rest
		}
		if time.Now().After(p.until) {
			return
		}
	}
}

// classOf is the colour of a token.
func classOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "n"
	case t == chroma.NameFunction || t == chroma.NameClass || t == chroma.NameTag || t == chroma.NameAttribute || t == chroma.NameBuiltin || t == chroma.NameDecorator:
		return "f"
	}
	return ""
}
