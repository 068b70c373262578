package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tenet/internal/rule"
)

// FactType is the type that checks expect of a fact.
type FactType string

// Types of facts. A fact is [UnknownFact] where the text of the check does not show its type.
const (
	NumberFact  FactType = "number"
	TextFact    FactType = "text"
	BooleanFact FactType = "boolean"
	ListFact    FactType = "list"
	UnknownFact FactType = "unknown"
)

// FactUse describes how a check uses a fact.
type FactUse struct {
	// Path holds the keys that lead to the fact: payment and amount for facts.payment.amount.
	Path []string
	Type FactType
	// Values are the constants that the check compares the fact with, without their quotation marks.
	Values []string
}

// Name returns the path as checks write it, such as payment.amount.
func (u *FactUse) Name() string {
	path := make(factPath, len(u.Path))
	for i, key := range u.Path {
		path[i] = key
	}
	return path.String()
}

// Bounds of what FactUses reads.
const (
	maxExpression = 64 << 10 // bytes
	maxConstants  = 20       // of a list after in
	maxUses       = 1_000    // places that name a fact
	maxBefore     = 200      // bytes before a fact that may compare it
	maxAfter      = 2_000    // bytes behind it
)

const literalPattern = `(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?u?|true\b|false\b)`

var (
	usePattern      = regexp.MustCompile(`\bfacts((?:\.\??[A-Za-z_][A-Za-z0-9_]*|\[\??\s*(?:'[^'\\]*'|"[^"\\]*")\s*\])+)(\s*\()?`)
	stepPattern     = regexp.MustCompile(`\.\??([A-Za-z_][A-Za-z0-9_]*)|\[\??\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\]`)
	keyPattern      = regexp.MustCompile(`('[^'\\]*'|"[^"\\]*")\s+in\s+facts((?:\.[A-Za-z_][A-Za-z0-9_]*)*)`)
	orValuePattern  = regexp.MustCompile(`^\.orValue\(\s*(` + literalPattern + `|\[\s*\])\s*\)`)
	comparedPattern = regexp.MustCompile(`^\s*\)*\s*(==|!=|<=|>=|<|>)\s*(` + literalPattern + `)`)
	computedPattern = regexp.MustCompile(`^\s*[-*/%]`)
	amongPattern    = regexp.MustCompile(`^\s*in\s*\[([^\]]*)\]`)
	beforePattern   = regexp.MustCompile(`(` + literalPattern + `)\s*(==|!=|<=|>=|<|>|in)\s*\(?\s*$`)
	castPattern     = regexp.MustCompile(`\b(double|int|uint|size|duration|timestamp)\(\s*$`)
	alonePattern    = regexp.MustCompile(`^\s*(?:\)*\s*(?:&&|\|\||\?|:|,)|\)*\s*$)`)
	leadPattern     = regexp.MustCompile(`(?:^|&&|\|\||!|\?|:|[^A-Za-z0-9_]\(|^\()\s*$`)
	argumentPattern = regexp.MustCompile(`^\s*('[^'\\]*'|"[^"\\]*")\s*\)`)
	literalsPattern = regexp.MustCompile(literalPattern)
)

// textMethods and listMethods are the functions of texts and of lists.
var (
	textMethods = []string{"startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii", "trim", "split", "replace", "glob", "substring", "charAt", "indexOf"}
	listMethods = []string{"exists", "all", "exists_one", "filter", "map", "join", "sum", "sort", "distinct", "first", "last"}
)

