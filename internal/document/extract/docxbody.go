package extract

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// wordBody follows the elements of a document's body (WordprocessingML, ECMA-376).
type wordBody struct {
	sink   *sink
	styles map[string]int // heading level by style
	page   int

	skip  int // depth inside what is not text of the document
	show  int // depth inside text runs' <t>
	paras []wordParagraph
	rows  []*wordRow // tables inside one another
}

// wordParagraph is a paragraph under way. Text boxes hold paragraphs inside paragraphs.
type wordParagraph struct {
	text    strings.Builder
	heading int
	list    bool
}

// wordRow is a table row under way.
type wordRow struct{ cells []string }

// skipped are elements whose text the reader of the document does not see, or sees elsewhere.
var skipped = map[string]bool{"del": true, "moveFrom": true, "Fallback": true, "instrText": true, "delText": true}

func (w *wordBody) start(e xml.StartElement) error {
	name := e.Name.Local
	if w.skip > 0 || skipped[name] {
		w.skip++
		return nil
	}
	switch name {
	case "p":
		w.paras = append(w.paras, wordParagraph{})
		return nil
	case "tr":
		w.rows = append(w.rows, &wordRow{})
		return nil
	case "tc":
		if n := len(w.rows); n > 0 {
			w.rows[n-1].cells = append(w.rows[n-1].cells, "")
		}
		return nil
	case "lastRenderedPageBreak":
		w.page++
		return w.sink.page(w.page)
	}
	if n := len(w.paras); n > 0 {
		w.inParagraph(&w.paras[n-1], name, e)
	}
	return nil
}

func (w *wordBody) inParagraph(p *wordParagraph, name string, e xml.StartElement) {
	switch name {
	case "pStyle":
		p.heading = max(p.heading, w.styles[attribute(e, "val")])
	case "outlineLvl":
		if n, err := strconv.Atoi(attribute(e, "val")); err == nil && n >= 0 && n < 9 {
			p.heading = n + 1
		}
	case "numPr":
		p.list = true
	case "t":
		w.show++
	case "tab":
		if p.text.Len() > 0 { // tab stops in a paragraph's properties go by the same name
			p.text.WriteByte('\t')
		}
	case "br", "cr":
		p.text.WriteByte('\n')
	case "noBreakHyphen":
		p.text.WriteByte('-')
	}
}

func (w *wordBody) text(t []byte) {
	if n := len(w.paras); n > 0 && w.show > 0 && w.skip == 0 && w.paras[n-1].text.Len() <= 4*w.sink.limits.Characters {
		w.paras[n-1].text.Write(t)
	}
}

func (w *wordBody) end(e xml.EndElement) error {
	if w.skip > 0 {
		w.skip--
		return nil
	}
	switch e.Name.Local {
	case "t":
		w.show = max(w.show-1, 0)
	case "p":
		return w.endParagraph()
	case "tr":
		return w.endRow()
	}
	return nil
}

func (w *wordBody) endParagraph() error {
	n := len(w.paras)
	if n == 0 {
		return nil
	}
	p := &w.paras[n-1]
	text := strings.TrimSpace(p.text.String())
	w.paras = w.paras[:n-1]
	if r := len(w.rows); r > 0 && len(w.rows[r-1].cells) > 0 {
		cell := &w.rows[r-1].cells[len(w.rows[r-1].cells)-1]
		*cell = strings.TrimSpace(*cell + " " + text)
		return nil
	}
	if p.list && p.heading == 0 && text != "" {
		text = "- " + text
	}
	return w.sink.add(Block{Heading: p.heading, Text: text, Page: w.page})
}

// endRow makes a line of a table's row. A row of a table inside a cell becomes a part of that cell.
func (w *wordBody) endRow() error {
	n := len(w.rows)
	if n == 0 {
		return nil
	}
	line := strings.Trim(strings.Join(w.rows[n-1].cells, " | "), " |")
	w.rows = w.rows[:n-1]
	if n > 1 && len(w.rows[n-2].cells) > 0 {
		cell := &w.rows[n-2].cells[len(w.rows[n-2].cells)-1]
		*cell = strings.TrimSpace(*cell + " " + line)
		return nil
	}
	return w.sink.add(Block{Text: line, Page: w.page})
}
