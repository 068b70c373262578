package extract

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// item begins a list item or a numbered clause.
var item = regexp.MustCompile(`^(?:[•◦▪●–—*-]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|[0-9]{1,3}(?:\.[0-9]{1,3})+\.?)\s`)

// leader is the dots that lead to a page number in a table of contents.
var leader = regexp.MustCompile(`[.:·…_]{4,}|(?:[.·] ){4,}`)

// Shapes of headings.
const (
	larger     = 1.15 // times the size of most text
	maxHeading = 200  // characters
)

// pdfBlock is lines that belong together.
type pdfBlock struct {
	Block
	size  float64
	bold  bool
	lines int
}

// layOut joins lines to paragraphs and recognises headings by the size of their letters, or by being bold and short.
func layOut(s *sink, lines []*pdfLine) error {
	var blocks []*pdfBlock
	var last *pdfLine
	letters := map[float64]int{} // by size in half points
	for _, l := range lines {
		text := strings.Join(strings.Fields(l.text.String()), " ")
		if text == "" {
			continue
		}
		size := math.Round(l.size*2) / 2
		letters[size] += utf8.RuneCountInString(text)
		if last != nil && follows(last, l, text) {
			b := blocks[len(blocks)-1]
			b.Text = join(b.Text, text)
			b.bold, b.lines = b.bold && l.bold, b.lines+1
		} else {
			blocks = append(blocks, &pdfBlock{Block: Block{Text: text, Page: l.page}, size: size, bold: l.bold, lines: 1})
		}
		last = l
	}
	body, levels := sizes(letters)
	for _, b := range blocks {
		b.Heading = b.level(body, levels)
		if err := s.add(b.Block); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether a line goes on with the paragraph of the one before it.
func follows(last, l *pdfLine, text string) bool {
	down := last.y - l.y
	return l.page == last.page && down > -0.5*l.size && down <= 1.75*max(l.size, last.size) &&
		math.Abs(l.size-last.size) <= 0.1*last.size && l.bold == last.bold && !item.MatchString(text)
}

// join appends a line to a paragraph; a word that is divided at the end of the line becomes one again.
func join(paragraph, line string) string {
	first, _ := utf8.DecodeRuneInString(line)
	if before, divided := strings.CutSuffix(paragraph, "-"); divided && unicode.IsLower(first) {
		if r, _ := utf8.DecodeLastRuneInString(before); unicode.IsLower(r) {
			return before + line
		}
	}
	return paragraph + " " + line
}

// sizes finds the size of most letters, and the larger sizes, the largest first.
func sizes(letters map[float64]int) (body float64, levels []float64) {
	most := 0
	for size, n := range letters {
		if n > most || (n == most && size < body) {
			body, most = size, n
		}
	}
	for size := range letters {
		if size >= larger*body {
			levels = append(levels, size)
		}
	}
	slices.SortFunc(levels, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	})
	return body, levels
}

// level returns the level of a heading, or 0 for text.
func (b *pdfBlock) level(body float64, levels []float64) int {
	if utf8.RuneCountInString(b.Text) > maxHeading || leader.MatchString(b.Text) {
		return 0
	}
	if b.size >= larger*body {
		return min(1+slices.Index(levels, b.size), 6)
	}
	if b.bold && b.lines == 1 && b.size >= body && !strings.HasSuffix(b.Text, ".") && !strings.HasSuffix(b.Text, ",") && strings.ContainsFunc(b.Text, unicode.IsLetter) {
		return min(1+len(levels), 6)
	}
	return 0
}
