package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/text"
)

// maxAt is how many characters of an expression an error quotes.
const maxAt = 40

// issue is an error of the CEL compiler, in words that need no knowledge of its grammar.
type issue struct {
	line, column int // from 1
	message      string
}

// explaining turns the errors of one expression into issues.
type explaining struct {
	source string
	lines  []string
}

// explained returns the issues of the errors that the compiler reported. Errors of the parser behind an unreadable character, or behind another
// one of the parser, follow from that one, so they are left out.
func (x *explaining) explained(all []issue) []issue {
	var out []issue
	syntactic := false
	for _, i := range all {
		wasSyntax := strings.HasPrefix(i.message, "Syntax error: ")
		if wasSyntax && syntactic {
			continue
		}
		syntactic = syntactic || wasSyntax
		out = append(out, x.explain(i))
	}
	return out
}

var (
	unreadable   = regexp.MustCompile(`(?s)^Syntax error: token recognition error at: '(.*)'$`)
	unexpected   = regexp.MustCompile(`(?s)^Syntax error: (?:mismatched|extraneous|no viable alternative at) input '(.*?)'(?: expecting (.*))?$`)
	lacking      = regexp.MustCompile(`(?s)^Syntax error: missing '(.)' at `)
	undeclared   = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	unknownField = regexp.MustCompile(`^undefined field '([^']*)'`)
	otherType    = regexp.MustCompile(`^expected type '([^']*)' but found '([^']*)'$`)
	noOverload   = regexp.MustCompile(`(?s)^found no matching overload for '([^']*)' applied to '(.*)'$`)
	reserved     = regexp.MustCompile(`^reserved identifier: (.*)$`)
)

// wordOperators are the operators of CEL by the words that people write in their place, in lower case.
var wordOperators = map[string]string{
	"and": "&&", "or": "||", "is": "==", "equals": "==", "eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<=",
	"mod": "%", "div": "/", "xor": "!=",
}

// wordConstants are constants of other languages.
var wordConstants = map[string]string{"none": "null", "nil": "null", "undefined": "null", "null": "null", "true": "true", "false": "false", "yes": "true", "no": "false"}

// wordCalls are functions that people write between two values.
var wordCalls = []string{"contains", "startsWith", "endsWith", "matches", "exists", "all", "glob"}

// rootNames are the variables of expressions.
var rootNames = []string{"subject", "facts", "diff", "files", commandsVar, codeVar}

func (x *explaining) explain(i issue) issue {
	switch m := i.message; {
	case unreadable.MatchString(m):
		i.message = x.character(&i, unreadable.FindStringSubmatch(m)[1])
	case lacking.MatchString(m):
		i.message = x.missing(&i, lacking.FindStringSubmatch(m)[1])
	case unexpected.MatchString(m):
		found := unexpected.FindStringSubmatch(m)
		i.message = x.order(&i, found[1], found[2])
	case undeclared.MatchString(m):
		i.message = x.unknown(&i, undeclared.FindStringSubmatch(m)[1], m)
	case unknownField.MatchString(m):
		i.message = x.unknownField(unknownField.FindStringSubmatch(m)[1])
	case reserved.MatchString(m):
		i.message = fmt.Sprintf("%q is a reserved word, which cannot be a name", reserved.FindStringSubmatch(m)[1])
	case otherType.MatchString(m):
		found := otherType.FindStringSubmatch(m)
		i.message = fmt.Sprintf("this is of type %s where %s is needed", found[2], found[1])
	case noOverload.MatchString(m):
		found := noOverload.FindStringSubmatch(m)
		i.message = x.mistyped(found[1], found[2])
	}
	i.message += x.quote(&i)
	return i
}