// FactUses returns the facts that the text of a check names, sorted by name, with the types and constants that the text shows. Like
// [FactsNamed] it does not compile the check: the types are guesses for people who fill in a form.
func FactUses(c *rule.Check) []FactUse {
	if c == nil {
		return nil
	}
	var out []FactUse
	for _, expression := range []string{c.When, c.CEL} {
		expression = expression[:min(len(expression), maxExpression)]
		for _, m := range keyPattern.FindAllStringSubmatch(expression, maxUses) {
			key, holder := unquote(m[1]), stepsOf(m[2])
			if len(holder) == 0 {
				out = use(out, []string{key}, UnknownFact)
			} else {
				out = use(out, holder, UnknownFact) // a key of an object, or an element of a list
			}
		}
		for _, at := range usePattern.FindAllStringSubmatchIndex(expression, maxUses) {
			out = readUse(out, expression, at)
		}
	}
	slices.SortFunc(out, func(a, b FactUse) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// readUse reads one place of an expression that names a fact. at holds the bounds of the match of usePattern.
func readUse(out []FactUse, expression string, at []int) []FactUse {
	path := stepsOf(expression[at[2]:at[3]])
	before, after := expression[max(0, at[0]-maxBefore):at[0]], expression[at[1]:min(len(expression), at[1]+maxAfter)]
	if at[4] >= 0 { // facts.name.size(): the last step is a function
		method := path[len(path)-1]
		if path = path[:len(path)-1]; len(path) == 0 {
			return out
		}
		switch {
		case method == "orValue":
			after = expression[at[3]-len(".orValue") : min(len(expression), at[3]+maxAfter)]
			if m := orValuePattern.FindStringSubmatch(after); m != nil {
				out = use(out, path, typeOf(m[1]))
				return compared(out, path, before, after[len(m[0]):])
			}
			return use(out, path, UnknownFact)
		case slices.Contains(textMethods, method):
			var values []string
			if m := argumentPattern.FindStringSubmatch(after); m != nil && (method == "startsWith" || method == "contains" || method == "endsWith") {
				values = []string{unquote(m[1])}
			}
			return use(out, path, TextFact, values...)
		case slices.Contains(listMethods, method):
			return use(out, path, ListFact)
		}
		return use(out, path, UnknownFact)
	}
	return compared(out, path, before, after)
}

// compared reads the constants around a fact.
func compared(out []FactUse, path []string, before, after string) []FactUse {
	cast := castPattern.FindStringSubmatch(before)
	switch m := comparedPattern.FindStringSubmatch(after); {
	case cast != nil && (cast[1] == "double" || cast[1] == "int" || cast[1] == "uint"):
		if m != nil {
			return use(out, path, NumberFact, unquote(m[2]))
		}
		return use(out, path, NumberFact)
	case cast != nil && cast[1] == "size":
		return use(out, path, UnknownFact)
	case cast != nil:
		return use(out, path, TextFact)
	case m != nil:
		return use(out, path, typeOf(m[2]), constantOf(m[2])...)
	}
	if m := amongPattern.FindStringSubmatch(after); m != nil {
		literals := literalsPattern.FindAllString(m[1], maxConstants)
		t := UnknownFact
		var values []string
		for _, l := range literals {
			t = typeOf(l)
			values = append(values, constantOf(l)...)
		}
		return use(out, path, t, values...)
	}
	if m := beforePattern.FindStringSubmatch(before); m != nil {
		if m[2] == "in" {
			return use(out, path, ListFact, constantOf(m[1])...)
		}
		return use(out, path, typeOf(m[1]), constantOf(m[1])...)
	}
	switch {
	case computedPattern.MatchString(after):
		return use(out, path, NumberFact)
	case alonePattern.MatchString(after) && leadPattern.MatchString(before):
		return use(out, path, BooleanFact)
	}
	return use(out, path, UnknownFact)
}

// use adds one use of a fact to those found so far. A type that is clear replaces one that is not; of two clear ones, the first stays.
func use(out []FactUse, path []string, t FactType, values ...string) []FactUse {
	i := slices.IndexFunc(out, func(u FactUse) bool { return slices.Equal(u.Path, path) })
	if i < 0 {
		out, i = append(out, FactUse{Path: path, Type: t}), len(out)
	}
	u := &out[i]
	if u.Type == UnknownFact {
		u.Type = t
	}
	for _, v := range values {
		if !slices.Contains(u.Values, v) {
			u.Values = append(u.Values, v)
		}
	}
	return out
}

func stepsOf(text string) []string {
	var path []string
	for _, m := range stepPattern.FindAllStringSubmatch(text, -1) {
		path = append(path, strings.Clone(m[1]+m[2]+m[3]))
	}
	return path
}

// typeOf is the type of a literal.
func typeOf(literal string) FactType {
	switch {
	case literal == "true" || literal == "false":
		return BooleanFact
	case literal[0] == '[':
		return ListFact
	case literal[0] == '\'' || literal[0] == '"':
		return TextFact
	}
	return NumberFact
}

// constantOf is the value of a literal as an example. An empty text and a truth value are none: a form offers both anyway.
func constantOf(literal string) []string {
	if v := unquote(literal); v != "" && v != "true" && v != "false" {
		return []string{strings.Clone(v)}
	}
	return nil
}

// unquote takes the quotation marks from a literal.
func unquote(literal string) string {
	if literal == "" || literal[0] != '\'' && literal[0] != '"' {
		return strings.TrimSuffix(literal, "u")
	}
	inner := literal[1 : len(literal)-1]
	if !strings.Contains(inner, `\`) {
		return inner
	}
	if literal[0] == '\'' {
		inner = strings.ReplaceAll(strings.ReplaceAll(inner, `\'`, `'`), `"`, `\"`)
	}
	if plain, err := strconv.Unquote(`"` + inner + `"`); err == nil {
		return plain
	}
	return literal[1 : len(literal)-1]
}
