package sqlstore

import (
	"context"
	"slices"
	"strings"
)

// chunk bounds the rows of one statement. It is a power of two. Wider statements are no faster, and databases limit the
// parameters (SQLite to 32,766).
const chunk = 256

// marks is n groups of question marks of the given width: (?, ?), (?, ?).
func marks(n, width int) string {
	group := "(" + strings.TrimSuffix(strings.Repeat("?, ", width), ", ") + ")"
	return strings.TrimSuffix(strings.Repeat(group+", ", n), ", ")
}

// execRows runs a statement that takes rows of the given width as VALUES, many at a time. Their numbers are powers of two,
// so that the database sees few different statements and can keep them prepared.
func (r *reader) execRows(ctx context.Context, doing, before string, width int, after string, args []any) error {
	for size := chunk; len(args) > 0; {
		if size*width > len(args) {
			size /= 2
			continue
		}
		if _, err := r.exec(ctx, doing, before+marks(size, width)+after, args[:size*width]...); err != nil {
			return err
		}
		args = args[size*width:]
	}
	return nil
}

// in is the condition that a column is one of some strings, with its one argument. (As many parameters as strings would be
// many different statements, which PostgreSQL plans badly.) Strings that no database can hold are left out.
func (d *dialect) in(column string, names []string) (condition string, arg any) {
	known := slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !text(s) })
	return column + d.oneOf, d.list(known)
}
