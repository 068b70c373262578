package sqlstore

import (
	"context"
	"slices"
	"strings"
)

// chunk bounds the rows of one statement. It is a power of two. Wider statements are no faster, and databases limit the
// parameters (SQLite to 32,766).
const chunk = 256

// marks returns n groups of question marks of the given width: (?, ?), (?, ?).
func marks(n, width int) string {
	group := "(" + strings.TrimSuffix(strings.Repeat("?, ", width), ", ") + ")"
	return strings.TrimSuffix(strings.Repeat(group+", ", n), ", ")
}

// execRows is countRows without the count.
func (s *session) execRows(ctx context.Context, doing, before string, width int, after string, args []any) error {
	_, err := s.countRows(ctx, doing, before, width, after, args)
	return err
}

// countRows runs a statement that takes rows of the given width as VALUES, many at a time. Their numbers are powers of two,
// so that the database sees few different statements and can keep them prepared. It returns the number of touched rows.
func (s *session) countRows(ctx context.Context, doing, before string, width int, after string, args []any) (touched int64, err error) {
	for size := chunk; len(args) > 0; {
		if size*width > len(args) {
			size /= 2
			continue
		}
		n, err := s.exec(ctx, doing, before+marks(size, width)+after, args[:size*width]...)
		if err != nil {
			return touched, err
		}
		touched += n
		args = args[size*width:]
	}
	return touched, nil
}

// equal adds to a condition that columns have values, in pairs; an empty value selects everything.
func equal(where string, args []any, pairs ...string) (string, []any) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			where, args = where+" AND "+pairs[i]+" = ?", append(args, pairs[i+1])
		}
	}
	return where, args
}

// amongRules adds to a condition that the rule is one of ruleIDs, unless these are nil.
func (d *dialect) amongRules(where string, args []any, ruleIDs []string) (string, []any) {
	if ruleIDs == nil {
		return where, args
	}
	in, list := d.in("rule_id", ruleIDs)
	return where + " AND " + in, append(args, list)
}

// in returns the condition that a column is one of names, with its one argument. (One parameter for each name would make many
// different statements, which PostgreSQL plans badly.) It omits strings that no database can hold.
func (d *dialect) in(column string, names []string) (condition string, arg any) {
	valid := slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !text(s) })
	return column + d.oneOf, d.list(valid)
}
