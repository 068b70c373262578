package check

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// prices are the costs of calls. CEL's own costs are too high for fast calls and would stop ordinary rules over a diff. They
// are too low, one unit, for a call whose argument types are not known before evaluation, as those of facts never are.
type prices struct{}

// Bytes per unit of cost, a unit being about 40 ns.
const (
	bytesScanned  = 64 // searched for a text
	bytesDecoded  = 8  // turned into characters and back
	bytesMatched  = 2  // matched with a regular expression
	bytesCompared = 256
)

// CallCost returns the price of a call in units, or nil for CEL's own.
func (prices) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	units := -1
	switch function {
	case operators.Equals, operators.NotEquals:
		units = priceOfEquality(args)
	case operators.In:
		units = priceOfIn(args, result)
	case operators.Add:
		units = bytes(result)/bytesScanned + priceOfAddition(args)
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		units = min(bytes(args[0]), bytes(args[1])) / bytesCompared
	case "contains", "startsWith", "endsWith":
		units = (bytes(args[0]) + bytes(args[1])) / bytesScanned
	case "matches":
		units = 4 + bytes(args[0])/bytesMatched
	case globFunction:
		units = 2 + bytes(args[0])/bytesMatched
	case "size":
		units = bytes(args[0]) / bytesScanned
	case "lists.range", "slice":
		units = size(result)
	case "sort", "@sortByAssociatedKeys":
		units = 8 * size(args[0])
	case "reverse":
		units = size(args[0]) + bytes(args[0])/bytesDecoded
	case "lowerAscii", "upperAscii", "substring", "charAt", "trim", "strings.quote":
		units = bytes(args[0]) / bytesDecoded
	case "indexOf", "lastIndexOf":
		units = bytes(args[0])/bytesDecoded + bytes(args[0])*bytes(args[1])/bytesScanned
	case "replace":
		units = (bytes(args[0]) + bytes(result)) / bytesDecoded
	case "split":
		units = bytes(args[0])/bytesScanned + size(result)
	case "join":
		units = size(args[0]) + bytes(result)/bytesScanned
	case "format":
		units = 10 + (bytes(args[0])+bytes(result))/bytesDecoded
	case nameFunction:
		n, _ := args[0].(types.Int)
		units = int(n)
	case weighFunction:
		units = weigh(args[0], maxCost)
	case "math.@min", "math.@max", "flatten":
		units = weigh(args[0], maxNodes)
	case "distinct":
		units = (size(args[0]) + 4) * weigh(args[0], maxPairs) / 4
	case "sets.contains", "sets.intersects", "hasOnly", "hasAny", "hasAll":
		units = max(size(args[0])*weigh(args[1], maxPairs), size(args[1])*weigh(args[0], maxPairs)) / 2
	case "sets.equivalent", "hasExactly":
		units = max(size(args[0])*weigh(args[1], maxPairs), size(args[1])*weigh(args[0], maxPairs))
	case "bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint":
		units = bytes(args[0]) / bytesDecoded
	default:
		if len(args) == 2 && timeFields[function] {
			units = 500 // reads the time zone database
		}
	}
	if units < 0 {
		return nil
	}
	cost := uint64(units) + 1
	return &cost
}

// timeFields are the functions that take a time zone.
var timeFields = map[string]bool{
	"getFullYear": true, "getMonth": true, "getDayOfYear": true, "getDayOfMonth": true, "getDate": true,
	"getDayOfWeek": true, "getHours": true, "getMinutes": true, "getSeconds": true, "getMilliseconds": true,
}

func priceOfEquality(args []ref.Val) int {
	if composite(args[0]) && composite(args[1]) {
		if size(args[0]) != size(args[1]) {
			return 0
		}
		return 3 * lighter(args[0], args[1])
	}
	return min(bytes(args[0]), bytes(args[1])) / bytesCompared
}

// priceOfAddition returns the weight that + adds to a list on its left. A list that filter or map builds grows in place by
// values that have been counted.
func priceOfAddition(args []ref.Val) int {
	if _, inPlace := args[0].(traits.MutableLister); inPlace || !composite(args[1]) {
		return 0
	}
	return weigh(args[1], maxCost)
}

// priceOfIn returns the price of in: a map without the key is searched for one that looks like it.
func priceOfIn(args []ref.Val, result ref.Val) int {
	if _, isMap := args[1].(interface{ Find(ref.Val) (ref.Val, bool) }); isMap {
		if result == types.True {
			return bytes(args[0]) / bytesCompared
		}
		return bytes(args[0])/bytesCompared + size(args[1])
	}
	if composite(args[0]) {
		return size(args[1]) * weigh(args[0], maxPairs)
	}
	return size(args[1]) * (1 + bytes(args[0])/bytesCompared)
}

// bytes returns the length of a text, else 0.
func bytes(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}