// character explains a character that begins no token.
func (x *explaining) character(i *issue, what string) string {
	switch r, _ := utf8.DecodeRuneInString(what); {
	case r > 127 && unicode.IsSpace(r):
		return fmt.Sprintf("%U is a space that is not a plain one; type it again", r)
	case unicode.Is(unicode.Cf, r):
		return fmt.Sprintf("%U is a character that does not show; delete it", r)
	}
	what = strings.TrimSpace(what)
	before := x.before(i)
	switch {
	case what == "=" && strings.HasSuffix(before, "="):
		return "=== is no operator; compare with =="
	case what == "=>" || what == "=<":
		return what + " is no operator; write >= for \"at least\" and <= for \"at most\""
	case strings.HasPrefix(what, "="):
		return "a single = is no operator; compare with =="
	case strings.HasPrefix(what, "&"):
		return "a single & is no operator; write && for \"and\""
	case strings.HasPrefix(what, "|"):
		return "a single | is no operator; write || for \"or\""
	case strings.ContainsAny(what, "“”„‘’«»"):
		return "curved quotes do not mark a text; use \" or '"
	case len(what) > 1 && strings.ContainsRune(what, '\\') && strings.ContainsAny(what[:1], `"'`) && strings.Count(x.from(i), what[:1]) > 1:
		return `\ begins an escape in a text, and this is none; write \\, or r before the quote for a text without escapes`
	case strings.HasPrefix(what, `"`), strings.HasPrefix(what, "'"):
		return "the text has no closing quote"
	case strings.HasPrefix(what, ";"):
		return "an expression is one condition and has no semicolon; join conditions with &&"
	case strings.HasPrefix(what, "#"):
		return "a comment begins with //"
	case strings.HasPrefix(what, "$"):
		return "names have no $; a fact is facts.name"
	}
	if r, _ := utf8.DecodeRuneInString(what); r > 127 {
		return fmt.Sprintf("%q cannot be in a name; write facts[\"...\"] for a fact with such a name", text.Fit(what, maxAt, "..."))
	}
	return fmt.Sprintf("%q cannot be in an expression outside of quotes", text.Fit(what, maxAt, "..."))
}

// order explains a token where the grammar has no such token.
func (x *explaining) order(i *issue, token, expected string) string {
	last, lastAt := x.wordBefore(i)
	low := strings.ToLower(token)
	closes := token == ")" || token == "]" || token == "}"
	switch {
	case token == "<EOF>":
		return x.ended(i, expected)
	case wordOperators[low] != "":
		return fmt.Sprintf("%s is no operator; write %s", token, wordOperators[low])
	case strings.EqualFold(last, "not"):
		i.line, i.column = lastAt.line, lastAt.column
		return last + " is no operator; write !(...)"
	case low == "not":
		return "not is no operator; write !(a in b) for \"not in\", and !(...) otherwise"
	case low == "like":
		return "like is no operator; write text.contains('...') or text.matches('...')"
	case slices.ContainsFunc(wordCalls, func(name string) bool { return strings.EqualFold(name, token) }):
		n := slices.IndexFunc(wordCalls, func(name string) bool { return strings.EqualFold(name, token) })
		return fmt.Sprintf("%s is called with a dot and brackets: text.%s(...)", token, wordCalls[n])
	case slices.Contains([]string{"if", "then", "else", "elif", "unless", "when"}, low):
		return token + " is no part of an expression; write condition ? one : other, or put the condition into when"
	case token == ">" && strings.HasSuffix(strings.TrimRight(x.before(i), " "), "<"):
		return "<> is no operator; write !="
	case token == "=" || token == "==":
		return "a value is missing before " + token
	case expected == "':'":
		return x.colon(i)
	case closes && strings.Contains(expected, "IDENTIFIER"):
		return "a value is missing before " + token
	case closes && x.open(i) == nil:
		return fmt.Sprintf("%s closes nothing; no bracket is open here", token)
	case closes && closing[x.open(i).char] != token[0]:
		open := x.open(i)
		return fmt.Sprintf("%s does not close the %c at %d:%d; %c does", token, open.char, open.line, open.column, closing[open.char])
	case strings.HasSuffix(x.before(i), "'"), strings.HasSuffix(x.before(i), `"`):
		return "the text ends at the quote before this; for a quote within a text use the other kind of quote around it"
	case strings.Contains(expected, "IDENTIFIER"):
		return fmt.Sprintf("%s is where a value should be", text.Fit(token, maxAt, "..."))
	}
	return fmt.Sprintf("%s does not belong here; join two conditions with && or ||", text.Fit(token, maxAt, "..."))
}

