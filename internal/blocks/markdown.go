package blocks

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds of what goldmark reads, which builds a tree of it.
const (
	maxDepth = 64      // quotes and lists inside one another; the marks of deeper ones are text
	maxCells = 1 << 18 // of a table, which has as many cells in each row as in its head
	maxLinks = 1 << 12 // definitions of links in one paragraph
	maxPart  = 1 << 20 // bytes of a text that it reads at once
	maxLines = 1 << 15 // lines of a text that it reads at once: it remembers each line for each list and quote that the line is in
	maxWork  = 1 << 31 // bytes of the blocks of all marks, each of which may be sought to the end of its block; later ones are text
	minWork  = 1 << 20 // the same in a short text
	byteWork = 1 << 9  // the same for each byte of a text, so that a short text costs little
)

// Sentences have their marks and their tags, so no inline parser reads them.
var (
	sentences = parser.NewParser(tables, parser.WithBlockParsers(blockParsers(isComment)...))
	visible   = parser.NewParser(tables, parser.WithBlockParsers(blockParsers(nil)...), parser.WithInlineParsers(inlineParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(small{parser.LinkReferenceParagraphTransformer, maxLinks}, 100)))
	plain = parser.NewParser(parser.WithBlockParsers(util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewATXHeadingParser(), 600), util.Prioritized(guarded{parser.NewBlockquoteParser(), isShallow}, 800),
		util.Prioritized(indented{parser.NewParagraphParser()}, 1000)))
	tables = parser.WithParagraphTransformers(util.Prioritized(small{extension.NewTableParagraphTransformer(), maxCells}, 200))
)

// blockParsers returns the parsers of blocks, of which html allows those of HTML.
func blockParsers(html func(ast.Node, []byte) bool) []util.PrioritizedValue {
	list := parser.DefaultBlockParsers()
	for i, p := range list {
		b, _ := p.Value.(parser.BlockParser)
		switch {
		case p.Priority == 300 || p.Priority == 800: // lists and quotes
			list[i].Value = guarded{b, isShallow}
		case p.Priority == 900 && html != nil:
			list[i].Value = guarded{b, html}
		}
	}
	return list
}

// inlineParsers returns the parsers of marks.
func inlineParsers() []util.PrioritizedValue {
	list := append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewStrikethroughParser(), 500))
	for i, p := range list {
		l, _ := p.Value.(parser.InlineParser)
		list[i].Value = limited{l}
	}
	return list
}

// indented parses paragraphs, also those of lines that would be code in Markdown.
type indented struct{ parser.BlockParser }

// CanAcceptIndentedLine implements [parser.BlockParser].
func (indented) CanAcceptIndentedLine() bool { return true }

// guarded parses the blocks that allows allows.
type guarded struct {
	parser.BlockParser
	allows func(parent ast.Node, line []byte) bool
}

// Open implements [parser.BlockParser].
func (g guarded) Open(parent ast.Node, r source.Reader, pc parser.Context) (ast.Node, parser.State) {
	if line, _ := r.PeekLine(); !g.allows(parent, line) {
		return nil, parser.NoChildren
	}
	return g.BlockParser.Open(parent, r, pc)
}

func isComment(_ ast.Node, line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("<!--"))
}

// isShallow reports whether a node is not too deep for another in it. An item of a list is deep if its list is.
func isShallow(parent ast.Node, _ []byte) bool {
	depth := 0
	for n := parent; n != nil && parent.Kind() != ast.KindList && depth <= maxDepth; n = n.Parent() {
		depth++
	}
	return depth <= maxDepth
}

// limited parses marks until the text has cost what it may.
type limited struct{ parser.InlineParser }

// work is the key of what a text may still cost.
var work = parser.NewContextKey()

// Parse implements [parser.InlineParser].
func (l limited) Parse(parent ast.Node, block source.Reader, pc parser.Context) ast.Node {
	left, _ := pc.Get(work).(int)
	if lines := parent.Lines(); left > 0 && lines.Len() > 0 {
		pc.Set(work, left-(lines.At(lines.Len()-1).Stop-lines.At(0).Start))
		return l.InlineParser.Parse(parent, block, pc)
	}
	return nil
}

