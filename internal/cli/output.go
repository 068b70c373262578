package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"tenet/internal/text"
	"tenet/internal/wire"
)

// output are the flags of a command that prints an answer.
type output struct {
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
	JSON   bool   `name:"json" help:"The same as --format json."`
}

func (o output) json() bool { return o.JSON || o.Format == "json" }

// jsonFlag is --json of a command whose --format has more choices than text and JSON.
type jsonFlag struct {
	JSON bool `name:"json" help:"The same as --format json."`
}

// or returns the format to print in: JSON, or else the given one.
func (f jsonFlag) or(format string) string {
	if f.JSON {
		return "json"
	}
	return format
}

// show prints an answer as JSON or, by print, for people, and notes where the console has it. An error is returned.
func show[T any](s *session, o output, answer T, err error, print func(*session, T) error) error {
	if err != nil {
		return err
	}
	if o.json() {
		err = printJSON(s.out, answer)
	} else {
		err = paged(s, func() error { return print(s, answer) })
	}
	if err == nil {
		notePage(s, answer)
	}
	return err
}

// noted is as show for a command that changes something and notes the change on stderr.
func noted[T any](s *session, o output, answer T, err error, note func(T) string) error {
	return show(s, o, answer, err, func(s *session, answer T) error {
		s.note("%s", note(answer))
		return nil
	})
}

// showPage shows a page, and for people how many items it leaves out.
func showPage[T any](s *session, o output, page wire.Page[T], err error, print func(*session, []T) error) error {
	return show(s, o, page, err, func(s *session, page wire.Page[T]) error {
		if err := print(s, page.Items); err != nil {
			return err
		}
		s.more(page.Total, len(page.Items))
		return nil
	})
}

// ended is the JSON of a command that ends something of which nothing is left to show.
type ended struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	State string `json:"state"`
}

// listing is the JSON of a list that comes as a whole. Pages of the API have the same items and total, and what leads to the next page.
type listing struct {
	Items any `json:"items"`
	Total int `json:"total"`
}

// alertListing is the JSON of a page of alerts, which the API names otherwise.
type alertListing struct {
	listing

	Counts wire.Counts `json:"counts"`
}

// conflictListing is the JSON of the conflicts of a rule, which the API names otherwise.
type conflictListing struct {
	RuleID string `json:"rule_id"`
	listing
}

// settingListing is the JSON of settings.
type settingListing struct {
	Server string `json:"server"`
	File   string `json:"file,omitempty"`
	listing

	Credentials []wire.Credential `json:"credentials"`
}

// effectiveListing is the JSON of the rules that hold at a node, which the API names otherwise.
type effectiveListing struct {
	NodeID string `json:"node_id"`
	listing

	Everywhere wire.EverywhereRules `json:"everywhere"`
}

// listed gives lists their one form: an object with items and their total. Other values stay as they are.
func listed(v any) any {
	switch list := v.(type) {
	case wire.Alerts:
		return alertListing{listing{list.Alerts, list.Total}, list.Counts}
	case wire.RuleConflicts:
		return conflictListing{list.RuleID, listing{list.Conflicts, list.Total}}
	case wire.Settings:
		return settingListing{list.Server, list.File, listing{list.Items, len(list.Items)}, list.Credentials}
	case wire.EffectiveRules:
		return effectiveListing{list.NodeID, listing{list.Rules, list.Total}, list.Everywhere}
	case json.RawMessage:
		return v
	}
	list := reflect.ValueOf(v)
	if list.Kind() != reflect.Slice {
		return v
	}
	if list.IsNil() {
		v = []struct{}{}
	}
	return listing{v, list.Len()}
}

// printJSON prints a value as JSON. A list is an object with items and total.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(listed(v))
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