// ended explains an expression that ends too early.
func (x *explaining) ended(i *issue, expected string) string {
	switch {
	case strings.TrimSpace(x.source) == "":
		i.line, i.column = 1, 1
		return "the expression is empty"
	case expected == "':'":
		return x.colon(i)
	case x.open(nil) != nil:
		return x.unclosed()
	}
	return "the expression ends where a value should follow"
}

// colon explains a missing colon: of the innermost ? that has no other side, or of a key of a map.
func (x *explaining) colon(i *issue) string {
	if open := x.open(i); open != nil && open.char == '{' && open.asks == 0 {
		return fmt.Sprintf(": is missing; write key: value between the brackets of the { at %d:%d", open.line, open.column)
	}
	return "the ? has no other side; write condition ? one : other"
}

// missing explains a character that the grammar has at the place of an issue and the expression does not.
func (x *explaining) missing(i *issue, char string) string {
	switch {
	case char == ":":
		return x.colon(i)
	case strings.Contains(")]}", char) && x.open(nil) != nil:
		return x.unclosed()
	}
	return char + " is missing here"
}

// bracket is an opening bracket of an expression.
type bracket struct {
	char         byte
	line, column int
	asks         int // the ? directly in it whose : has not come
}

// closing are the brackets that close others.
var closing = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// unclosed explains that the innermost open bracket, which there must be, is never closed.
func (x *explaining) unclosed() string {
	open := x.open(nil)
	return fmt.Sprintf("%c is missing: the %c at %d:%d is never closed", closing[open.char], open.char, open.line, open.column)
}

// open returns the innermost bracket that nothing closes before the place of an issue, or in the whole expression if end is nil. It returns nil if
// none is open. Brackets in texts and comments do not count.
func (x *explaining) open(end *issue) *bracket {
	var stack []bracket
	for n, line := range x.lines {
		if end != nil && n+1 > end.line {
			break
		}
		if end != nil && n+1 == end.line {
			line = x.before(end)
		}
		quote := byte(0)
		for at := 0; at < len(line); at++ {
			c := line[at]
			switch {
			case quote != 0 && c == '\\':
				at++
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '/' && strings.HasPrefix(line[at:], "//"):
				at = len(line)
			case closing[c] != 0:
				stack = append(stack, bracket{char: c, line: n + 1, column: utf8.RuneCountInString(line[:at]) + 1})
			case len(stack) == 0:
			case c == closing[stack[len(stack)-1].char]:
				stack = stack[:len(stack)-1]
			case c == '?':
				stack[len(stack)-1].asks++
			case c == ':':
				stack[len(stack)-1].asks = max(0, stack[len(stack)-1].asks-1)
			}
		}
	}
	if len(stack) == 0 {
		return nil
	}
	return &stack[len(stack)-1]
}