// CloseBlock implements [parser.CloseBlocker].
func (l limited) CloseBlock(parent ast.Node, block source.Reader, pc parser.Context) {
	if c, ok := l.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// small makes tables of paragraphs, or takes links off them, up to so many lines and maxCells.
type small struct {
	parser.ParagraphTransformer
	lines int
}

// Transform implements [parser.ParagraphTransformer].
func (s small) Transform(n *ast.Paragraph, r source.Reader, pc parser.Context) {
	columns := 0
	for _, l := range n.Lines().Sliced(0, n.Lines().Len()) {
		columns = max(columns, 1+bytes.Count(l.Value(r.Source()), []byte("|")))
	}
	if n.Lines().Len() <= s.lines && columns*n.Lines().Len() <= maxCells {
		s.ParagraphTransformer.Transform(n, r, pc)
	}
}

// markdown divides Markdown into blocks. In Sentences the scanner reads the lines of paragraphs, since people write lists and
// headings in them that Markdown does not know.
type markdown struct {
	scanner
	source []byte
	at     int // an offset into source
	line   int // at that offset
}

// Markdown divides a text into blocks. It never fails: what is not Markdown is paragraphs. first is the line that the text begins
// at, which is not 1 behind front matter.
func Markdown(content string, first int, e Extent) []Block {
	if e == Everything {
		return parse(content, first, visible, e)
	}
	return parse(content, first, sentences, e)
}

// Text divides a text without marks into blocks: lists, headings and paragraphs as people type them.
func Text(content string, first int) []Block { return parse(content, first, plain, Sentences) }

func parse(content string, first int, p parser.Parser, e Extent) []Block {
	m := &markdown{scanner: scanner{extent: e, open: -1}, line: first}
	rest := []byte(strings.ReplaceAll(content, "\r\n", "\n"))
	pc := parser.NewContext()
	pc.Set(work, min(minWork+byteWork*len(rest), maxWork))
	for len(rest) > 0 {
		n := part(rest)
		m.source, m.at, rest = rest[:n], 0, rest[n:]
		marked := m.source
		if e == Sentences {
			marked = lettered(marked)
		}
		m.walk(p.Parse(source.NewReader(marked), parser.WithContext(pc)))
		m.number(n)
	}
	m.close()
	return m.blocks
}

// letterMark is a mark of an item that Markdown does not know: "a. ", "iv) ".
var letterMark = regexp.MustCompile(`^[ \t>]*([a-z]|[ivx]{2,4})[.)][ \t]+\S`)

// lettered returns a text with digits in the place of the letters and Roman numbers that mark items, so that the parser knows the lists of
// contracts and bylaws. All places in it are those of the text. A mark counts at the beginning of a paragraph or below another.
func lettered(text []byte) []byte {
	out := text
	open := true // the line may begin with a mark
	for at := 0; at < len(text); {
		line := text[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n+1]
		}
		mark := letterMark.FindSubmatchIndex(line)
		switch blank := len(bytes.TrimSpace(line)) == 0; {
		case mark != nil && open:
			if &out[0] == &text[0] {
				out = bytes.Clone(text)
			}
			for i := at + mark[2]; i < at+mark[3]; i++ {
				out[i] = '1'
			}
		case !blank:
			open = false
		default:
			open = true
		}
		at += len(line)
	}
	return out
}

// part returns the length of the first part of a text: up to a heading, an empty line, or a line.
func part(text []byte) int {
	longest := reach(text)
	for _, end := range []string{"\n# ", "\n\n", "\n"} {
		if i := bytes.LastIndex(text[:longest], []byte(end)); i >= 0 && len(text) > longest {
			return i + 1
		}
	}
	return longest
}

// reach returns the length of what fits into a part: maxPart bytes, maxLines lines.
func reach(text []byte) int {
	text = text[:min(len(text), maxPart)]
	at := 0
	for range maxLines {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
	}
	return at
}

