package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tenet/internal/text"
	"tenet/internal/wire"
)

// output are the flags of a command that prints an answer of the server.
type output struct {
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
	JSON   bool   `name:"json" help:"The same as --format json."`
}

func (o output) json() bool { return o.JSON || o.Format == "json" }

// show prints an answer as JSON or, by print, for people. An error is returned.
func show[T any](s *session, o output, answer T, err error, print func(*session, T) error) error {
	switch {
	case err != nil:
		return err
	case o.json():
		return printJSON(s.out, answer)
	}
	return paged(s, func() error { return print(s, answer) })
}

// showPage shows the items of a page, and for people how many it leaves out.
func showPage[T any](s *session, o output, page wire.Page[T], err error, print func(*session, []T) error) error {
	if err := show(s, o, page.Items, err, print); err != nil || o.json() {
		return err
	}
	s.more(page.Total, len(page.Items))
	return nil
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// list prints a table of items below a row of heads that tabs separate; without items, it prints the note none. Lines are cut to the width of a
// terminal, and text is made safe for it.
func list[T any](s *session, none, heads string, items []T, row func(*T) []any) error {
	if len(items) == 0 {
		s.note("%s", none)
		return nil
	}
	var rows [][]any
	for i := range items {
		rows = append(rows, row(&items[i]))
	}
	return s.table(heads, rows)
}

// table prints rows in columns, below a row of heads that tabs separate, if it is not empty.
func (s *session) table(heads string, rows [][]any) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if heads != "" {
		fmt.Fprintln(t, heads)
	}
	for _, cells := range rows {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = line(fmt.Sprint(c))
		}
		fmt.Fprintln(t, strings.Join(texts, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	width := s.width() // 0 means no limit
	for row := range strings.Lines(b.String()) {
		row = strings.TrimRight(row, " \n")
		if width >= 20 {
			row = text.FitRunes(row, width, "…")
		}
		if _, err := fmt.Fprintln(s.out, row); err != nil {
			return err
		}
	}
	return nil
}

// more notes how many items a page leaves out.
func (s *session) more(total, shown int) {
	if n := total - shown; n > 0 {
		s.note("and %d older ones", n)
	}
}

// nextPage notes how to get the next page unless this is the last.
func (s *session) nextPage(things string, page, size, items, total int) {
	if shown := (page-1)*size + items; shown < total {
		s.note("%d of %d %s; --page %d shows more", shown, total, things, page+1)
	}
}

// limit is the flag of a command that lists the newest items.
type limit struct {
	Limit int `default:"20" help:"How many at most, up to 100."`
}

// Validate implements kong's check of flags.
func (l limit) Validate() error {
	if l.Limit < 1 || l.Limit > 100 {
		return fmt.Errorf("--limit: %d is not between 1 and 100", l.Limit)
	}
	return nil
}