// unknown explains a name that nothing declares. The compiler places a function at its bracket.
func (x *explaining) unknown(i *issue, name, message string) string {
	short := text.Fit(name, maxAt, "...")
	if strings.HasPrefix(x.from(i), "(") {
		i.column = max(1, i.column-utf8.RuneCountInString(name))
		near := text.Near(name, functionNames(), 2)
		return fmt.Sprintf("there is no function %s%s", short, text.DidYouMean(near))
	}
	if constant := wordConstants[strings.ToLower(name)]; constant != "" {
		return fmt.Sprintf("%s is no value; write %s", short, constant)
	}
	if strings.EqualFold(name, "not") {
		return name + " is no operator; write !(...)"
	}
	near := text.Near(name, rootNames, 1)
	if len(near) == 0 && strings.Contains(message, "did you mean") { // of a loop's variable, which the compiler knows
		_, hint, _ := strings.Cut(message, "did you mean '")
		hint, _, _ = strings.Cut(hint, "'")
		near = []string{hint}
	}
	if len(near) > 0 {
		return fmt.Sprintf("%s is no name here%s", short, text.DidYouMean(near))
	}
	return fmt.Sprintf("%s is no name here; expressions read %s, and a fact is facts.%s", short, strings.Join(rootNames, ", "), short)
}

// unknownField explains a field that an object does not have.
func (*explaining) unknownField(name string) string {
	var names []string
	for _, t := range objectTypes {
		names = append(names, t.names...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	near := text.Near(name, names, 2)
	if n := slices.IndexFunc(names, func(one string) bool { return strings.HasPrefix(one, name) }); len(near) == 0 && n >= 0 {
		near = names[n : n+1]
	}
	return fmt.Sprintf("there is no field %s here%s", text.Fit(name, maxAt, "..."), text.DidYouMean(near))
}

// mistyped explains an operator or function between values of the wrong types.
func (*explaining) mistyped(function, types string) string {
	name := strings.Trim(function, "_@")
	if name == "in" || !strings.HasPrefix(function, "_") && !strings.HasSuffix(function, "_") {
		return fmt.Sprintf("%s does not take %s", name, types)
	}
	switch function {
	case "_&&_", "_||_", "!_":
		return fmt.Sprintf("%s needs conditions that are true or false, not %s", name, types)
	case "_?_:_":
		return fmt.Sprintf("both sides of ? : must be of one type, and its condition true or false, not %s", types)
	case "_[_]":
		return fmt.Sprintf("[...] does not take %s", types)
	}
	return fmt.Sprintf("%s does not take values of the types %s", name, types)
}

// functionNames lists the functions that expressions call by name.
func functionNames() []string {
	var names []string
	for name := range celEnvironment().cel.Functions() {
		if !strings.ContainsAny(name, "_@!?[]") {
			names = append(names, name)
		}
	}
	for _, m := range celEnvironment().cel.Macros() {
		names = append(names, m.Function())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// line returns the line of an issue, cut at its column.
func (x *explaining) line(i *issue) (before, from string) {
	if i.line < 1 || i.line > len(x.lines) {
		return "", ""
	}
	runes := []rune(x.lines[i.line-1])
	at := min(max(i.column-1, 0), len(runes))
	return string(runes[:at]), string(runes[at:])
}

func (x *explaining) before(i *issue) string {
	before, _ := x.line(i)
	return before
}

func (x *explaining) from(i *issue) string {
	_, from := x.line(i)
	return from
}

var lastWord = regexp.MustCompile(`([A-Za-z_]\w*)\s*$`)

// wordBefore returns the word before an issue, and its place.
func (x *explaining) wordBefore(i *issue) (string, issue) {
	before := x.before(i)
	at := lastWord.FindStringSubmatchIndex(before)
	if at == nil {
		return "", issue{}
	}
	return before[at[2]:at[3]], issue{line: i.line, column: utf8.RuneCountInString(before[:at[2]]) + 1}
}

// quote quotes the expression from the place of an issue on; nothing at its end.
func (x *explaining) quote(i *issue) string {
	from := strings.TrimSpace(x.from(i))
	if from == "" {
		if before := []rune(strings.TrimSpace(x.before(i))); len(before) > 0 {
			return " (after `" + string(before[max(0, len(before)-maxAt):]) + "`)"
		}
		return ""
	}
	return " (at `" + text.Clip(from, maxAt, "...") + "`)"
}
