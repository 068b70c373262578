package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table prints what was written to a table, cut to the width of the terminal.
func (s *session) table(t *tabwriter.Writer, b *strings.Builder) error {
	if err := t.Flush(); err != nil {
		return err
	}
	width := s.width()
	for row := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(s.out, cut(strings.TrimRight(row, " \n"), width)); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens text to a number of columns, counting characters; 0 means no limit.
func cut(text string, columns int) string {
	runes := []rune(text)
	if columns < 20 || len(runes) <= columns {
		return text
	}
	return string(runes[:columns-1]) + "…"
}
