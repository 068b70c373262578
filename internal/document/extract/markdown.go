package extract

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// markdownReader walks the blocks of a Markdown file.
type markdownReader struct {
	sink   *sink
	source []byte
	breaks []int // offsets of line ends
	before int   // lines before source
}

// readMarkdown takes the text of a Markdown file (CommonMark with tables), without its marks.
func readMarkdown(s *sink, content string) error {
	matter, rest := frontMatter(content)
	if err := s.add(Block{Text: matter, Line: 1}); err != nil {
		return err
	}
	r := &markdownReader{sink: s, source: []byte(rest), before: strings.Count(content[:len(content)-len(rest)], "\n")}
	for i, b := range r.source {
		if b == '\n' {
			r.breaks = append(r.breaks, i)
		}
	}
	doc := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser().Parse(text.NewReader(r.source))
	return ast.Walk(doc, r.visit)
}

// frontMatter takes off the settings that stand before the text between two lines of ---.
func frontMatter(content string) (matter, rest string) {
	after, ok := strings.CutPrefix(content, "---\n")
	if !ok {
		return "", content
	}
	if before, rest, found := strings.Cut(after, "\n---\n"); found {
		return before, rest
	}
	return "", content
}

// visit adds a block that holds text, and goes into those that hold blocks.
func (r *markdownReader) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering || n.Type() == ast.TypeDocument {
		return ast.WalkContinue, nil
	}
	b := Block{Line: r.line(n)}
	switch n := n.(type) {
	case *ast.Heading:
		b.Heading, b.Text = n.Level, r.inline(n)
	case *ast.Paragraph, *ast.TextBlock:
		b.Text = r.bullet(n) + r.inline(n)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		b.Text = r.raw(n)
	case *ast.HTMLBlock:
		content := r.raw(n)
		if n.HasClosure() {
			content += string(n.ClosureLine.Value(r.source))
		}
		return ast.WalkSkipChildren, r.html(content, b.Line)
	case *east.TableHeader, *east.TableRow:
		var cells []string
		for cell := n.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inline(cell))
		}
		b.Text = strings.Join(cells, " | ")
	default:
		return ast.WalkContinue, nil // lists, quotes, tables hold blocks
	}
	return ast.WalkSkipChildren, r.sink.add(b)
}

// bullet marks the first text of a list item.
func (r *markdownReader) bullet(n ast.Node) string {
	if n.Parent().Kind() == ast.KindListItem && n.PreviousSibling() == nil {
		return "- "
	}
	return ""
}

// html reads HTML inside Markdown.
func (r *markdownReader) html(content string, line int) error {
	inner := &sink{limits: r.sink.limits}
	if err := readHTML(inner, content); err != nil {
		return err
	}
	for _, b := range inner.result.Blocks {
		b.Line += line - 1
		if err := r.sink.add(b); err != nil {
			return err
		}
	}
	return nil
}

// raw is the text of a block as it stands in the source.
func (r *markdownReader) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(r.source))
	}
	return b.String()
}

// inline is the text inside a block, without marks, addresses and HTML.
func (r *markdownReader) inline(block ast.Node) string {
	var b bytes.Buffer
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // our visitor has no errors
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(r.source))
			if n.HardLineBreak() {
				b.WriteByte('\n')
			} else if n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(r.source))
		}
		return ast.WalkContinue, nil
	})
	return unescape(b.String())
}

// unescape takes out the backslashes before punctuation, which the parser leaves in text.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// line is where a block begins in the file; 0 if it is not known.
func (r *markdownReader) line(n ast.Node) int {
	if n.Type() != ast.TypeBlock || n.Lines() == nil || n.Lines().Len() == 0 {
		return 0
	}
	i, _ := slices.BinarySearch(r.breaks, n.Lines().At(0).Start)
	return r.before + i + 1
}
