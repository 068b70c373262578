package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tenet/internal/store"
)

// Lists of the highest sums over many days are made of packed counts, which repeat counts of other tables in few and small rows. Each name
// has a number. The row of a kind, day and block holds, in order of the numbers of the block, the counts of those that have any: the
// difference to the number before, then the values, all as uvarints.

// packTable reads and writes packed counts.
type packTable struct{ *session }

// packBlock is how many numbers a block has.
const packBlock = 16_384

// packKind is a kind of packed counts.
type packKind struct {
	kind, noun string
	values     int // of each number
}

var (
	packedDenied = packKind{"denied", "rule", 1} // DENY verdicts
	packedCalled = packKind{"called", "rule", 3} // calls, their milliseconds and tokens
	packedNode   = packKind{"node", "node", 3}   // evaluations by verdict
)

// packedGroups are the kinds of the dimensions whose groups can be many.
var packedGroups = map[store.Dimension]packKind{store.OfNode: packedNode, store.OfAgent: {"agent", "agent", 3}, store.OfPerson: {"person", "person", 3}}

// dayCount is a count of a name on a day.
type dayCount struct {
	day    store.Day
	name   string
	values [3]int64
}

// add adds the counts of rules and groups to the packed ones.
func (t packTable) add(ctx context.Context, c *store.Counts) error {
	var denied, called []dayCount
	if !c.Fill {
		for i := range c.Rules {
			r := &c.Rules[i]
			if r.Denied > 0 {
				denied = append(denied, dayCount{r.Day, r.RuleID, [3]int64{r.Denied}})
			}
			if r.Calls > 0 {
				called = append(called, dayCount{r.Day, r.RuleID, [3]int64{r.Calls, r.CallMS, r.Tokens}})
			}
		}
	}
	groups := map[store.Dimension][]dayCount{}
	for i := range c.Groups {
		if g := &c.Groups[i]; packedGroups[g.Dimension].values > 0 {
			groups[g.Dimension] = append(groups[g.Dimension], dayCount{g.Day, g.Name, [3]int64{g.Allowed, g.Denied, g.Unsure}})
		}
	}
	rules, err := t.numbers(ctx, c.ProjectID, packedDenied.noun, denied, called)
	if err != nil {
		return err
	}
	if err := errors.Join(t.pack(ctx, c.ProjectID, packedDenied, denied, rules), t.pack(ctx, c.ProjectID, packedCalled, called, rules)); err != nil {
		return err
	}
	for _, d := range slices.Sorted(maps.Keys(groups)) { // in one order, in which all nodes touch rows
		kind := packedGroups[d]
		names, err := t.numbers(ctx, c.ProjectID, kind.noun, groups[d])
		if err != nil {
			return err
		}
		if err := t.pack(ctx, c.ProjectID, kind, groups[d], names); err != nil {
			return err
		}
	}
	return nil
}

// numbers returns the numbers of names. It gives new names the next ones, in their order.
func (t packTable) numbers(ctx context.Context, projectID, noun string, lists ...[]dayCount) (map[string]int64, error) {
	absent := map[string]bool{}
	for _, list := range lists {
		for i := range list {
			absent[list[i].name] = true
		}
	}
	if len(absent) == 0 {
		return nil, nil
	}
	found, err := t.numbersOfNames(ctx, projectID, noun, absent)
	if err != nil {
		return nil, err
	}
	for name := range found {
		delete(absent, name)
	}
	if len(absent) == 0 {
		return found, nil
	}
	next := int64(0)
	if err := t.row(ctx, "next number", "SELECT COALESCE(MAX(number) + 1, 0) FROM count_names WHERE project_id = ? AND noun = ?", []any{projectID, noun}, &next); err != nil {
		return nil, err
	}
	args := make([]any, 0, 4*len(absent))
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		args = append(args, projectID, noun, next, name)
		found[name] = next
		next++
	}
	return found, t.execRows(ctx, "number names", "INSERT INTO count_names (project_id, noun, number, name) VALUES ", 4, "", args)
}

// packKey is the place of a packed row within a kind.
type packKey struct {
	day   store.Day
	block int64
}

