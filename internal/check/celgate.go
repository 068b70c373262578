package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// CEL counts the cost of a call after the call, so the limit on costs does not stop a call that takes more than linear time or
// has a large result. Such calls pass a gate, which examines the arguments first.

// Limits of one call.
const (
	maxNodes = 100_000    // values inside one argument that a call walks through
	maxPairs = 2_000_000  // pairs of values that a call compares
	maxScan  = 20_000_000 // length of a text times length of a text to find in it
	maxText  = 16 << 20   // bytes of a text that a call makes
	maxParts = 100_000    // parts that a text is split into
	maxSort  = 20_000     // elements to sort
)

// gate returns the reason to refuse a call, or "".
type gate func(args []ref.Val) string

// gates are by name of the function.
var gates = map[string]gate{
	operators.Equals:        equatable,
	operators.NotEquals:     equatable,
	operators.In:            containable,
	"flatten":               func(args []ref.Val) string { return walkable(args[0]) },
	"hasValue":              equatable,
	"distinct":              func(args []ref.Val) string { return pairs(args[0], args[0]) },
	"sets.contains":         func(args []ref.Val) string { return pairs(args[0], args[1]) },
	"sets.equivalent":       func(args []ref.Val) string { return pairs(args[0], args[1]) },
	"sets.intersects":       func(args []ref.Val) string { return pairs(args[0], args[1]) },
	"hasOnly":               func(args []ref.Val) string { return pairs(args[0], args[1]) },
	"hasAny":                func(args []ref.Val) string { return pairs(args[0], args[1]) },
	"hasAll":                func(args []ref.Val) string { return pairs(args[0], args[1]) },
	"hasExactly":            func(args []ref.Val) string { return pairs(args[0], args[1]) },
	"sort":                  sortable,
	"@sortByAssociatedKeys": sortable,
	"indexOf":               searchable,
	"lastIndexOf":           searchable,
	"replace":               replaceable,
	"split":                 splittable,
	"join":                  joinable,
	"format":                formattable,
	"double":                numeric,
}

// numeric refuses to make a number of a text that writes none, such as NaN, with which every comparison is false, and -Inf, which is
// below every limit.
func numeric(args []ref.Val) string {
	s, isText := args[0].(types.String)
	if x, err := strconv.ParseFloat(string(s), 64); isText && err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return "a text that writes no finite number cannot be made a number"
	}
	return ""
}

func walkable(v ref.Val) string {
	if weigh(v, maxNodes) > maxNodes {
		return tooMany
	}
	return ""
}

// equatable refuses to compare two lists or maps of equal size that are both too large.
func equatable(args []ref.Val) string {
	if len(args) != 2 || !composite(args[0]) || !composite(args[1]) || size(args[0]) != size(args[1]) {
		return ""
	}
	if lighter(args[0], args[1]) > maxNodes {
		return tooMany
	}
	return ""
}

// lighter returns the smaller weight of two values, in time proportional to it.
func lighter(a, b ref.Val) int {
	for limit := 64; ; limit *= 8 {
		if w := min(weigh(a, limit), weigh(b, limit)); w <= limit || limit > maxNodes {
			return w
		}
	}
}

// containable refuses to search a list for a list or map if that is too much work. Other searches are linear.
func containable(args []ref.Val) string {
	if list, ok := args[1].(traits.Lister); ok && composite(args[0]) && size(list)*weigh(args[0], maxPairs) > maxPairs {
		return fmt.Sprintf("looking for a large value in a list of %d is too much work", size(list))
	}
	return ""
}

// pairs refuses to compare every element of one list with every element of the other if that is too much work.
func pairs(a, b ref.Val) string {
	x, y := size(a), size(b)
	if x*weigh(b, maxPairs) > maxPairs || y*weigh(a, maxPairs) > maxPairs {
		return fmt.Sprintf("comparing the elements of lists of %d and %d is too much work", x, y)
	}
	return ""
}

func sortable(args []ref.Val) string {
	if n := size(args[0]); n > maxSort {
		return fmt.Sprintf("a list of %d is too long to be sorted; at most %d", n, maxSort)
	}
	return ""
}

func searchable(args []ref.Val) string {
	if text, sub := argText(args, 0), argText(args, 1); len(sub) > 0 && len(text) > maxScan/len(sub) {
		return fmt.Sprintf("looking for %d bytes in %d bytes is too much work; use contains", len(sub), len(text))
	}
	return ""
}

func replaceable(args []ref.Val) string {
	text, old, with := argText(args, 0), argText(args, 1), argText(args, 2)
	if n := strings.Count(text, old); len(with) > 0 && (n > maxText/len(with) || len(text)+n*len(with) > maxText) {
		return tooLong
	}
	return ""
}

func splittable(args []ref.Val) string {
	if strings.Count(argText(args, 0), argText(args, 1)) >= maxParts {
		return fmt.Sprintf("a text with more than %d parts is too long to be split", maxParts)
	}
	return ""
}

func joinable(args []ref.Val) string {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return ""
	}
	separator, total := 0, 0
	if len(args) > 1 {
		separator = len(argText(args, 1))
	}
	for it := list.Iterator(); it.HasNext() == types.True; {
		s, _ := it.Next().(types.String)
		if total += len(s) + separator; total > maxText {
			return tooLong
		}
	}
	return ""
}

func formattable(args []ref.Val) string {
	if len(argText(args, 0))+bytesPerWeight*weigh(args[1], maxText/bytesPerWeight) > maxText {
		return tooLong
	}
	return ""
}

var tooMany = fmt.Sprintf("a list or map with more than %d values inside is too large", maxNodes)

const tooLong = "the text would become too long"

func argText(args []ref.Val, i int) string {
	s, _ := args[i].(types.String)
	return string(s)
}

// size returns the number of elements of a list or map, else 1.
func size(v ref.Val) int {
	switch v := v.(type) {
	case traits.Lister:
		return int(v.Size().(types.Int))
	case traits.Mapper:
		return int(v.Size().(types.Int))
	}
	return 1
}

const bytesPerWeight = 16

// weigh counts the values inside a value; a text counts one for every 16 bytes. It stops above limit.
func weigh(v ref.Val, limit int) int {
	total := 1
	switch v := v.(type) {
	case types.String:
		total += len(v) / bytesPerWeight
	case types.Bytes:
		total += len(v) / bytesPerWeight
	case *types.Optional:
		if v.HasValue() {
			total += weigh(v.GetValue(), limit-total)
		}
	case traits.Lister:
		for it := v.Iterator(); total <= limit && it.HasNext() == types.True; {
			total += weigh(it.Next(), limit-total)
		}
	case traits.Mapper:
		for it := v.Iterator(); total <= limit && it.HasNext() == types.True; {
			key := it.Next()
			total += weigh(key, limit-total)
			if inner, found := v.Find(key); found {
				total += weigh(inner, limit-total)
			}
		}
	}
	return total
}
