package console

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tenet/internal/console/patch"
	"tenet/internal/rule"
)

// cell is the text of a line of a change, with its colours and marks. The sign before it says in words of its own what the colour says.
func cell(r *patch.Row) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		class, sign := "code", " "
		switch r.Kind {
		case patch.Added:
			class, sign = "code a", "+"
		case patch.Removed:
			class, sign = "code d", "-"
		case patch.Context, patch.File, patch.Hunk, patch.Note:
		}
		fmt.Fprintf(&b, `<td class="%s">%s<bdi>`, class, sign)
		if len(r.Pieces) == 0 || len(r.Text) > foldLine {
			writeLine(&b, r.Text)
		} else {
			for _, p := range r.Pieces {
				writePiece(&b, p)
			}
		}
		b.WriteString("</bdi></td>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}

func writePiece(b *strings.Builder, p patch.Piece) {
	class := p.Class
	if p.Changed {
		class = strings.TrimSpace(class + " w")
	}
	open, end := "", ""
	if class != "" {
		open, end = `<span class="`+class+`">`, "</span>"
	}
	if p.Quoted {
		open, end = open+"<mark>", "</mark>"+end
	}
	b.WriteString(open)
	writeText(b, p.Text)
	b.WriteString(end)
}

// number is the number of a line, or empty.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// headingOf is the text of the heading of a hunk, or of a note.
func headingOf(r patch.Row) string {
	if r.Kind == patch.Note {
		return r.Text
	}
	return fmt.Sprintf("@@ -%d +%d @@ %s", r.Old, r.New, r.Text)
}

// linesOf is the range of lines of a location, such as :3-5; empty for a whole file.
func linesOf(at rule.Location) string {
	switch {
	case at.StartLine == 0:
		return ""
	case at.EndLine > at.StartLine:
		return fmt.Sprintf(":%d-%d", at.StartLine, at.EndLine)
	}
	return ":" + strconv.Itoa(at.StartLine)
}

// labelOf is the short name of a rule, or other without one.
func labelOf(slug, other string) string { return cmp.Or(slug, other) }

// decider says in words what a verdict rests on.
func decider(by rule.DecidedBy) string {
	switch by {
	case rule.ByCheck:
		return "a check"
	case rule.ByModel:
		return "a model"
	case rule.ByCache:
		return "a stored verdict of a model"
	case rule.ByTriage:
		return "the triage of a model"
	case rule.ByApproval:
		return "an approval by people"
	case rule.ByNone:
	}
	return "nothing"
}

// unified and beside are the addresses of the rows in the other form.
func unified(c change) string {
	c.sides = false
	return c.at(c.from) + "#diff"
}

func beside(c change) string {
	c.sides = true
	return c.at(c.from) + "#diff"
}