// pack adds counts to the packed ones of a kind.
func (t packTable) pack(ctx context.Context, projectID string, kind packKind, counts []dayCount, numbers map[string]int64) error {
	rows := map[packKey]map[int64][3]int64{}
	for i := range counts {
		n := numbers[counts[i].name]
		key := packKey{counts[i].day, n / packBlock}
		if rows[key] == nil {
			rows[key] = map[int64][3]int64{}
		}
		rows[key][n%packBlock] = counts[i].values
	}
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b packKey) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.block, b.block)) })
	args := make([]any, 0, 5*len(keys))
	for _, key := range keys {
		row := rows[key]
		err := t.each(ctx, "packed counts", "SELECT counts FROM packed_counts WHERE project_id = ? AND kind = ? AND day = ? AND block = ?",
			[]any{projectID, kind.kind, int64(key.day), key.block}, func(found *sql.Rows) error {
				var stored sql.RawBytes
				if err := found.Scan(&stored); err != nil {
					return err
				}
				return unpack(stored, kind, func(n int64, values [3]int64) {
					sum := row[n]
					for i := range sum {
						sum[i] += values[i]
					}
					row[n] = sum
				})
			})
		if err != nil {
			return err
		}
		args = append(args, projectID, kind.kind, int64(key.day), key.block, packed(row, kind))
	}
	return t.execRows(ctx, "pack counts", "INSERT INTO packed_counts (project_id, kind, day, block, counts) VALUES ", 5,
		" ON CONFLICT (project_id, kind, day, block) DO UPDATE SET counts = excluded.counts", args)
}

// packed is the stored form of the counts of a block.
func packed(row map[int64][3]int64, kind packKind) []byte {
	out := make([]byte, 0, 4*len(row))
	before := int64(0)
	for _, n := range slices.Sorted(maps.Keys(row)) {
		out = binary.AppendUvarint(out, uint64(n-before)) //nolint:gosec // in order
		before = n
		values := row[n]
		for _, v := range values[:kind.values] {
			out = binary.AppendUvarint(out, uint64(v)) //nolint:gosec // read back in the same way
		}
	}
	return out
}

// unpack calls yield for the counts of a stored block.
func unpack(stored []byte, kind packKind, yield func(n int64, values [3]int64)) error {
	n := int64(0)
	next := func() int64 {
		if len(stored) > 0 && stored[0] < 0x80 { // most are small
			v := int64(stored[0])
			stored = stored[1:]
			return v
		}
		v, size := binary.Uvarint(stored)
		if size <= 0 {
			n, stored = packBlock, nil
			return 0
		}
		stored = stored[size:]
		return int64(v) //nolint:gosec // written in the same way
	}
	for len(stored) > 0 {
		n += next()
		var values [3]int64
		for i := range kind.values {
			values[i] = next()
		}
		if n < 0 || n >= packBlock {
			return fmt.Errorf("sqlstore: packed counts of %s are damaged", kind.kind)
		}
		yield(n, values)
	}
	return nil
}

// sums adds up the packed counts of a kind over days from <= day < until, by number. An until of 0 is no bound.
func (t packTable) sums(ctx context.Context, projectID string, kind packKind, from, until store.Day) ([][3]int64, error) {
	if err := t.lock(ctx, countsOf(projectID)); err != nil {
		return nil, err
	}
	where, args := "project_id = ? AND kind = ? AND day >= ?", []any{projectID, kind.kind, int64(from)}
	if until != 0 {
		where, args = where+" AND day < ?", append(args, int64(until))
	}
	var sums [][3]int64
	err := t.each(ctx, "packed counts", "SELECT block, counts FROM packed_counts WHERE "+where, args, func(rows *sql.Rows) error {
		var block int64
		var stored sql.RawBytes
		if err := rows.Scan(&block, &stored); err != nil {
			return err
		}
		if missing := int((block+1)*packBlock) - len(sums); missing > 0 {
			sums = append(sums, make([][3]int64, missing)...)
		}
		of := sums[block*packBlock:]
		return unpack(stored, kind, func(n int64, values [3]int64) {
			sum := &of[n]
			sum[0] += values[0]
			sum[1] += values[1]
			sum[2] += values[2]
		})
	})
	return sums, err
}

// place is a number with the value by which it is ordered.
type place struct {
	number int64
	value  float64
}

// highest returns the n numbers of the highest values above zero, the highest first and equal ones by number.
func highest(sums [][3]int64, n int, value func(*[3]int64) float64, member func(number int64) bool) []place {
	var list []place
	least := 0.0
	cut := func() {
		slices.SortFunc(list, func(a, b place) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.number, b.number)) })
		if len(list) > n {
			list = list[:n]
		}
		if n > 0 && len(list) == n {
			least = list[n-1].value
		}
	}
	for i := range sums {
		// A later number does not displace an equal value.
		if v := value(&sums[i]); v > least && (member == nil || member(int64(i))) {
			if list = append(list, place{int64(i), v}); len(list) >= 2*n+64 {
				cut()
			}
		}
	}
	cut()
	return list
}

// named returns the names of numbers.
func (t packTable) named(ctx context.Context, projectID, noun string, list []place) (map[int64]string, error) {
	return byKey(ctx, t.session, countsOf(projectID), "names of numbers", "SELECT number, name FROM count_names WHERE project_id = ? AND noun = ? AND number"+t.d.oneOfNumbers,
		[]any{projectID, noun, t.d.numbers(numbersOf(list))}, func(number *int64, name *string) []any { return []any{number, name} })
}