// number returns the line of an offset after those before.
func (m *markdown) number(at int) int {
	if at > m.at {
		m.line += bytes.Count(m.source[m.at:at], []byte("\n"))
		m.at = at
	}
	return m.line
}

// walk adds the blocks inside a node.
func (m *markdown) walk(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading, *ast.Paragraph, *ast.TextBlock:
			if n.Lines().Len() > 0 {
				m.leaf(n)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			m.code(n)
		case *ast.HTMLBlock:
			if m.extent == Everything {
				m.html(n)
			}
		case *table.TableHeader:
			if m.extent == Everything {
				m.tableRow(n)
			}
		case *table.TableRow:
			m.tableRow(n)
		case *ast.ThematicBreak:
			m.close()
		default:
			m.walk(n)
		}
	}
}

// leaf adds a heading or the text of a paragraph.
func (m *markdown) leaf(n ast.Node) {
	lines := n.Lines().Sliced(0, n.Lines().Len())
	heading, _ := n.(*ast.Heading)
	if heading != nil && (len(lines) == 1 || m.extent == Everything) {
		m.heading(heading.Level, m.text(n), m.number(lines[0].Start))
		return
	}
	if m.extent == Everything {
		lines = lines[:1]
	}
	list, _ := n.Parent().Parent().(*ast.List)
	for i, l := range lines {
		m.gap = i == 0 && n.HasBlankPreviousLines() // a quote without a gap continues the text above it
		number := m.number(l.Start)
		indent := margin(m.source[bytes.LastIndexByte(m.source[:l.Start], '\n')+1 : l.Stop])
		text := strings.TrimRight(string(l.Value(m.source)), " \t\n")
		if m.extent == Everything {
			text = m.text(n)
		}
		switch {
		case list != nil && i == 0 && n.PreviousSibling() == nil:
			m.item(indent, list.Marker, text, number)
		case m.extent == Sentences:
			m.read(indent, text, number)
		default:
			m.paragraph(indent, text, number)
		}
	}
}

// code adds a block of code.
func (m *markdown) code(n ast.Node) {
	m.close()
	if last := len(m.blocks) - 1; last >= 0 {
		m.blocks[last].BeforeCode = true
	}
	if m.extent == Everything && n.Lines().Len() > 0 {
		m.add(Block{Kind: Code, Text: strings.TrimRight(string(n.Lines().Value(m.source)), "\n"), Line: m.number(n.Lines().At(0).Start), Lead: -1})
	}
}

// html adds the text of a block of HTML.
func (m *markdown) html(n *ast.HTMLBlock) {
	m.close()
	content := string(n.Lines().Value(m.source))
	if n.HasClosure() {
		content += string(n.ClosureLine.Value(m.source))
	}
	list, _, _ := HTML(content, Everything) // a tag that is too long hides the rest of its block
	line := m.number(n.Lines().At(0).Start)
	for _, b := range list {
		b.Line += line - 1
		m.add(b)
	}
}

// tableRow adds a row of a table.
func (m *markdown) tableRow(n ast.Node) {
	first := n.FirstChild().Lines()
	if first.Len() == 0 {
		return
	}
	from := first.At(0).Start
	var cells []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		cells = append(cells, m.text(c))
	}
	text := strings.Join(cells, " | ")
	if m.extent == Sentences {
		line, _, _ := bytes.Cut(m.source[from:], []byte("\n"))
		text = strings.Trim(string(line), "| \t")
	}
	m.row(text, m.number(from))
}

// text returns what is inside a block, without the marks, addresses and tags that the inline parsers know.
func (m *markdown) text(block ast.Node) string {
	var b bytes.Buffer
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // our visitor has no errors
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(m.source))
			if n.HardLineBreak() {
				b.WriteByte('\n')
			} else if n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.AutoLink:
			b.Write(n.Label(m.source))
		}
		return ast.WalkContinue, nil
	})
	return string(util.UnescapePunctuations(b.Bytes()))
}