func numbersOf(list []place) []int64 {
	numbers := make([]int64, len(list))
	for i := range list {
		numbers[i] = list[i].number
	}
	return numbers
}

// teamLook is how many of the highest rules of a project are looked through for those of a team, before all rules of the team are read.
const teamLook = 1000

// highestOf is [highest] for the rules that a team had when they were last measured. Each query reads one table: to join two of which PostgreSQL has
// no statistics, it may read all rules again for each rule.
func (t packTable) highestOf(ctx context.Context, projectID, team string, sums [][3]int64, n int, value func(*[3]int64) float64) ([]place, error) {
	first := highest(sums, teamLook, value, nil)
	names, err := t.named(ctx, projectID, packedDenied.noun, first)
	if err != nil {
		return nil, err
	}
	oneOf, ids := t.d.in("rule_id", slices.Collect(maps.Values(names)))
	owned, err := t.rulesOf(ctx, projectID, team, " AND "+oneOf, ids)
	if err != nil {
		return nil, err
	}
	if len(owned) >= n || len(first) < teamLook {
		return highest(sums, n, value, func(number int64) bool { return owned[names[number]] }), nil
	}
	if owned, err = t.rulesOf(ctx, projectID, team, ""); err != nil {
		return nil, err
	}
	numbers, err := t.numbersOfNames(ctx, projectID, packedDenied.noun, owned)
	if err != nil {
		return nil, err
	}
	member := make([]bool, len(sums))
	for _, number := range numbers {
		if number < int64(len(member)) {
			member[number] = true
		}
	}
	return highest(sums, n, value, func(number int64) bool { return member[number] }), nil
}

// rulesOf returns the rules that a team had when they were last measured, of those that meet a further condition.
func (t packTable) rulesOf(ctx context.Context, projectID, team, condition string, args ...any) (map[string]bool, error) {
	return byKey(ctx, t.session, countsOf(projectID), "rules of a team", teamQuery+condition, append([]any{projectID, team}, args...),
		func(id *string, owned *bool) []any {
			*owned = true
			return []any{id}
		})
}

// teamQuery finds the rules of a team.
const teamQuery = "SELECT rule_id FROM rule_health WHERE project_id = ? AND owner = ?"

// numberedQuery finds the numbers of names.
const numberedQuery = "SELECT name, number FROM count_names WHERE project_id = ? AND noun = ? AND "

// numbersOfNames returns the numbers of those names that have one.
func (t packTable) numbersOfNames(ctx context.Context, projectID, noun string, names map[string]bool) (map[string]int64, error) {
	oneOf, list := t.d.in("name", slices.Collect(maps.Keys(names)))
	return byKey(ctx, t.session, countsOf(projectID), "numbers of names", numberedQuery+oneOf, []any{projectID, noun, list}, func(name *string, number *int64) []any { return []any{name, number} })
}

// packStored packs the counts that a database has from before there were packed ones.
func packStored(ctx context.Context, s *session) error {
	t := packTable{s}
	for _, from := range []struct {
		kind  packKind
		query string
	}{
		{packedDenied, "SELECT day, rule_id, denied, 0, 0 FROM rule_counts WHERE project_id = ? AND day = ? AND denied > 0"},
		{packedCalled, "SELECT day, rule_id, calls, call_ms, tokens FROM rule_counts WHERE project_id = ? AND day = ? AND calls > 0"},
		{packedNode, "SELECT day, name, allowed, denied, unsure FROM group_counts WHERE project_id = ? AND day = ? AND dimension = 'node'"},
	} {
		days, err := many(ctx, s, unlocked, "counted days", `SELECT project_id, day FROM rule_counts GROUP BY project_id, day
			UNION SELECT project_id, day FROM group_counts GROUP BY project_id, day ORDER BY project_id, day`, nil,
			func(d *projectDay) []any { return []any{&d.projectID, &d.day} })
		if err != nil {
			return err
		}
		for _, d := range days {
			counts, err := many(ctx, s, unlocked, "counts of a day", from.query, []any{d.projectID, d.day}, func(c *dayCount) []any {
				return []any{&c.day, &c.name, &c.values[0], &c.values[1], &c.values[2]}
			})
			if err != nil {
				return err
			}
			numbers, err := t.numbers(ctx, d.projectID, from.kind.noun, counts)
			if err != nil {
				return err
			}
			if err := t.pack(ctx, d.projectID, from.kind, counts, numbers); err != nil {
				return err
			}
		}
	}
	return nil
}

type projectDay struct {
	projectID string
	day       int64
}
